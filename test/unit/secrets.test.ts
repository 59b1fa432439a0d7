import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import { secretsOfFile } from '../../src/config/credentials.ts'
import { createWebhookSecrets, type WebhookSecrets } from '../../src/config/secrets.ts'

const first = '0123456789abcdef'
const second = 'fedcba9876543210'

let dir = ''
let lines: { level: number; msg: string; reason?: string; labels?: string[] }[] = []
const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
const textOf = (webhookSecrets: WebhookSecrets) => webhookSecrets.current().map(({ key }) => key.export().toString())

beforeEach(async () => {
  lines = []
  dir = await mkdtemp(join(tmpdir(), 'inbox-secrets-'))
})
afterEach(() => rm(dir, { recursive: true }))

async function watch(file: string) {
  const clock = createTestClock()
  const webhookSecrets = createWebhookSecrets(await secretsOfFile(file), log, clock)
  return {
    webhookSecrets,
    /** Polls until `check` passes. */
    until: (check: () => void) =>
      vi.waitFor(async () => {
        await clock.advance(1000)
        check()
      }),
    clock,
    [Symbol.dispose]: () => webhookSecrets.close(),
  }
}

async function replace(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content)
  await rename(`${file}.new`, file)
}

test('A32 secrets from a file are reloaded when the file is replaced or rewritten', async () => {
  const file = join(dir, 'secret')
  await writeFile(file, first)
  using watched = await watch(file)
  expect(textOf(watched.webhookSecrets)).toEqual([first])

  await replace(file, JSON.stringify({ new: second, old: first }))
  await watched.until(() => expect(textOf(watched.webhookSecrets)).toEqual([second, first]))
  expect(lines).toEqual([expect.objectContaining({ level: 30, labels: ['new', 'old'] })])

  // Also with the same time of change, as a new owner or mode leaves it.
  for (const secret of [second, first]) {
    await writeFile(file, secret)
    await utimes(file, 1, 1)
    await watched.until(() => expect(textOf(watched.webhookSecrets)).toEqual([secret]))
  }
})

test('A32 secrets from a file follow swapped symbolic links of a Kubernetes volume', async () => {
  for (const [version, content] of [
    ['v1', first],
    ['v2', second],
  ] as const) {
    await mkdir(join(dir, version))
    await writeFile(join(dir, version, 'secret'), content)
  }
  await symlink('v1', join(dir, '..data'))
  await symlink('..data/secret', join(dir, 'secret'))
  using watched = await watch(join(dir, 'secret'))
  await watched.clock.advance(1000)

  await symlink('v2', join(dir, '..data_tmp'))
  await rename(join(dir, '..data_tmp'), join(dir, '..data'))
  await watched.until(() => expect(textOf(watched.webhookSecrets)).toEqual([second]))
})

test('P8 an invalid file of secrets is logged once without its content, and the old secrets stay', async () => {
  const file = join(dir, 'secret')
  await writeFile(file, first)
  using watched = await watch(file)
  await replace(file, `{"new": "${second}"`)
  await watched.until(() => expect(lines).toHaveLength(1))
  await watched.clock.advance(10_000)
  expect(lines).toEqual([expect.objectContaining({ level: 50, reason: expect.stringContaining('begins like JSON') })])
  expect(textOf(watched.webhookSecrets)).toEqual([first])

  await rm(file)
  await watched.until(() => expect(lines).toHaveLength(2))
  expect(lines[1]?.reason).toContain('ENOENT')
  expect(textOf(watched.webhookSecrets)).toEqual([first])
  expect(inspect(lines)).not.toContain(second)

  await writeFile(file, second)
  await watched.until(() => expect(textOf(watched.webhookSecrets)).toEqual([second]))
})

test('secrets from a file are not replaced by the published demo secret', async () => {
  const file = join(dir, 'secret')
  await writeFile(file, first)
  using watched = await watch(file)
  await writeFile(file, JSON.stringify({ new: second, demo: demoCredentials.secret }))
  await watched.webhookSecrets.reload()
  expect(textOf(watched.webhookSecrets)).toEqual([first])
  expect(lines).toEqual([
    expect.objectContaining({ level: 50, reason: expect.stringContaining('published with the demo') }),
  ])
})

test('secrets from a file are no longer watched after close', async () => {
  const file = join(dir, 'secret')
  await writeFile(file, first)
  const { webhookSecrets, clock } = await watch(file)
  webhookSecrets.close()
  webhookSecrets.close()
  await replace(file, second)
  await clock.advance(5000)
  await webhookSecrets.reload()
  expect(clock.nextTimerAt()).toBeNull()
  expect(textOf(webhookSecrets)).toEqual([first])
})
