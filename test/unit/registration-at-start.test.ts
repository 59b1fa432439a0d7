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

interface Line {
  readonly level: string
  readonly msg: string
  readonly what?: string
  readonly todo?: string
}

/** `answers`: what the client does with one call after the other; after them it succeeds. */
async function setUp(answers: (() => unknown)[] = []) {
  const clock = createTestClock()
  const inbox = await createMemoryInbox({ clock })
  let text = ''
  const lines = () =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  const log = createLogger({ level: 'info', pretty: false, output: { write: (line: string) => void (text += line) } })
  let calls = 0
  const client: WebhookClient = {
    async createWebhook() {
      calls += 1
      return { body: (answers.shift() ?? (() => ({ data: { webhook_id: 'wh_1' } })))() }
    },
  }
  const start = ({
    client: own = client,
    ...given
  }: { client?: WebhookClient; inbox?: SubscriptionPort; secret?: () => string | undefined } = {}) => {
    const registration = createReceiverRegistration({
      inbox,
      client: () => own,
      wanted,
      secret: () => secret,
      clock,
      log,
      ...given,
    })
    registration.start()
    return registration
  }
  return { clock, inbox, start, lines, text: () => text, calls: () => calls }
}

function failure(fields: object): () => never {
  return () => {
    throw new ApiError('it failed', { code: 'of_the_service', requestId: 'req_7', isRetryable: false, ...fields })
  }
}

test('a receiver that starts is registered, the next time it says that it is already', async () => {
  const { clock, start, lines, text, calls } = await setUp()
  start()
  await clock.advance(0)
  start()
  await clock.advance(0)
  expect(lines()).toMatchObject([
    { level: 'info', msg: 'registered with the service', what: expect.stringContaining('as wh_1') },
    { level: 'info', msg: 'registered with the service already' },
  ])
  expect(calls()).toBe(1)
  expect(text()).not.toMatch(/in-the-query|the-secret-of/)
})

test('as long as the service cannot be reached it is tried again, ever later', async () => {
  const refused = failure({ cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) })
  const { clock, start, lines, calls } = await setUp([refused, refused, refused])
  start()
  await clock.advance(0)
  expect(lines()).toMatchObject([{ level: 'error', msg: 'not registered with the service', isTriedAgain: true }])
  const waits: number[] = []
  while (calls() < 4) {
    const at = clock.nextTimerAt()
    expect(at).not.toBeNull()
    waits.push(at! - clock.now())
    await clock.advance(at! - clock.now())
  }
  for (const [index, ms] of [10_000, 20_000, 40_000].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(ms / 2)
    expect(waits[index]).toBeLessThanOrEqual(ms)
  }
  expect(lines().at(-1)).toMatchObject({ msg: 'registered with the service' })
  expect(clock.nextTimerAt()).toBeNull()
})

test('R107 after a 429 it is tried again when the service says', async () => {
  const { clock, start, calls } = await setUp([failure({ status: 429, retryAfterMs: 33_000 })])
  start()
  await clock.advance(32_999)
  expect(calls()).toBe(1)
  await clock.advance(1)
  expect(calls()).toBe(2)
})

test('R107 a 429 that asks to wait for nothing is not asked again and again', async () => {
  const { clock, start, calls } = await setUp(
    Array.from({ length: 1_000 }, () => failure({ status: 429, retryAfterMs: 0 })),
  )
  start()
  await clock.advance(4_999)
  expect(calls()).toBe(1)
  // After 10 s, 20 s, 40 s …, each less up to a half.
  await clock.advance(60_000)
  expect(calls()).toBeGreaterThan(1)
  expect(calls()).toBeLessThan(6)
})

test.each([
  ['refused', 'error', 'not registered with the service', { status: 403 }],
  ['unclear', 'warn', 'it is not known whether this receiver is registered with the service', { status: 500 }],
])('what is %s is left to people, who are told what to do', async (_, level, msg, fields) => {
  const { clock, start, lines, calls } = await setUp([failure(fields)])
  start()
  await clock.advance(24 * 3_600_000)
  expect(lines()).toMatchObject([{ level, msg, ...fields, requestId: 'req_7', todo: expect.any(String) }])
  expect(calls()).toBe(1)
})

test('a registration that another process began is looked at again, and after a minute said to be unclear', async () => {
  const { clock, inbox, start, lines, calls } = await setUp()
  await inbox.beginSubscription({ digest: 'd', ...wanted, at: clock.now() }, null)
  start()
  await clock.advance(30_000)
  expect(lines()).toMatchObject([{ msg: 'another process registers this receiver with the service' }])
  await clock.advance(31_000)
  expect(lines()).toMatchObject([{}, { level: 'warn', msg: expect.stringContaining('not known') }])
  expect(calls()).toBe(0)
})

test('a label that no secret has any more is said, and nothing is sent', async () => {
  const { clock, start, lines, calls } = await setUp()
  start({ secret: () => undefined })
  await clock.advance(0)
  expect(lines()).toMatchObject([{ level: 'error', msg: expect.stringContaining('no secret of this label') }])
  expect(calls()).toBe(0)
})

test('an inbox that cannot be written is tried again, and nothing is sent meanwhile', async () => {
  const { clock, inbox, start, lines, calls } = await setUp()
  let isFull = true
  const full: SubscriptionPort = {
    ...inbox,
    beginSubscription: (...args) => (isFull ? Promise.reject(new Error('no space')) : inbox.beginSubscription(...args)),
  }
  start({ inbox: full })
  await clock.advance(0)
  expect(lines()).toMatchObject([{ level: 'error', msg: expect.stringContaining('the inbox cannot note it') }])
  expect(calls()).toBe(0)
  isFull = false
  await clock.advance(10_000)
  expect([calls(), lines().at(-1)?.msg]).toEqual([1, 'registered with the service'])
})

test('a stop waits for the answer of a call that is under way, at most so long; then nothing is tried again', async () => {
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
