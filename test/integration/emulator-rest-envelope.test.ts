import { afterAll, beforeAll, expect, test } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { operations, undocumentedGroups } from '../../schema/rest/operations.ts'
import { busiestWallet, createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 2 })
})
afterAll(() => stage[Symbol.asyncDispose]())

/** A path that reaches the operation, though what it names may not be there. */
function targetOf({ path, query }: (typeof operations)[number]): string {
  const filled = path.replace('{address}', unseen.evm).replaceAll(/\{\w+\}/g, 'none')
  const parameters = 'q' in query.shape ? 'q=a' : 'network' in query.shape ? 'network=ethereum' : ''
  return `/v1${filled}?${parameters}`
}

/** One request for each way to fail, and each success. */
const samples = (): readonly (readonly [string, number, Parameters<RestStage['request']>[1]])[] => {
  const { path } = busiestWallet(stage)
  return [
    ['/v1/networks', 200, {}],
    [`${path}?network=ethereum`, 200, {}],
    [`${path}/portfolio?network=ethereum`, 200, {}],
    [`${path}/pnl?network=ethereum`, 200, {}],
    [`${path}/trades?network=ethereum`, 200, {}],
    ['/v1/tokens/search?q=a', 200, {}],
    ['/v1/alerts', 200, {}],
    ['/v1/webhooks', 201, { body: { url: 'https://example.com/hook', events: ['*'] } }],
    [`${path}?network=tron`, 400, {}],
    ['/v1/networks', 401, { key: 'sk_wrong' }],
    [`${path}?network=ethereum`, 403, { key: stage.newKey(['write:alerts']) }],
    ['/v1/nothing', 404, {}],
    ['/v1/networks', 405, { method: 'DELETE' }],
    ['/v1/alerts', 413, { body: { label: 'x'.repeat(70_000) } }],
    ['/v1/alerts', 415, { body: {}, headers: { 'Content-Type': 'text/plain' } }],
    ['/v1/trending', 501, {}],
  ]
}

test('R1 every answer, errors included, is application/json in the envelope', async () => {
  for (const [path, status, options] of samples()) {
    const answer = await stage.request(path, options)
    expect(answer.status, path).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.body).toMatchObject({ success: status < 400, meta: { timestamp: expect.any(String) } })
  }
})

test('R8 R9 R10 R106 success comes with data and without error, failure with error and without data', async () => {
  for (const [path, status, options] of samples()) {
    const { body } = await stage.request(path, options)
    const isSuccess = status < 400
    expect(body.success).toBe(isSuccess)
    expect(Object.keys(body).toSorted()).toEqual(isSuccess ? ['data', 'meta', 'success'] : ['error', 'meta', 'success'])
    expect(typeof (isSuccess ? body.data : body.error)).toBe('object')
  }
})

test('A53 an error has a code, a message and the id of the request that X-Request-Id has too', async () => {
  const ids = new Set<string>()
  for (const [path, status, options] of samples()) {
    const { body, headers } = await stage.request(path, options)
    const id = headers.get('x-request-id') ?? ''
    expect(id).toMatch(/^req_[0-9a-f]{16}$/)
    ids.add(id)
    if (status >= 400) expect(body.error).toMatchObject({ request_id: id, message: expect.stringMatching(/.{10}/) })
  }
  expect(ids.size).toBe(samples().length)
})

test('R2 R124 every operation and every group of the spec is routed under /v1, and nowhere else', async () => {
  for (const operation of operations) {
    const method = operation.method.toUpperCase()
    const body = operation.body === null ? {} : { body: {} }
    const { status, body: answer } = await stage.request(targetOf(operation), { method, ...body })
    expect(answer.error?.message ?? '', operation.id).not.toContain('there is nothing at this path')
    expect([200, 400, 404], operation.id).toContain(status)
    for (const wrong of [targetOf(operation).slice(3), `/v2${targetOf(operation).slice(3)}`]) {
      const refused = await stage.request(wrong, { method, ...body })
      expect(refused.status).toBe(404)
      expect(refused.body.error.message).toContain('every path begins with /v1/')
    }
  }
})

test.each(undocumentedGroups)('A2 every path under %s answers 501, with a key only', async (group) => {
  for (const path of [`/v1/${group}`, `/v1/${group}/${unseen.evm}/x?network=base`]) {
    const { status, body } = await stage.request(path)
    expect(status).toBe(501)
    expect(body.error.code).toBe('not_documented')
    expect((await stage.request(path, { key: null })).status).toBe(401)
  }
  expect((await stage.request(`/v1/${group}x`)).status).toBe(404)
})

test('R11 A4 meta.timestamp is the time of the world, in UTC with milliseconds', async () => {
  const before = await stage.get('/v1/networks')
  expect(before.meta.timestamp).toBe(new Date(stage.clock.now()).toISOString())
  await stage.clock.advance(1_234)
  const failed = await stage.request('/v1/nothing')
  expect(Date.parse(failed.body.meta.timestamp) - Date.parse(before.meta.timestamp)).toBe(1_234)
})

test('R12 meta.network is on overview and pnl, and absent from pages, alerts, webhooks, networks and errors', async () => {
  for (const [path, status, options] of samples()) {
    const { body } = await stage.request(path, options)
    const has = status === 200 && /\/wallets\/\w+(\/pnl)?\?/.test(path)
    expect(body.meta.network, path).toBe(has ? 'ethereum' : undefined)
  }
})

test('R13 A1 meta.latency_ms is a whole number of milliseconds from 0 on, on every answer', async () => {
  for (const [path, , options] of samples()) {
    const { body } = await stage.request(path, options)
    expect(Number.isInteger(body.meta.latency_ms) && body.meta.latency_ms >= 0, path).toBe(true)
  }
})

test('R14 pages add next_cursor, limit and total to meta', async () => {
  for (const path of [
    '/v1/alerts',
    '/v1/webhooks',
    '/v1/tokens/search?q=a',
    `${busiestWallet(stage).path}/trades?network=ethereum`,
  ]) {
    const { meta, data } = await stage.get(path)
    expect(meta).toMatchObject({ limit: 20, total: expect.any(Number) })
    expect(meta.next_cursor === null || typeof meta.next_cursor === 'string').toBe(true)
    expect(Array.isArray(data)).toBe(true)
  }
})

test('A1 latency_ms can be left out of pages', async () => {
  await using bare = await createRestStage({ settings: { latencyOnLists: false } })
  expect(Object.keys((await bare.get('/v1/alerts')).meta)).toEqual(['timestamp', 'next_cursor', 'limit', 'total'])
  expect((await bare.get('/v1/networks')).meta).toHaveProperty('latency_ms')
})

test('R7 wallet endpoints change nothing, and under a stopped clock tell the same again', async () => {
  const { path } = busiestWallet(stage)
  await stage.get('/v1/networks')
  const digest = stage.world.digest()
  for (const part of ['', '/portfolio', '/pnl', '/trades']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE'].slice(0, -1)) {
      const answer = await stage.request(`${path}${part}?network=ethereum`, { method })
      expect(answer.status, method).toBe(405)
      expect(answer.headers.get('allow')).toBe('GET')
    }
    const first = await stage.get(`${path}${part}?network=ethereum`)
    const again = await stage.get(`${path}${part}?network=ethereum`)
    expect(again.data).toEqual(first.data)
  }
  expect(stage.world.digest()).toBe(digest)
})

test('R4 exactly the seven networks are taken, any other value is refused with their names', async () => {
  for (const network of networkIds) {
    const address = network === 'solana' ? unseen.solana : unseen.evm
    expect((await stage.request(`/v1/wallets/${address}?network=${network}`)).status).toBe(404)
  }
  for (const network of ['tron', 'Ethereum', 'eth', '', '1', 'constructor', '__proto__', 'solana%00']) {
    const { status, body } = await stage.request(`/v1/wallets/${unseen.evm}?network=${network}`)
    expect(status).toBe(400)
    expect(body.error).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(networkIds.join(', ')),
      details: [{ path: 'network', message: expect.any(String) }],
    })
  }
  const { body } = await stage.request(`/v1/wallets/${unseen.evm}`)
  expect(body.error.message).toContain('it is missing')
})

test('A63 no answer has a header for other origins', async () => {
  for (const method of ['GET', 'OPTIONS']) {
    const { headers } = await stage.request('/v1/networks', { method, headers: { Origin: 'https://example.com' } })
    expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  }
})

test('R125 unknown parameters, headers and members change nothing', async () => {
  const plain = await stage.get('/v1/networks')
  const other = await stage.request('/v1/networks?limit=x&new=1', { headers: { 'X-New': '1' } })
  expect(other.body.data).toEqual(plain.data)
  const body = { url: 'https://example.com/hook', events: ['*'], secret: 'a secret of 16 or more', new: [1] }
  expect((await stage.request('/v1/webhooks', { body })).status).toBe(201)
})

test('R126 A62 the end of v1 can be announced on every answer, while it goes on as before', async () => {
  await using deprecated = await createRestStage({ settings: { v1DeprecatedOn: '2026-02-01' } })
  for (const path of ['/v1/networks', '/v1/nothing']) {
    const { headers } = await deprecated.request(path)
    expect(headers.get('deprecation')).toBe(`@${Date.UTC(2026, 1, 1) / 1_000}`)
    expect(headers.get('sunset')).toBe('Fri, 31 Jul 2026 00:00:00 GMT')
  }
  expect((await deprecated.get('/v1/networks')).data).toHaveLength(7)
  expect((await stage.request('/v1/networks')).headers.has('deprecation')).toBe(false)
})
