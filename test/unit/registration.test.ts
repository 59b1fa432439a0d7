import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { SubscriptionPort } from '../../src/inbox/port.ts'
import { ApiError } from '../../src/client/index.ts'
import { describeRegistration } from '../../src/client/registration/describe.ts'
import {
  confirmRegistered,
  digestOf,
  register,
  type Registration,
  type WebhookClient,
} from '../../src/client/registration/register.ts'

const secret = 'the-secret-of-the-test'
const wanted = { url: 'https://example.com/hook', events: ['token.new_listing'], secretLabel: 'main' }
const other = { ...wanted, events: ['*'] }
const minuteMs = 60_000

type Call = Parameters<WebhookClient['createWebhook']>[0]

/** An inbox, and a client that answers as it is told; without being told it succeeds. */
async function setUp() {
  const clock = createTestClock()
  const inbox = await createMemoryInbox({ clock })
  const calls: Call[] = []
  const answers: (() => unknown)[] = []
  const client: WebhookClient = {
    async createWebhook(webhook) {
      calls.push(webhook)
      await Promise.resolve()
      const answer = answers.shift()
      return { body: answer === undefined ? { success: true, data: { webhook_id: 'wh_1' } } : answer() }
    },
  }
  const attempt = (given: Partial<Parameters<typeof register>[0]> = {}) =>
    register({ inbox, client, wanted, secret, now: () => clock.now(), ...given })
  return { clock, inbox, calls, answers, attempt }
}

/** As the client throws it. */
function failure(fields: {
  status?: number | null
  code?: string
  /** Of the error itself, not of its cause. */
  ownCode?: string
  body?: unknown
  retryAfterMs?: number
}): () => never {
  return () => {
    const { code, ownCode = 'of_the_service', ...rest } = fields
    const cause = code === undefined ? undefined : Object.assign(new Error(`connect ${code}`), { code })
    throw new ApiError(`it failed with ${secret}`, {
      requestId: 'req_7',
      isRetryable: false,
      code: ownCode,
      cause,
      ...rest,
    })
  }
}

const kindOf = ({ kind }: Registration) => kind
const textOf = (result: Registration) => {
  const { summary, todo } = describeRegistration(result, wanted)
  return `${summary}\n${todo ?? ''}`
}

test('R60 R61 R77 the receiver is registered once with url, events and secret; the same again sends nothing', async () => {
  const { calls, attempt, inbox, clock } = await setUp()
  const result = await attempt()
  expect(result).toMatchObject({ kind: 'registered', webhookId: 'wh_1', madeSecret: null })
  expect(calls).toEqual([{ url: wanted.url, events: wanted.events, secret }])
  const kept = {
    state: 'registered',
    answer: '{"success":true,"data":{"webhook_id":"wh_1"}}',
    digest: digestOf(wanted),
  }
  expect(await inbox.subscription()).toMatchObject({ ...kept, at: clock.now(), secretLabel: 'main' })
  const again = await attempt()
  expect([kindOf(again), calls.length]).toEqual(['unchanged', 1])
  expect(textOf(again)).toBe('registered already, on 2026-01-01T00:00:00.000Z: nothing was sent\n')
})

test('the digest tells url, events and label apart, not the order of events', () => {
  const base = { url: 'https://a/', events: ['a.b', 'c.d'], secretLabel: 'main' }
  const digests = [
    base,
    { ...base, url: 'https://b/' },
    { ...base, events: ['a.b'] },
    { ...base, events: ['a.b,c.d'] },
    { ...base, secretLabel: 'next' },
  ].map(digestOf)
  expect(new Set(digests).size).toBe(5)
  expect(digestOf({ ...base, events: ['c.d', 'a.b'] })).toBe(digests[0])
})

test('R62 what is wanted now differs: nothing is sent, it says what was registered, what is wanted, and what to do', async () => {
  const { calls, attempt, clock } = await setUp()
  await attempt({ wanted: other })
  await clock.advance(90 * minuteMs)
  const result = await attempt()
  expect([kindOf(result), calls.length]).toEqual(['changed', 1])
  expect(textOf(result)).toBe(
    'registered on 2026-01-01T00:00:00.000Z: https://example.com/hook for all events, signed with the secret "main"; wanted ' +
      'now: https://example.com/hook for token.new_listing, signed with the secret "main". Nothing was sent\n' +
      'run `onchain-inbox subscribe --force`, which registers what is wanted now, beside the old one. Then remove that, or each ' +
      'event comes twice: by `onchain-inbox webhooks delete wh_1` where the service can do that, else by hand in its dashboard',
  )
})

test('with force what is wanted now is registered, also if it is the same; a dry run only says it', async () => {
  const { calls, attempt, inbox } = await setUp()
  expect(await attempt({ dryRun: true })).toEqual({ kind: 'planned', replaces: null })
  expect([await inbox.subscription(), calls.length]).toEqual([null, 0])
  await attempt({ wanted: other })
  expect(await attempt({ force: true, dryRun: true })).toMatchObject({ kind: 'planned', replaces: { id: 1 } })
  for (const id of [2, 3]) {
    expect(await attempt({ force: true })).toMatchObject({ kind: 'registered', subscription: { id } })
  }
  expect(calls.map(({ events }) => events)).toEqual([['*'], ['token.new_listing'], ['token.new_listing']])
})

test.each([
  ['an answer of 400', { status: 400, body: { success: false, error: { code: 'invalid_request' } } }, false],
  ['an answer of 401', { status: 401 }, false],
  ['an answer of 429', { status: 429, retryAfterMs: 7_000 }, true],
  ['a failure in the envelope, answered with 200', { status: 200, body: { success: false } }, false],
  ['a connection that was refused', { code: 'ECONNREFUSED' }, true],
  ['a name that cannot be looked up', { code: 'ENOTFOUND' }, true],
  ['a certificate that cannot be trusted', { ownCode: 'certificate_untrusted' }, false],
])(
  'after %s it is certain that nothing was registered, and the same can be tried again',
  async (_, fields, canRetry) => {
    const { calls, answers, attempt, inbox } = await setUp()
    answers.push(failure(fields))
    const result = await attempt()
    expect(result).toMatchObject({ kind: 'refused', verdict: { canRetry, requestId: 'req_7' } })
    expect(textOf(result)).toContain('nothing was registered: it failed with (the secret) (request req_7)')
    expect(await inbox.subscription()).toBeNull()
    expect([kindOf(await attempt()), calls.length]).toEqual(['registered', 2])
  },
)

test.each([
  ['an answer of 500', { status: 500 }],
  ['an answer of 503', { status: 503, retryAfterMs: 1_000 }],
  ['a redirect', { status: 302 }],
  ['an answer of 200 that is none', { status: 200, body: '' }],
  ['a connection that was reset', { code: 'ECONNRESET' }],
  ['no answer in time', {}],
])(
  'after %s nobody knows: it is never sent again by itself, and force may send it after a minute',
  async (_, fields) => {
    const { calls, answers, attempt, inbox, clock } = await setUp()
    answers.push(failure(fields))
    const result = await attempt()
    expect(kindOf(result)).toBe('unclear')
    expect(textOf(result)).toMatch(
      /may or may not be there: it failed with \(the secret\) \(request req_7\)\nlook in the dashboard/,
    )
    expect(await inbox.subscription()).toMatchObject({ state: 'begun', answer: null })
    // Whoever comes at once cannot know whether somebody is at it.
    for (const force of [false, true]) expect(kindOf(await attempt({ force }))).toBe('under_way')
    await clock.advance(minuteMs)
    const later = await attempt()
    expect([kindOf(later), calls.length]).toEqual(['unclear', 1])
    expect(textOf(later)).toContain(
      'look in the dashboard of the service, or try `onchain-inbox webhooks list`, whether there is a webhook for https://example.com/hook. If there is one: ' +
        '`onchain-inbox subscribe --confirm` notes that. If there is none: `onchain-inbox subscribe --force` registers it',
    )
    expect([kindOf(await attempt({ force: true })), calls.length]).toEqual(['registered', 2])
  },
)

test('what was begun is confirmed by somebody who has looked', async () => {
  const { clock, calls, answers, attempt, inbox } = await setUp()
  const confirm = () => confirmRegistered(inbox, () => clock.now())
  expect(await confirm()).toBeNull()
  answers.push(failure({ status: 500 }))
  await attempt()
  await clock.advance(minuteMs)
  expect(await confirm()).toMatchObject({ id: 1, state: 'registered' })
  expect([kindOf(await attempt()), calls.length]).toEqual(['unchanged', 1])
  expect(await confirm()).toMatchObject({ id: 1, state: 'registered' })
})

test('what is still under way is not confirmed: it may be refused yet', async () => {
  const { clock, inbox, calls, attempt } = await setUp()
  const answer = Promise.withResolvers<never>()
  const called = Promise.withResolvers<void>()
  const slow: WebhookClient = {
    createWebhook() {
      called.resolve()
      return answer.promise
    },
  }
  const first = attempt({ client: slow })
  await called.promise
  expect(await confirmRegistered(inbox, () => clock.now())).toMatchObject({
    kind: 'under_way',
    subscription: { id: 1 },
  })
  answer.reject(new ApiError('no', { code: 'forbidden', status: 403, isRetryable: false }))
  expect(kindOf(await first)).toBe('refused')
  expect([kindOf(await attempt()), calls.length]).toEqual(['registered', 1])
})

test.each([
  [[{ webhook_id: 'wh_1', secret: 'whsec_of_the_service' }], 'whsec_of_the_service'],
  [null, null],
  [undefined, null],
])('R8 a 2xx with success true is a registration, whatever its data: %j', async (data, madeSecret) => {
  const { answers, attempt, inbox } = await setUp()
  answers.push(failure({ status: 201, ownCode: 'answer_invalid', body: { success: true, data } }))
  expect(await attempt()).toMatchObject({ kind: 'registered', madeSecret })
  expect(await inbox.subscription()).toMatchObject({ state: 'registered', answer: expect.stringContaining('true') })
})

test.each([false, true])('R62 of ten at the same time one registers (force: %s)', async (force) => {
  const { calls, attempt } = await setUp()
  if (force) await attempt({ wanted: other })
  const before = calls.length
  const results = await Promise.all(Array.from({ length: 10 }, () => attempt({ force })))
  expect(calls.length - before).toBe(1)
  expect(results.map(kindOf).toSorted()).toEqual(['registered', ...Array<string>(9).fill('under_way')])
})

test.each([
  [400, false, 'refused', 'registered', 2],
  [400, true, 'refused', 'registered', 2],
  [201, false, 'registered', 'unchanged', 1],
  [201, true, 'registered', 'unchanged', 1],
])(
  'when another comes first and is answered %i (force: %s), its end is heeded',
  async (status, force, first, then, posts) => {
    const { calls, answers, attempt, inbox } = await setUp()
    if (status === 400) answers.push(failure({ status }))
    // Between the look and the begin of one, the other comes and goes.
    let isFirst = true
    const late: SubscriptionPort = {
      ...inbox,
      async subscription() {
        const newest = await inbox.subscription()
        if (isFirst) {
          isFirst = false
          expect(kindOf(await attempt())).toBe(first)
        }
        return newest
      },
    }
    expect([kindOf(await attempt({ inbox: late, force })), calls.length]).toEqual([then, posts])
  },
)

test('an answer is kept without anything secret; a secret that the service made is handed over once', async () => {
  const { answers, attempt, inbox } = await setUp()
  const data = {
    webhook_id: 'wh_2',
    secret: 'whsec_of_the_service',
    note: `signed with ${secret}`,
    api_key: { a: 1 },
    n: 5,
  }
  answers.push(() => ({ success: true, data }))
  const result = await attempt()
  expect(result).toMatchObject({ kind: 'registered', webhookId: 'wh_2', madeSecret: 'whsec_of_the_service' })
  const { answer } = (await inbox.subscription())!
  expect(JSON.parse(answer!)).toEqual({
    success: true,
    data: { webhook_id: 'wh_2', secret: '(not kept)', note: 'signed with (not kept)', api_key: '(not kept)', n: 5 },
  })
  expect(textOf(result)).not.toContain('whsec_of_the_service')
})

test('registered, but the inbox fails: it says so, and that it is to be confirmed', async () => {
  const { attempt, inbox } = await setUp()
  const failing: SubscriptionPort = { ...inbox, endSubscription: () => Promise.reject(new Error('no space')) }
  const result = await attempt({ inbox: failing })
  expect(kindOf(result)).toBe('unnoted')
  expect(textOf(result)).toMatch(
    /^registered: .*, as wh_1; but the inbox could not note it \(no space\)\nonce .*--confirm/,
  )
  expect(await inbox.subscription()).toMatchObject({ state: 'begun' })
})
