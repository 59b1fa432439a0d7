import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { createLogger } from '../../src/base/log.ts'
import { register } from '../../src/client/registration/register.ts'
import { sqliteUrl, startTestApp, testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'
import { apiKey, startStage, type Stage } from './emulator-stage.ts'

let stage: Stage
let apiUrl: string
beforeAll(async () => {
  stage = await startStage()
  apiUrl = `${stage.emulator.url}/v1`
})
afterAll(() => stage[Symbol.asyncDispose]())
afterEach(async () => {
  await stage.control('DELETE', '/faults')
  for (const { webhook_id: id } of await webhooks()) await stage.rest(`/webhooks/${id}`, { method: 'DELETE' })
})

async function webhooks(): Promise<readonly { webhook_id: string; url: string; events: readonly string[] }[]> {
  return (await stage.rest('/webhooks')).json.data
}

const wanted = { url: 'https://example.com/hook', events: ['token.new_listing'], secretLabel: 'main' }
const secret = 'the-secret-of-the-test'

/** One registration by the real client, over an inbox in memory that goes on being used. */
async function setUp(fetchVia: typeof fetch = fetch) {
  const clock = createTestClock(Date.now())
  const inbox = await createMemoryInbox({ clock })
  let posts = 0
  const counting: typeof fetch = (...args) => {
    posts += 1
    return fetchVia(...args)
  }
  const attempt = (given: { baseUrl?: string; key?: string; force?: boolean } = {}) => {
    const { baseUrl = apiUrl, key = apiKey, force = false } = given
    const client = createClient({ baseUrl, apiKey: key, retries: 0, fetch: counting })
    return register({ inbox, client, wanted, secret, now: () => clock.now(), force })
  }
  return { clock, inbox, attempt, posts: () => posts }
}

test.each([
  ['error-500', 0],
  ['reset', 1],
])('after the fault %s nobody knows whether it is there, and the POST is not sent again', async (kind, registered) => {
  const { attempt, inbox, clock, posts } = await setUp()
  await stage.control('POST', '/faults', { direction: 'in', path: '/v1/webhooks', methods: ['POST'], fault: { kind } })
  expect((await attempt()).kind).toBe('unclear')
  expect(await inbox.subscription()).toMatchObject({ state: 'begun' })
  await clock.advance(60_000)
  for (let n = 0; n < 3; n += 1) expect((await attempt()).kind).toBe('unclear')
  expect([posts(), (await webhooks()).length]).toEqual([1, registered])
})

test('R67 a key that is not taken, and a service that is not there, are refusals; members that nobody knows are none', async () => {
  const { attempt, inbox } = await setUp()
  const refused = await attempt({ key: 'sk_of-nobody-at-all-0001' })
  expect(refused).toMatchObject({ kind: 'refused', verdict: { status: 401, canRetry: false } })
  expect((refused as { verdict: { requestId: string } }).verdict.requestId).toMatch(/.+/)
  // Nothing listens there.
  const gone = await AppServer.start()
  const { port } = gone
  await gone[Symbol.asyncDispose]()
  const unreachable = await attempt({ baseUrl: `http://127.0.0.1:${port}/v1` })
  expect(unreachable).toMatchObject({ kind: 'refused', verdict: { status: null, canRetry: true } })
  expect(await inbox.subscription()).toBeNull()
  await stage.control('POST', '/faults', { direction: 'in', fault: { kind: 'extra-members' } })
  expect((await attempt()).kind).toBe('registered')
})

/** A log that can be looked at. */
function loggingTo(lines: string[]) {
  return createLogger({ level: 'info', pretty: false, output: { write: (line: string) => void lines.push(line) } })
}

const settings = (given: object) => ({
  INBOX_DATABASE_URL: sqliteUrl,
  INBOX_API_URL: apiUrl,
  INBOX_API_KEY: apiKey,
  INBOX_SUBSCRIBE: JSON.stringify({ url: 'http://127.0.0.1:9/hook', events: 'wallet.*', ...given }),
})

test('R60 R91 a sidecar registers itself once it listens, and gets what it registered for; started anew it does not again', async () => {
  await using dir = await createTempDir()
  const lines: string[] = []
  const log = loggingTo(lines)
  // Its port has to be known before it starts.
  const free = await AppServer.start()
  const { port } = free
  await free[Symbol.asyncDispose]()
  const url = `http://127.0.0.1:${port}/webhooks`
  const options = {
    dir: dir.path,
    log,
    settings: { ...settings({ url }), INBOX_PORT: String(port) },
    handlers: {
      'all.ts': `import { defineHandler } from 'onchain-inbox'\nexport default defineHandler({ type: '*', run() {} })\n`,
    },
  }
  {
    await using app = await startTestApp(options)
    await until(async () => (await webhooks()).length > 0, 'the receiver was registered')
    expect(await webhooks()).toMatchObject([
      { url, events: ['wallet.large_trade', 'wallet.new_position', 'wallet.pnl_milestone'] },
    ])
    await until(async () => (await app.inbox.subscription())?.state === 'registered', 'it was noted')
    const triggered = await stage.control('POST', '/trigger', { type: 'wallet.large_trade' })
    expect(triggered.status, triggered.text).toBeLessThan(300)
    const arrived = async () => (await app.inbox.events({ limit: 9, type: 'wallet.large_trade' })).data.length
    await until(async () => (await arrived()) > 0, 'the event came')
    const health = await fetch(`${app.adminUrl}/api/v1/health`, {
      headers: { Authorization: `Bearer ${app.adminToken}` },
    })
    expect(await health.json()).toMatchObject({ subscription: { url, state: 'registered', secret_label: 'main' } })
  }
  {
    await using _ = await startTestApp(options)
    await until(() => lines.join().includes('registered with the service already'), 'it said so')
    expect(await webhooks()).toHaveLength(1)
  }
  expect(lines.join()).not.toContain(testSecret)
})

test.each([
  [{ url: 'http://example.com/', events: ['*'] }, /INBOX_SUBSCRIBE must be .*\(url: expected an https URL/],
  [{ url: 'https://example.com/', events: [] }, /INBOX_SUBSCRIBE must be .*\(events: expected "\*", types/],
  [
    { url: 'https://example.com/', events: ['wallet.large_trade', '*'] },
    /INBOX_SUBSCRIBE must be .*\(events: expected "\*", types/,
  ],
  [{ url: 'https://example.com/', events: 'wallets.*' }, /INBOX_SUBSCRIBE must be .*\(events: expected "\*", types/],
  [{ url: 'https://example.com/', events: '*', type: 'x' }, /INBOX_SUBSCRIBE must be .*\(type: unknown member/],
  [
    { url: 'https://example.com/', events: '*', secret: 'next' },
    /INBOX_SUBSCRIBE: secret: there is no secret of this label; expected one of main/,
  ],
])('the setting %j is refused with what was expected', async (setting, expected) => {
  const given = settings({})
  await expect(startTestApp({ settings: { ...given, INBOX_SUBSCRIBE: JSON.stringify(setting) } })).rejects.toThrow(
    expected,
  )
})

test('a secret that was given in place of its label is in no problem', async () => {
  const subscribe = { url: 'https://example.com/', events: '*', secret: testSecret }
  const given = { ...settings({}), INBOX_SUBSCRIBE: JSON.stringify(subscribe) }
  const error: unknown = await startTestApp({ settings: given }).catch((thrown: unknown) => thrown)
  expect(String(error)).toContain('there is no secret of this label')
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(testSecret)
})

test('the setting is refused without the address of the service and a key, and where nothing is kept', async () => {
  const { INBOX_SUBSCRIBE, INBOX_API_URL } = settings({})
  const expected = /INBOX_SUBSCRIBE: expected INBOX_API_URL and INBOX_API_KEY or INBOX_API_KEY_FILE with it/
  await expect(startTestApp({ settings: { INBOX_SUBSCRIBE } })).rejects.toThrow(expected)
  await expect(startTestApp({ settings: { INBOX_SUBSCRIBE, INBOX_API_URL } })).rejects.toThrow(expected)
  await expect(startTestApp({ settings: { ...settings({}), INBOX_DATABASE_URL: 'memory:' } })).rejects.toThrow(
    /INBOX_SUBSCRIBE: with memory: each start would register once more; expected a database file/,
  )
})

test('the setting can stand in the config file as `subscribe`; of a type that is not known there is a warning', async () => {
  await using dir = await createTempDir()
  const subscribe = { url: 'https://example.com/', events: ['wallet.large_trades', 'wallet.*'] }
  const file = join(dir.path, 'onchain-inbox.config.mjs')
  await writeFile(file, `export default { subscribe: ${JSON.stringify(subscribe)} }`)
  await using app = await startTestApp({
    dir: dir.path,
    settings: { INBOX_API_URL: apiUrl, INBOX_API_KEY: apiKey, INBOX_DATABASE_URL: sqliteUrl },
  })
  expect(app.config.subscribe).toEqual({
    url: 'https://example.com/',
    events: ['wallet.large_trade', 'wallet.large_trades', 'wallet.new_position', 'wallet.pnl_milestone'],
    secret: 'main',
  })
  expect(app.config.warnings.join()).toContain(
    'wallet.large_trades is no event type that this version knows, did you mean wallet.large_trade?',
  )
})
