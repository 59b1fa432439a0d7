import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockDatabase } from '../../src/inbox/sqlite/lock.ts'
import { cliFile, runCli } from '../support/cli.ts'
import { eventDelivery, RecordingClient } from '../support/history.ts'
import { Sidecar } from '../support/sidecar.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

/** Prints more than a pipe holds, then appends to a file. */
const talkative = {
  'talkative.mjs': `
import { appendFileSync } from 'node:fs'
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  run(event, ctx) {
    for (let line = 0; line < 100; line++) {
      console.log('out', line, '-'.repeat(1_000))
      console.error('err', line, '-'.repeat(1_000))
      ctx.log.info({ line }, 'reported')
    }
    appendFileSync(process.env.EFFECTS, event.id + '\\n')
  },
})
`,
}

test('serve handles events after the reader of its log is gone', async () => {
  await using sidecar = await Sidecar.start({ handlers: talkative, env: { INBOX_LOG_LEVEL: 'debug' } })
  using client = new RecordingClient({ url: () => sidecar.url })
  sidecar.stopReading()
  for (let n = 1; n <= 20; n++) {
    const id = `evt_${n}`
    const { answer } = await client.deliver(eventDelivery({ id }))
    expect(answer).toBe(200)
    await until(async () => (await readFile(sidecar.effectsFile, 'utf8').catch(() => '')).includes(`${id}\n`), id)
  }
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
})

test.skipIf(!existsSync('/dev/full'))('a failed write of the result exits with 1 (needs /dev/full)', async () => {
  await using dir = await createTempDir()
  const full = openSync('/dev/full', 'w')
  const env = { PATH: process.env['PATH'], INBOX_SECRETS: 'the-secret-of-the-test' }
  const child = spawn(process.execPath, [cliFile, 'check'], { cwd: dir.path, env, stdio: ['ignore', full, 'pipe'] })
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  closeSync(full)
  expect(code).toBe(1)
  expect(errors).toContain("usage: can't write to standard output (ENOSPC")
})

test('a second demo in the same folder names the process of the first', async () => {
  await using dir = await createTempDir()
  mkdirSync(join(dir.path, 'data/demo'), { recursive: true })
  const first = lockDatabase(join(dir.path, 'data/demo/inbox.db'))
  const second = await runCli(['demo'], { cwd: dir.path })
  first.release()
  expect(second).toEqual({
    code: 75,
    out: '',
    errors: `database_in_use: another demo is running in this folder (process ${process.pid}): stop it, or run this one in another folder\n`,
  })
})
