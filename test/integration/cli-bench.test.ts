import { once } from 'node:events'
import { watch, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { BenchResult } from '../../src/cli/bench-run.ts'
import { runCli, startCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'

test('bench tells what was accepted and handled, how soon it was acknowledged, and leaves nothing', async () => {
  await using dir = await createTempDir()
  const args = ['bench', '--seconds', '0.3', '--connections', '4', '--dir', '.', '--json']
  const { code, out, errors } = await runCli(args, { cwd: dir.path })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const result = JSON.parse(out) as BenchResult
  expect(result).toMatchObject({ connections: 4, refused: 0, machine: { node: process.versions.node } })
  expect(result.accepted).toBeGreaterThan(0)
  // Events of the time before it was measured are handled, too.
  expect(result.handled).toBeGreaterThan(result.accepted)
  expect(result.accepted_per_second).toBeCloseTo(result.accepted / result.seconds)
  expect(result.seconds).toBeGreaterThanOrEqual(0.29)
  const { p50, p99, max } = result.acknowledged_ms
  expect(0 < p50 && p50 <= p99 && p99 <= max).toBe(true)
  expect(result.fsync_ms.median).toBeLessThanOrEqual(result.fsync_ms.worst)
  expect(readdirSync(dir.path)).toEqual([])
})

test('a bench that is interrupted leaves nothing', async () => {
  await using dir = await createTempDir()
  const watcher = watch(dir.path)
  using bench = startCli(['bench', '--seconds', '20', '--dir', dir.path], { cwd: dir.path })
  await once(watcher, 'change')
  watcher.close()
  bench.child.kill('SIGINT')
  expect(await bench.ended).toMatchObject({ code: 1, out: '', errors: 'usage: it was ended before it was done\n' })
  expect(readdirSync(dir.path)).toEqual([])
})

test('bench refuses a folder that is not there, and numbers that make no sense', async () => {
  await using dir = await createTempDir()
  for (const [args, problem] of [
    [['--dir', './none'], 'name another folder by --dir'],
    [['--seconds', '0'], 'Expected a number from 0.1 to 3600.'],
    [['--connections', '1.5'], 'Expected a whole number from 1 to 10000.'],
  ] as const) {
    const { code, errors } = await runCli(['bench', ...args], { cwd: dir.path })
    expect(code).toBe(1)
    expect(errors).toContain(problem)
  }
})
