import { expect, test } from 'vitest'
import { headerOf, rawRequest } from '../support/raw-http.ts'
import { createRestStage, type Answer } from './emulator-rest-stage.ts'

const rateOf = ({ headers }: Answer) => ({
  limit: Number(headers.get('x-ratelimit-limit')),
  remaining: Number(headers.get('x-ratelimit-remaining')),
  reset: Number(headers.get('x-ratelimit-reset')),
})

test.each([
  ['R110', 'free', 10],
  ['R111', 'standard', 60],
  ['R112', 'pro', 300],
  ['R113', 'elite', 1_000],
  ['A54', 'unlimited', 1_000_000_000],
] as const)(
  '%s R123 the plan %s allows %i requests a minute, and reading the networks counts',
  async (_id, plan, limit) => {
    await using stage = await createRestStage({ plan })
    for (const remaining of [limit - 1, limit - 2]) {
      expect(rateOf(await stage.request('/v1/networks'))).toMatchObject({ limit, remaining })
    }
  },
)

test('R70 exhausting one key leaves another of the same account untouched', async () => {
  await using stage = await createRestStage({ plan: 'free' })
  const [first, second] = [stage.newKey(), stage.newKey()]
  for (let count = 0; count < 11; count++) await stage.request('/v1/networks', { key: first })
  expect((await stage.request('/v1/networks', { key: first })).status).toBe(429)
  const other = await stage.request('/v1/networks', { key: second })
  expect([other.status, rateOf(other).remaining]).toEqual([200, 9])
})

test('A54 the window goes by the wall clock, however fast the world goes', async () => {
  await using stage = await createRestStage({ plan: 'free' })
  const first = await stage.request('/v1/networks')
  await stage.clock.advance(3_600_000)
  const second = await stage.request('/v1/networks')
  expect(rateOf(second)).toEqual({ ...rateOf(first), remaining: 8 })
})

test('A55 requests without a valid key share the quota of the plan free, by remote address', async () => {
  await using stage = await createRestStage({ plan: 'elite' })
  for (let count = 1; count <= 10; count++) {
    const answer = await stage.request('/v1/networks', { key: count % 2 ? null : 'sk_unknown' })
    expect([answer.status, rateOf(answer).limit, rateOf(answer).remaining]).toEqual([401, 10, 10 - count])
  }
  const refused = await stage.request('/v1/networks', { key: null })
  expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true])
  expect((await stage.request('/v1/networks')).status).toBe(200)
})

test('R117 an answer to HEAD has the three headers and no body', async () => {
  await using stage = await createRestStage()
  const answer = await rawRequest(stage.port, { method: 'HEAD', target: '/v1/networks' })
  expect([answer.status, headerOf(answer, 'x-ratelimit-limit'), answer.body.length]).toEqual([405, '10', 0])
})
