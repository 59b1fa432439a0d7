import { expect, onTestFinished, test } from 'vitest'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import { faultRuleSchema, type FaultRuleInput } from '../../src/emulator/faults/rules.ts'
import { busiestWallet, createRestStage, type RestStage, type StageOptions } from './emulator-rest-stage.ts'

/** The REST service with faults. */
async function startFaulty(options: StageOptions = {}) {
  const faults = createFaults({ seed: 'rest' })
  const rest = await createRestStage({ ...options, faults })
  onTestFinished(() => rest[Symbol.asyncDispose]())
  return { rest, faults, exchanges: rest.exchanges, ask: rest.request }
}

const rule = (fault: FaultRuleInput['fault'], more: object = {}) =>
  faultRuleSchema.parse({ direction: 'in', fault, ...more } as FaultRuleInput)

const alertOf = (stage: RestStage) => {
  const { address, network } = busiestWallet(stage)
  return { type: 'whale_buy', address, network, threshold: 1, webhook_url: 'https://example.com/a' }
}

test.each([
  [{ kind: 'too-many-requests', retryAfterS: 7 }, 429, 'rate_limited', '7'],
  [{ kind: 'error-500' }, 500, 'internal', undefined],
  [{ kind: 'error-503', retryAfterS: 9 }, 503, 'network_unavailable', '9'],
] as const)(
  'R106, R107, R117 %j responds in the envelope with the quota, and does nothing',
  async (fault, status, code, after) => {
    const { rest, faults, ask, exchanges } = await startFaulty({ hours: 1, plan: 'pro' })
    faults.add(rule(fault))
    const answer = await ask('/v1/alerts', { body: alertOf(rest) })
    expect(answer.status).toBe(status)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-ratelimit-limit': '300',
      'x-ratelimit-remaining': '299',
      'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
      'x-request-id': expect.stringMatching(/^req_/),
    })
    expect(answer.headers.get('retry-after') ?? undefined).toBe(after)
    const { success, error, meta, ...more } = answer.body
    expect([success, error.code, more]).toEqual([false, code, {}])
    expect(meta).toEqual({ timestamp: expect.any(String), latency_ms: expect.any(Number) })
    expect(rest.accounts.alerts(rest.accountId)).toEqual([])
    expect(exchanges).toMatchObject([{ status, faults: [fault.kind], path: '/v1/alerts' }])
  },
)

test('2.8 R12 latency delays the response on the wall clock, as latency_ms shows', async () => {
  const { rest, faults, ask } = await startFaulty()
  faults.add(rule({ kind: 'latency', ms: 1_500 }))
  let isDone = false
  const asked = ask('/v1/networks')
  void asked.then(() => (isDone = true))
  const startedAt = rest.wall.now()
  while (rest.wall.nextTimerAt() === null) await new Promise((resolve) => setImmediate(resolve))
  expect(rest.wall.nextTimerAt()).toBe(startedAt + 1_500)
  await rest.wall.advance(1_499)
  expect(isDone).toBe(false)
  await rest.wall.advance(1)
  expect((await asked).body).toMatchObject({ success: true, meta: { latency_ms: 1_500 } })
})

test('R66, R110 faults apply to requests under /v1 with a valid key within its limit', async () => {
  const { rest, faults, ask, exchanges } = await startFaulty({ plan: 'free' })
  faults.add(rule({ kind: 'error-500' }))
  const statusOf = async (path: string, key?: string) => (await ask(path, key === undefined ? {} : { key })).status
  expect(await statusOf('/v1/networks', 'sk_unknown')).toBe(401)
  expect(await statusOf('/elsewhere')).toBe(404)
  expect(await statusOf('/v1/nothing')).toBe(500)
  const key = rest.newKey()
  for (let asked = 0; asked < 10; asked++) expect(await statusOf('/v1/networks', key)).toBe(500)
  const rejected = await ask('/v1/networks', { key })
  expect(rejected.status).toBe(429)
  expect(rejected.body.error.message).toContain('within a minute')
  expect(exchanges.map((one) => one.faults?.join() ?? null).filter((names) => names === null)).toHaveLength(3)
  expect(faults.rules()[0]?.struck).toBe(11)
})
