import { expect, test } from 'vitest'
import { scopeNames as scopes } from '../../schema/rest/scopes.ts'
import { planLimits, type Plan } from '../../src/emulator/accounts/port.ts'
import { headerOf, rawRequest } from '../support/raw-http.ts'
import { createRestStage, unseen, type Answer, type RequestOptions } from './emulator-rest-stage.ts'

const wallet = `/v1/wallets/${unseen.evm}`
const alert = {
  type: 'price_above',
  address: unseen.evm,
  network: 'ethereum',
  threshold: 1,
  webhook_url: 'https://example.com/alert',
}

const rateOf = ({ headers }: Answer) => ({
  limit: Number(headers.get('x-ratelimit-limit')),
  remaining: Number(headers.get('x-ratelimit-remaining')),
  reset: Number(headers.get('x-ratelimit-reset')),
})

test.each([
  ['/v1/networks'],
  [`${wallet}?network=ethereum`],
  [`/v1/tokens/${unseen.evm}?network=ethereum`],
  ['/v1/tokens/search?q=a'],
  ['/v1/alerts'],
  ['/v1/webhooks'],
])('R66 A28 %s needs a key: without a valid one the answer is 401', async (path) => {
  await using stage = await createRestStage()
  const revoked = stage.accounts.addKey(stage.accountId, { name: 'old', scopes })
  stage.accounts.revokeKey(revoked.keyId)
  const key = stage.newKey()
  const presented: readonly (readonly [string, RequestOptions])[] = [
    ['none came', { key: null }],
    ['not of this form', { key: null, headers: { Authorization: `Basic ${key}` } }],
    ['not of this form', { key: null, headers: { Authorization: key } }],
    ['not of this form', { key: null, headers: { Authorization: 'Bearer' } }],
    ['not of this form', { key: `${key} ${key}` }],
    ['unknown or revoked', { key: `${key}x` }],
    ['unknown or revoked', { key: key.slice(0, -1) }],
    ['unknown or revoked', { key: revoked.value }],
  ]
  for (const [problem, options] of presented) {
    const { status, headers, body, text } = await stage.request(path, options)
    expect(status).toBe(401)
    expect(body.error.code).toBe('invalid_api_key')
    expect(body.error.message).toContain(problem)
    expect(headers.get('www-authenticate')).toMatch(/^Bearer/)
    expect(text).not.toContain(key)
  }
  await stage.wall.advance(60_000)
  for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
    const { status } = await stage.request(path, { key: null, headers: { Authorization: `${scheme} ${key}` } })
    expect([200, 404]).toContain(status)
  }
})

test('A28 a request with two keys is refused, whichever of them is valid', async () => {
  await using stage = await createRestStage()
  const valid = `Bearer ${stage.newKey()}`
  for (const Authorization of [
    [valid, 'Bearer sk_other'],
    ['Bearer sk_other', valid],
    [valid, valid],
  ]) {
    const answer = await rawRequest(stage.port, { method: 'GET', target: '/v1/networks', headers: { Authorization } })
    expect(answer.status).toBe(401)
  }
})

test('R69 A29 each operation is open to keys of its scope, and refused to others by its name', async () => {
  await using stage = await createRestStage()
  const operations: readonly (readonly [string, string, RequestOptions])[] = [
    ['read:wallets', `${wallet}?network=ethereum`, {}],
    ['read:wallets', `${wallet}/portfolio?network=ethereum`, {}],
    ['read:wallets', `${wallet}/pnl?network=ethereum`, {}],
    ['read:wallets', `${wallet}/trades?network=ethereum`, {}],
    ['write:alerts', '/v1/alerts', { body: alert }],
    ['write:alerts', '/v1/alerts', {}],
    ['write:alerts', '/v1/alerts/none', { method: 'DELETE' }],
    ['read:tokens', `/v1/tokens/${unseen.evm}?network=ethereum`, {}],
    ['read:tokens', '/v1/tokens/search?q=a', {}],
    ['write:webhooks', '/v1/webhooks', { body: { url: 'https://example.com/', events: ['*'] } }],
    ['write:webhooks', '/v1/webhooks', {}],
  ]
  for (const scope of scopes) {
    const key = stage.newKey([scope])
    for (const [needed, path, options] of operations) {
      const { status, body } = await stage.request(path, { ...options, key })
      if (needed === scope) expect([200, 201, 404], path).toContain(status)
      else
        expect([status, body.error.code, body.error.message.includes(needed)]).toEqual([
          403,
          'insufficient_scope',
          true,
        ])
    }
    expect((await stage.request('/v1/networks', { key })).status).toBe(200)
  }
  expect(stage.accounts.alerts(stage.accountId)).toHaveLength(1)
})

/** A key of the plan gets so many answers in a minute, and one more is 429. */
async function expectLimit(plan: Plan, limit: number): Promise<void> {
  await using stage = await createRestStage({ plan })
  expect(planLimits[plan]).toBe(limit)
  for (let count = 1; count <= limit; count++) {
    const answer = await stage.request('/v1/networks')
    expect([answer.status, rateOf(answer).limit, rateOf(answer).remaining]).toEqual([200, limit, limit - count])
  }
  const refused = await stage.request('/v1/networks')
  expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited'])
  await stage.wall.advance(60_000)
  expect((await stage.request('/v1/networks')).status).toBe(200)
}
test('R110 the plan free allows 10 requests a minute', () => expectLimit('free', 10))
test('R111 the plan standard allows 60 requests a minute', () => expectLimit('standard', 60))
test('R112 the plan pro allows 300 requests a minute', () => expectLimit('pro', 300))
test('R113 the plan elite allows 1,000 requests a minute', () => expectLimit('elite', 1_000))

test('R107 A56 an answer 429 says in Retry-After how many seconds to wait', async () => {
  await using stage = await createRestStage({ plan: 'free' })
  for (let count = 0; count < 10; count++) await stage.request('/v1/networks')
  await stage.wall.advance(12_345)
  const refused = await stage.request('/v1/networks')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '48'])
  await stage.wall.advance(47_654)
  expect((await stage.request('/v1/networks')).headers.get('retry-after')).toBe('1')
  await stage.wall.advance(1)
  expect((await stage.request('/v1/networks')).status).toBe(200)
})

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

test('R117 R118 R119 A55 every answer has the three headers, and every one but 429 counts', async () => {
  await using stage = await createRestStage({ plan: 'free' })
  const requests: readonly (readonly [number, string, RequestOptions])[] = [
    [200, '/v1/networks', {}],
    [201, '/v1/webhooks', { body: { url: 'https://example.com/', events: ['*'] } }],
    [400, wallet, {}],
    [403, '/v1/tokens/search?q=a', {}],
    [404, '/v1/nothing', {}],
    [404, '/', {}],
    [405, '/v1/networks', { method: 'PUT' }],
    [413, '/v1/webhooks', { body: 'x'.repeat(70_000) }],
    [415, '/v1/webhooks', { body: {}, headers: { 'Content-Type': 'text/plain' } }],
    [501, '/v1/trending', {}],
    [429, '/v1/networks', {}],
    [429, '/v1/nothing', {}],
  ]
  const key = stage.newKey(['read:wallets', 'write:webhooks'])
  const resetAt = Math.ceil((stage.wall.now() + 60_000) / 1_000)
  for (const [index, [status, path, options]] of requests.entries()) {
    const answer = await stage.request(path, { ...options, key })
    expect([answer.status, rateOf(answer)], path).toEqual([
      status,
      { limit: 10, remaining: Math.max(0, 9 - index), reset: resetAt },
    ])
  }
  await stage.wall.advance(resetAt * 1_000 - stage.wall.now())
  expect(rateOf(await stage.request('/v1/networks', { key })).remaining).toBe(9)
})

test('R117 an answer 500 has the three headers too, and tells nothing of what went wrong', async () => {
  await using stage = await createRestStage({
    alter: (world) => ({
      ...world,
      views: {
        ...world.views,
        findWallet: () => {
          throw new Error('the inside of the service')
        },
      },
    }),
  })
  const answer = await stage.request(`${wallet}?network=ethereum`)
  expect([answer.status, answer.body.error.code]).toEqual([500, 'internal'])
  expect(rateOf(answer).limit).toBeGreaterThan(0)
  expect(answer.text).not.toContain('the inside')
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

test('A54 the plan unlimited never refuses, and its headers say a large number', async () => {
  await using stage = await createRestStage({ plan: 'unlimited' })
  for (let count = 0; count < 1_100; count++) await stage.request('/v1/nothing')
  const answer = await stage.request('/v1/networks')
  expect([answer.status, rateOf(answer)]).toMatchObject([200, { limit: 1_000_000_000, remaining: 999_998_899 }])
})

test('R123 polling the list of networks uses up requests', async () => {
  await using stage = await createRestStage({ plan: 'free' })
  await stage.request('/v1/networks')
  expect(rateOf(await stage.request('/v1/networks')).remaining).toBe(8)
})

test('R68 the value of a key is in no answer and in no entry of the journal', async () => {
  await using stage = await createRestStage()
  const key = stage.newKey()
  const texts = []
  for (const path of ['/v1/networks', `/v1/networks?api_key=${key}`, '/v1/alerts', '/v1/webhooks']) {
    texts.push((await stage.request(path, { key })).text)
  }
  expect(stage.exchanges).toHaveLength(4)
  expect(JSON.stringify([texts, stage.exchanges])).not.toContain(key)
  expect(stage.exchanges[0]).toMatchObject({ method: 'GET', path: '/v1/networks', query: '', status: 200 })
  expect(stage.exchanges[0]?.keyId).toMatch(/^key_/)
})

test('R117 an answer to HEAD has the three headers and no body', async () => {
  await using stage = await createRestStage()
  const answer = await rawRequest(stage.port, { method: 'HEAD', target: '/v1/networks' })
  expect([answer.status, headerOf(answer, 'x-ratelimit-limit'), answer.body.length]).toEqual([405, '10', 0])
})
