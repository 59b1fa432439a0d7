import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { SubscriptionPort } from '../../src/inbox/port.ts'
import { ApiError } from '../../src/client/index.ts'
import { createReceiverRegistration } from '../../src/client/registration/at-start.ts'
import { describeRegistration } from '../../src/client/registration/describe.ts'
import {
  confirmRegistered,
  digestOf,
  register,
  type Registration,
  type WebhookClient,
} from '../../src/client/registration/register.ts'
import { recordingLog } from '../support/recording-log.ts'

const secret = 'the-secret-of-the-test'
const wanted = { url: 'https://example.com/hook', events: ['token.new_listing'], secretLabel: 'main' }
const other = { ...wanted, events: ['*'] }
const minuteMs = 60_000

type Call = Parameters<WebhookClient['createWebhook']>[0]

/** An inbox, and a client that returns `answers` in order, then succeeds. */
async function setUp(...answers: (() => unknown)[]) {
  const clock = createTestClock()
  const inbox = await createMemoryInbox({ clock })
  const calls: Call[] = []
  const client: WebhookClient = {
    async createWebhook(webhook) {
      calls.push(webhook)
      await Promise.resolve()
      const answer = answers.shift() ?? (() => ({ success: true, data: { webhook_id: 'wh_1' } }))
      return { body: answer() }
    },
  }
  const attempt = (changes: Partial<Parameters<typeof register>[0]> = {}) =>
    register({ inbox, client, wanted, secret, now: () => clock.now(), ...changes })
  const { log, lines } = recordingLog()
  /** Registers in the background, as a receiver does at its start. */
  const start = (changes: Partial<Parameters<typeof createReceiverRegistration>[0]> = {}) => {
    const given = { inbox, client: () => client, wanted, secret: () => secret, clock, log, ...changes }
    const registration = createReceiverRegistration(given)
    registration.start()
    return registration
  }
  return { clock, inbox, calls, lines, attempt, kind: async (changes = {}) => (await attempt(changes)).kind, start }
}

/** An error of the client. `cause`: code of its cause. */
function failure({ cause, ...fields }: { readonly cause?: string; readonly [field: string]: unknown }): () => never {
  return () => {
    throw new ApiError(`it failed with ${secret}`, {
      requestId: 'req_7',
      isRetryable: false,
      code: 'of_the_service',
      cause: cause === undefined ? undefined : Object.assign(new Error(`connect ${cause}`), { code: cause }),
      ...fields,
    })
  }
}

const textOf = (result: Registration) => {
  const { summary, todo } = describeRegistration(result, wanted)
  return `${summary}\n${todo ?? ''}`
}

test('R60 R61 R77 registers once with url, events and secret; a second, equal attempt sends nothing', async () => {
  const { calls, attempt, inbox, clock } = await setUp()
  expect(await attempt()).toMatchObject({ kind: 'registered', webhookId: 'wh_1', madeSecret: null })
  expect(calls).toEqual([{ url: wanted.url, events: wanted.events, secret }])
  expect(await inbox.subscription()).toMatchObject({
    state: 'registered',
    answer: '{"success":true,"data":{"webhook_id":"wh_1"}}',
    digest: digestOf(wanted),
    at: clock.now(),
    secretLabel: 'main',
  })
  const again = await attempt()
  expect([again.kind, calls.length]).toEqual(['unchanged', 1])
  expect(textOf(again)).toBe('already registered on 2026-01-01T00:00:00.000Z: nothing was sent\n')
})

test.each([
  ['changed', { url: 'https://example.com/other' }],
  ['changed', { secretLabel: 'next' }],
  ['changed', { events: ['a.b'] }],
  ['unchanged', { events: ['c.d', 'a.b'] }],
])('a registration is %s by %j', async (expected, change) => {
  const { kind } = await setUp()
  const first = { ...wanted, events: ['a.b', 'c.d'] }
  await kind({ wanted: first })
  expect(await kind({ wanted: { ...first, ...change } })).toBe(expected)
})

test('R62 an attempt with other events sends nothing, and reports how to replace the old registration', async () => {
  const { calls, attempt } = await setUp()
  await attempt({ wanted: other })
  const result = await attempt()
  expect([result.kind, calls.length]).toEqual(['changed', 1])
  expect(textOf(result)).toMatch(
    /^registered on 2026-01-01T00:00:00.000Z: .* for all events, .*; wanted now: .* for token.new_listing, .*\n.*subscribe --force.*webhooks delete wh_1/,
  )
})

test('force registers again even if nothing changed; a dry run sends and records nothing', async () => {
  const { calls, attempt, inbox } = await setUp()
  expect(await attempt({ dryRun: true })).toEqual({ kind: 'planned', replaces: null })
  expect([await inbox.subscription(), calls.length]).toEqual([null, 0])
  await attempt({ wanted: other })
  expect(await attempt({ force: true, dryRun: true })).toMatchObject({ kind: 'planned', replaces: { id: 1 } })
  for (const id of [2, 3])
    expect(await attempt({ force: true })).toMatchObject({ kind: 'registered', subscription: { id } })
  expect(calls).toHaveLength(3)
})

test.each([
  ['a 400', { status: 400, body: { success: false, error: { code: 'invalid_request' } } }, false],
  ['a 401', { status: 401 }, false],
  ['a 429', { status: 429, retryAfterMs: 7_000 }, true],
  ['success false with a 200', { status: 200, body: { success: false } }, false],
  ['a refused connection', { cause: 'ECONNREFUSED' }, true],
  ['an unknown host', { cause: 'ENOTFOUND' }, true],
  ['an untrusted certificate', { code: 'certificate_untrusted' }, false],
])('after %s nothing was registered, and a later attempt is allowed', async (_, fields, canRetry) => {
  const { calls, attempt, inbox } = await setUp(failure(fields))
  const result = await attempt()
  expect(result).toMatchObject({ kind: 'refused', verdict: { canRetry, requestId: 'req_7' } })
  expect(textOf(result)).toContain('not registered: it failed with (the secret) (request req_7)')
  expect(await inbox.subscription()).toBeNull()
  expect([(await attempt()).kind, calls.length]).toEqual(['registered', 2])
})

test.each([
  ['a 500', { status: 500 }],
  ['a 503', { status: 503, retryAfterMs: 1_000 }],
  ['a redirect', { status: 302 }],
  ['an invalid 200', { status: 200, body: '' }],
  ['a connection reset', { cause: 'ECONNRESET' }],
  ['a timeout', {}],
])('after %s the outcome is unknown: only force sends again, and only after a minute', async (_, fields) => {
  const { calls, attempt, kind, inbox, clock } = await setUp(failure(fields))
  const result = await attempt()
  expect(result.kind).toBe('unclear')
  expect(textOf(result)).toMatch(
    /may or may not exist: it failed with \(the secret\) \(request req_7\)\nlook for a webhook/,
  )
  expect(await inbox.subscription()).toMatchObject({ state: 'begun', answer: null })
  for (const force of [false, true]) expect(await kind({ force })).toBe('in_flight')
  await clock.advance(minuteMs)
  const later = await attempt()
  expect([later.kind, calls.length]).toEqual(['unclear', 1])
  expect(textOf(later)).toMatch(/webhook for https:\/\/example.com\/hook .*subscribe --confirm.*subscribe --force/)
  expect([await kind({ force: true }), calls.length]).toEqual(['registered', 2])
})

test('an operator confirms a registration with an unknown outcome, but not one in progress', async () => {
  const { clock, calls, attempt, kind, inbox } = await setUp(failure({ status: 500 }))
  const confirm = () => confirmRegistered(inbox, () => clock.now())
  expect(await confirm()).toBeNull()
  await attempt()
  expect(await confirm()).toMatchObject({ kind: 'in_flight', subscription: { id: 1 } })
  await clock.advance(minuteMs)
  for (let time = 0; time < 2; time++) expect(await confirm()).toMatchObject({ id: 1, state: 'registered' })
  expect([await kind(), calls.length]).toEqual(['unchanged', 1])
})

test.each([
  [[{ webhook_id: 'wh_1', secret: 'whsec_of_the_service' }], 'whsec_of_the_service'],
  [undefined, null],
])('R8 a 2xx with success true is a registration with any data: %j', async (data, madeSecret) => {
  const { attempt, inbox } = await setUp(
    failure({ status: 201, code: 'answer_invalid', body: { success: true, data } }),
  )
  expect(await attempt()).toMatchObject({ kind: 'registered', madeSecret })
  expect(await inbox.subscription()).toMatchObject({ state: 'registered', answer: expect.stringContaining('true') })
})

test.each([
  [400, 'refused', 'registered', 2],
  [201, 'registered', 'unchanged', 1],
])(
  'a forced attempt follows the outcome of a concurrent attempt that was answered %i',
  async (status, first, then, posts) => {
    const { calls, kind, inbox } = await setUp(...(status === 400 ? [failure({ status })] : []))
    // The concurrent attempt runs after this one has read the subscription and before it begins its own.
    let isFirst = true
    const late: SubscriptionPort = {
      ...inbox,
      async subscription() {
        const newest = await inbox.subscription()
        if (isFirst) {
          isFirst = false
          expect(await kind()).toBe(first)
        }
        return newest
      },
    }
    expect([await kind({ inbox: late, force: true }), calls.length]).toEqual([then, posts])
  },
)

test('a response is stored without secrets; a secret generated by the upstream is returned once', async () => {
  const generated = 'whsec_of_the_service'
  const data = { webhook_id: 'wh_2', secret: generated, note: `signed with ${secret}`, api_key: { a: 1 }, n: 5 }
  const { attempt, inbox } = await setUp(() => ({ success: true, data }))
  const result = await attempt()
  expect(result).toMatchObject({ kind: 'registered', webhookId: 'wh_2', madeSecret: generated })
  expect(JSON.parse((await inbox.subscription())!.answer!)).toEqual({
    success: true,
    data: { webhook_id: 'wh_2', secret: '(not kept)', note: 'signed with (not kept)', api_key: '(not kept)', n: 5 },
  })
  expect(textOf(result)).not.toContain(generated)
})

test('a registration that the inbox fails to record must be confirmed', async () => {
  const { attempt, inbox } = await setUp()
  const failing: SubscriptionPort = { ...inbox, endSubscription: () => Promise.reject(new Error('no space')) }
  const result = await attempt({ inbox: failing })
  expect(result.kind).toBe('unstored')
  expect(textOf(result)).toMatch(
    /^registered: .*, as wh_1; but the inbox failed to record it \(no space\)\nonce .*--confirm/,
  )
  expect(await inbox.subscription()).toMatchObject({ state: 'begun' })
})

describe('a receiver that starts', () => {
  test('registers once, retries an unreachable upstream with doubling waits', async () => {
    const refused = failure({ cause: 'ECONNREFUSED' })
    const { clock, inbox, start, lines, calls } = await setUp(refused, refused, refused)
    start()
    await clock.advance(0)
    expect(lines).toMatchObject([{ level: 'error', message: 'registration failed', fields: { isRetried: true } }])
    for (const ms of [10_000, 20_000, 40_000]) {
      const wait = clock.nextTimerAt()! - clock.now()
      expect(wait >= ms / 2 && wait <= ms).toBe(true)
      await clock.advance(wait)
    }
    expect([calls.length, lines.length, clock.nextTimerAt()]).toEqual([4, 3, null])
    expect(await inbox.subscription()).toMatchObject({ state: 'registered' })
  })

  test.each([
    [33_000, 33_000],
    [0, 5_000],
  ])('R107 retries a 429 with Retry-After %i ms after %i ms at the earliest', async (retryAfterMs, earliestMs) => {
    const { clock, start, calls } = await setUp(...Array(100).fill(failure({ status: 429, retryAfterMs })))
    start()
    await clock.advance(earliestMs - 1)
    expect(calls).toHaveLength(1)
    await clock.advance(60_000)
    expect(calls.length).toBeGreaterThan(1)
    expect(calls.length).toBeLessThan(6)
  })

  test.each([
    ['error', 'registration failed', { status: 403 }],
    ['warn', 'registration outcome unknown', { status: 500 }],
  ])('logs %s "%s" with advice for %j, and does not retry', async (level, message, fields) => {
    const { clock, start, lines, calls } = await setUp(failure(fields))
    start()
    await clock.advance(24 * 60 * minuteMs)
    const expected = { ...fields, requestId: 'req_7', todo: expect.any(String) }
    expect(lines).toMatchObject([{ level, message, fields: expected }])
    expect(calls).toHaveLength(1)
  })

  test('checks a registration that another process began again, which is unclear after a minute', async () => {
    const { clock, inbox, start, lines, calls } = await setUp()
    await inbox.beginSubscription({ digest: 'd', ...wanted, at: clock.now() }, null)
    start()
    await clock.advance(61_000)
    expect(lines.map(({ message }) => message)).toEqual(['registration outcome unknown'])
    expect(calls).toEqual([])
  })

  test('sends nothing without a secret of the label', async () => {
    const { clock, start, lines, calls } = await setUp()
    start({ secret: () => undefined })
    await clock.advance(0)
    expect(lines).toMatchObject([{ level: 'error', message: 'registration secret missing' }])
    expect(calls).toEqual([])
  })

  test('retries an inbox that fails to record, and sends nothing before', async () => {
    const { clock, inbox, start, lines, calls } = await setUp()
    let isFull = true
    const beginSubscription: SubscriptionPort['beginSubscription'] = (...args) =>
      isFull ? Promise.reject(new Error('no space')) : inbox.beginSubscription(...args)
    start({ inbox: { ...inbox, beginSubscription } })
    await clock.advance(0)
    expect(lines).toMatchObject([{ level: 'error', message: 'registration not storable, retrying' }])
    expect(calls).toEqual([])
    isFull = false
    await clock.advance(10_000)
    expect([calls.length, (await inbox.subscription())?.state]).toEqual([1, 'registered'])
  })

  test('waits at its close for a call in flight up to the grace period; then nothing is retried', async () => {
    const { clock, inbox, start } = await setUp()
    const called = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<{ body: unknown }>()
    const createWebhook = () => (called.resolve(), answer.promise)
    const registration = start({ client: () => ({ createWebhook }) })
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
})
