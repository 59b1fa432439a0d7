import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { createLogger } from '../../src/base/log.ts'
import { register } from '../../src/client/registration/register.ts'
import { sqliteUrl, startTestApp, testSecret } from '../support/app.ts'
import { freePort } from '../support/stream-sinks.ts'
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

/** Registrations by the real client with an inbox in memory. */
async function setUp() {
  const clock = createTestClock(Date.now())
  const inbox = await createMemoryInbox({ clock })
  const attempt = ({ baseUrl = apiUrl, key = apiKey } = {}) => {
    const client = createClient({ baseUrl, apiKey: key, retries: 0 })
    return register({ inbox, client, wanted, secret, now: () => clock.now() })
  }
  return { inbox, attempt }
}

test('R67 an invalid key and an unreachable upstream register nothing; after a lost response the outcome is unknown', async () => {
  const { attempt, inbox } = await setUp()
  expect(await attempt({ key: 'sk_of-nobody-at-all-0001' })).toMatchObject({
    kind: 'refused',
    verdict: { status: 401, canRetry: false, requestId: expect.stringMatching(/.+/) },
  })
  expect(await attempt({ baseUrl: `http://127.0.0.1:${await freePort()}/v1` })).toMatchObject({
    kind: 'refused',
    verdict: { status: null, canRetry: true },
  })
  expect(await inbox.subscription()).toBeNull()
  await stage.control('POST', '/faults', { direction: 'in', fault: { kind: 'reset' } })
  expect((await attempt()).kind).toBe('unclear')
})

test('R60 R91 a sidecar registers itself once it listens, receives its types, and registers only once', async () => {
  await using dir = await createTempDir()
  const lines: string[] = []
  const log = createLogger({ level: 'info', pretty: false, output: { write: (line: string) => void lines.push(line) } })
  // The port must be known before the start.
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/webhooks`
  const all = `import { defineHandler } from 'onchain-inbox'\nexport default defineHandler({ type: '*', run() {} })\n`
  const options = {
    dir: dir.path,
    log,
    settings: {
      INBOX_DATABASE_URL: sqliteUrl,
      INBOX_API_URL: apiUrl,
      INBOX_API_KEY: apiKey,
      INBOX_SUBSCRIBE: JSON.stringify({ url, events: 'wallet.*' }),
      INBOX_PORT: String(port),
    },
    handlers: { 'all.ts': all },
  }
  {
    await using app = await startTestApp(options)
    await until(async () => (await app.inbox.subscription())?.state === 'registered', 'the receiver is registered')
    expect(await webhooks()).toMatchObject([
      { url, events: ['wallet.large_trade', 'wallet.new_position', 'wallet.pnl_milestone'] },
    ])
    const triggered = await stage.control('POST', '/trigger', { type: 'wallet.large_trade' })
    expect(triggered.status, triggered.text).toBeLessThan(300)
    const received = async () => (await app.inbox.events({ limit: 9, type: 'wallet.large_trade' })).data.length
    await until(async () => (await received()) > 0, 'the event arrives')
    const health = await fetch(`${app.adminUrl}/api/v1/health`, {
      headers: { Authorization: `Bearer ${app.adminToken}` },
    })
    expect(await health.json()).toMatchObject({ subscription: { url, state: 'registered', secret_label: 'main' } })
  }
  {
    await using _ = await startTestApp(options)
    await until(() => lines.join().includes('receiver already registered'), 'the log says so')
    expect(await webhooks()).toHaveLength(1)
  }
  expect(lines.join()).not.toContain(testSecret)
})
