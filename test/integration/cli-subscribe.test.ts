import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import { runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'
import { apiKey, startStage, type Stage } from './emulator-stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage[Symbol.asyncDispose]())
afterEach(async () => {
  for (const { webhook_id: id } of await webhooks()) await stage.rest(`/webhooks/${id}`, { method: 'DELETE' })
})

async function webhooks(): Promise<readonly { webhook_id: string; events: readonly string[] }[]> {
  return (await stage.rest('/webhooks')).json.data
}

const url = 'https://inbox.example.com/webhooks'
const wanted = ['--url', url, '--events', 'token.new_listing']

/** A folder with an empty database, and how `subscribe` is run in it. */
async function setUp(settings: Readonly<Record<string, string>> = {}) {
  const dir = await createTempDir()
  const file = join(dir.path, 'inbox.db')
  await (await createSqliteInbox({ file })).close()
  const env = {
    INBOX_DATABASE_URL: `sqlite:${file}`,
    INBOX_SECRETS: `main:${testSecret},next:another-${testSecret}`,
    INBOX_API_URL: `${stage.emulator.url}/v1`,
    INBOX_API_KEY: apiKey,
    INBOX_ADMIN_PORT: '1',
    ...settings,
  }
  const options = { cwd: dir.path, env }
  return {
    file,
    options,
    run: (...args: readonly string[]) => runCli(['subscribe', ...args], options),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}

test('while a sidecar runs, concurrent commands and the sidecar register only once, through the admin API', async () => {
  await using at = await setUp()
  await mkdir(join(at.options.cwd, 'handlers'))
  const { INBOX_ADMIN_PORT: _, ...settings } = at.options.env
  await using app = await startTestApp({
    dir: at.options.cwd,
    settings: { ...settings, INBOX_SUBSCRIBE: JSON.stringify({ url, events: ['token.new_listing'] }) },
  })
  const env = { ...at.options.env, INBOX_ADMIN_TOKEN: app.adminToken, INBOX_ADMIN_PORT: String(app.adminPort) }
  const run = (...args: readonly string[]) => runCli(['subscribe', ...args], { ...at.options, env })
  const results = await Promise.all([run(...wanted, '--json'), run(...wanted, '--json')])
  for (const { code, out } of results) {
    const { result } = JSON.parse(out) as { result: string }
    expect([code, result]).toBeOneOf([
      [0, 'registered'],
      [0, 'unchanged'],
      [75, 'in_flight'],
    ])
  }
  await until(async () => (await app.inbox.subscription())?.state === 'registered', 'it was registered')
  expect(await webhooks()).toHaveLength(1)

  // Without options, the command registers what the setting INBOX_SUBSCRIBE holds.
  const settled = await runCli(['subscribe', '--json'], {
    ...at.options,
    env: { ...env, INBOX_SUBSCRIBE: JSON.stringify({ url, events: 'token.new_listing' }) },
  })
  expect(JSON.parse(settled.out)).toMatchObject({ result: 'unchanged' })
  const forced = await run('--url', url, '--events', '*', '--force')
  expect([forced.code, (await webhooks()).length]).toEqual([0, 2])
  expect(await app.inbox.subscription()).toMatchObject({ id: 2, events: ['*'], state: 'registered' })
  expect((await app.inbox.audit({ limit: 1 })).data).toMatchObject([
    { action: 'subscription.register', detail: { subscription: 2, state: 'registered' } },
  ])
})

test('a registration begun before a crash is not repeated, and can be confirmed', async () => {
  await using at = await setUp({ INBOX_API_URL: 'http://127.0.0.1:9/v1' })
  const begin = async (ageMs: number) => {
    const inbox = await createSqliteInbox({ file: at.file })
    const begun = { digest: 'd', url, events: ['token.new_listing'], secretLabel: 'main', at: Date.now() - ageMs }
    await inbox.beginSubscription(begun, (await inbox.subscription())?.id ?? null)
    await inbox.close()
  }
  await begin(0)
  expect((await at.run(...wanted, '--force')).code).toBe(75)
  await begin(60_000)
  expect(await at.run(...wanted)).toMatchObject({
    code: 1,
    out: expect.stringContaining('\n\nTo do: look for a webhook'),
  })
  const confirmed = `recorded as registered: ${url} for token.new_listing, signed with the secret "main"\n`
  expect(await at.run('--confirm')).toMatchObject({ code: 0, out: confirmed })
})
