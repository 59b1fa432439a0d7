import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { SubscriptionPort } from '../../src/inbox/port.ts'
import { createLogger } from '../../src/base/log.ts'
import { createReceiverRegistration } from '../../src/client/registration/at-start.ts'
import { ApiError } from '../../src/client/index.ts'
import type { WebhookClient } from '../../src/client/registration/register.ts'

const secret = 'the-secret-of-the-test'
const wanted = { url: 'https://example.com/hook?token=in-the-query', events: ['*'], secretLabel: 'main' }

/** `answers`: results of the client's calls in order; further calls succeed. */
async function setUp(answers: (() => unknown)[] = []) {
  const clock = createTestClock()
  const inbox = await createMemoryInbox({ clock })
  const text: string[] = []
  const log = createLogger({ level: 'info', pretty: false, output: { write: (line: string) => void text.push(line) } })
  let calls = 0
  const client: WebhookClient = {
    async createWebhook() {
      calls += 1
      return { body: (answers.shift() ?? (() => ({ data: { webhook_id: 'wh_1' } })))() }
    },
  }
  const start = (
    changes: { client?: WebhookClient; inbox?: SubscriptionPort; secret?: () => string | undefined } = {},
  ) => {
    const registration = createReceiverRegistration({
      inbox,
      wanted,
      secret: () => secret,
      clock,
      log,
      ...changes,
      client: () => changes.client ?? client,
    })
    registration.start()
    return registration
  }
  const lines = () => text.map((line) => JSON.parse(line) as { readonly msg: string })
  return { clock, inbox, start, lines, text: () => text.join(''), calls: () => calls }
}

function failure(fields: object): () => never {
  return () => {
    throw new ApiError('it failed', { code: 'of_the_service', requestId: 'req_7', isRetryable: false, ...fields })
  }
}

test('a receiver registers at its first start; later starts log that it is registered', async () => {
  const { clock, start, lines, text, calls } = await setUp()
  start()
  await clock.advance(0)
  start()
  await clock.advance(0)
  expect(lines()).toMatchObject([
    { level: 'info', msg: 'receiver registered', result: expect.stringContaining('as wh_1') },
    { level: 'info', msg: 'receiver already registered' },
  ])
  expect(calls()).toBe(1)
  expect(text()).not.toMatch(/in-the-query|the-secret-of/)
})

test('an unreachable service is retried with doubling waits', async () => {
  const refused = failure({ cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) })
  const { clock, start, lines, calls } = await setUp([refused, refused, refused])
  start()
  await clock.advance(0)
  expect(lines()).toMatchObject([{ level: 'error', msg: 'registration failed', isRetried: true }])
  for (const ms of [10_000, 20_000, 40_000]) {
    const wait = clock.nextTimerAt()! - clock.now()
    expect(wait >= ms / 2 && wait <= ms).toBe(true)
    await clock.advance(wait)
  }
  expect([calls(), lines().at(-1)?.msg, clock.nextTimerAt()]).toEqual([4, 'receiver registered', null])
})

test.each([
  [33_000, 33_000],
  [0, 5_000],
])('R107 a 429 with Retry-After %i ms is retried after %i ms at the earliest', async (retryAfterMs, earliestMs) => {
  const { clock, start, calls } = await setUp(Array.from({ length: 100 }, () => failure({ status: 429, retryAfterMs })))
  start()
  await clock.advance(earliestMs - 1)
  expect(calls()).toBe(1)
  await clock.advance(60_000)
  expect(calls()).toBeGreaterThan(1)
  expect(calls()).toBeLessThan(6)
})

test.each([
  ['error', 'registration failed', { status: 403 }],
  ['warn', 'registration outcome unknown', { status: 500 }],
])('logs %s "%s" with advice for %j, and does not retry', async (level, msg, fields) => {
  const { clock, start, lines, calls } = await setUp([failure(fields)])
  start()
  await clock.advance(24 * 3_600_000)
  expect(lines()).toMatchObject([{ level, msg, ...fields, requestId: 'req_7', todo: expect.any(String) }])
  expect(calls()).toBe(1)
})

test('a registration that another process began is checked again, and unclear after a minute', async () => {
  const { clock, inbox, start, lines, calls } = await setUp()
  await inbox.beginSubscription({ digest: 'd', ...wanted, at: clock.now() }, null)
  start()
  await clock.advance(61_000)
  expect(lines().map(({ msg }) => msg)).toEqual(['another process is registering', 'registration outcome unknown'])
  expect(calls()).toBe(0)
})

test('a label without a secret is logged, and nothing is sent', async () => {
  const { clock, start, lines, calls } = await setUp()
  start({ secret: () => undefined })
  await clock.advance(0)
  expect(lines()).toMatchObject([{ level: 'error', msg: 'registration secret missing' }])
  expect(calls()).toBe(0)
})

test('an inbox that fails to record is retried, and nothing is sent before', async () => {
  const { clock, inbox, start, lines, calls } = await setUp()
  let isFull = true
  const full: SubscriptionPort = {
    ...inbox,
    beginSubscription: (...args) => (isFull ? Promise.reject(new Error('no space')) : inbox.beginSubscription(...args)),
  }
  start({ inbox: full })
  await clock.advance(0)
  expect(lines()).toMatchObject([{ level: 'error', msg: 'registration not storable, retrying' }])
  expect(calls()).toBe(0)
  isFull = false
  await clock.advance(10_000)
  expect([calls(), lines().at(-1)?.msg]).toEqual([1, 'receiver registered'])
})

test('close waits for a call in flight up to its grace period, then nothing is retried', async () => {
  const { clock, inbox, start } = await setUp()
  const called = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<{ body: unknown }>()
  const client: WebhookClient = {
    createWebhook() {
      called.resolve()
      return answer.promise
    },
  }
  const registration = start({ client })
  await called.promise
  let isClosed = false
  const closing = registration.close(5_000).then(() => (isClosed = true))
  await clock.advance(4_999)
  expect(isClosed).toBe(false)
  answer.resolve({ body: {} })
  await closing
  expect(await inbox.subscription()).toMatchObject({ state: 'registered' })
  expect(clock.nextTimerAt()).toBeNull()
})
