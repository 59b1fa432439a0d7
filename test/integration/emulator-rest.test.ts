import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Trade } from '../../src/emulator/world/port.ts'
import { headerOf, jsonOf, RawConnection, rawRequest, requestBytes, type RawAnswer } from '../support/raw-http.ts'
import { busiestWallet, createRestStage, unseen, type Answer, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 6 })
})
afterAll(() => stage[Symbol.asyncDispose]())

const url = 'https://example.com/hook'
describe('rate limits', () => {
  const rateOf = ({ headers }: Answer) =>
    ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)))

  test.each([
    ['R110', 'free', 10],
    ['R111', 'standard', 60],
    ['R112', 'pro', 300],
    ['R113', 'elite', 1_000],
    ['A54', 'unlimited', 1_000_000_000],
  ] as const)('%s R123 the plan %s allows %i requests per minute', async (_id, plan, limit) => {
    await using own = await createRestStage({ plan })
    for (const remaining of [limit - 1, limit - 2]) {
      expect(rateOf(await own.request('/v1/networks'))).toMatchObject([limit, remaining, expect.any(Number)])
    }
  })

  test('A55 requests without a valid key share the Free limit of their address', async () => {
    await using own = await createRestStage({ plan: 'elite' })
    for (let count = 1; count <= 10; count++) {
      const answer = await own.request('/v1/networks', { key: count % 2 ? null : 'sk_unknown' })
      expect([answer.status, ...rateOf(answer)]).toMatchObject([401, 10, 10 - count, expect.any(Number)])
    }
    const limited = await own.request('/v1/networks', { key: null })
    expect([limited.status, limited.headers.has('retry-after')]).toEqual([429, true])
    expect((await own.request('/v1/networks')).status).toBe(200)
  })
})

describe('envelope and headers', () => {
  test.each(['/networks', '/v2/networks', '/V1/networks', '/v1networks', '/'])(
    'R2 R124 nothing is served at %s',
    async (path) => {
      const { status, body } = await stage.request(path)
      expect([status, body.error.message]).toEqual([404, expect.stringContaining('every path begins with /v1/')])
    },
  )

  test('R11 A4 meta.timestamp is the time of the world, in UTC with milliseconds', async () => {
    const { meta } = await stage.get('/v1/networks')
    expect(meta.timestamp).toBe(new Date(stage.clock.now()).toISOString())
    await stage.clock.advance(1_234)
    const failed = await stage.request('/v1/nothing')
    expect(Date.parse(failed.body.meta.timestamp) - Date.parse(meta.timestamp)).toBe(1_234)
  })

  test('A63 sends no CORS headers', async () => {
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await stage.request('/v1/networks', { method, headers: { Origin: 'https://example.com' } })
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  })

  test('R126 A62 a deprecated v1 is announced on every response and still served', async () => {
    await using deprecated = await createRestStage({ settings: { v1DeprecatedOn: '2026-02-01' } })
    for (const [path, status] of [
      ['/v1/networks', 200],
      ['/v1/nothing', 404],
    ] as const) {
      const answer = await deprecated.request(path)
      expect(answer.status).toBe(status)
      expect(answer.headers.get('deprecation')).toBe(`@${Date.UTC(2026, 1, 1) / 1_000}`)
      expect(answer.headers.get('sunset')).toBe('Fri, 31 Jul 2026 00:00:00 GMT')
    }
    expect((await stage.request('/v1/networks')).headers.has('deprecation')).toBe(false)
  })
})

describe('requests that are not plain JSON over HTTP', () => {
  const hook = `{"url":"${url}","events":["*"]}`
  const target = '/v1/webhooks'
  const json = { 'Content-Type': 'application/json' }
  let authorized: Readonly<Record<string, string>>
  beforeAll(() => {
    authorized = { Authorization: `Bearer ${stage.newKey()}` }
  })

  function expectFailure(answer: RawAnswer, status: number, code: string): void {
    expect(answer.status).toBe(status)
    for (const name of ['limit', 'remaining', 'reset']) expect(headerOf(answer, `x-ratelimit-${name}`)).toMatch(/^\d+$/)
    const error = { code, message: expect.any(String), request_id: headerOf(answer, 'x-request-id') }
    expect(jsonOf(answer)).toMatchObject({ success: false, error, meta: { latency_ms: expect.any(Number) } })
  }

  test('R50 every spelling of JSON in UTF-8 is accepted, but only one Content-Type', async () => {
    const post = (type: string | string[]) =>
      rawRequest(stage.port, { target, headers: { ...authorized, 'Content-Type': type }, body: Buffer.from(hook) })
    for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"']) {
      expect((await post(type)).status, type).toBe(201)
    }
    expectFailure(await post(['application/json', 'application/json']), 415, 'unsupported_media_type')
  })

  test('A3 a chunked body beyond the limit gets 413, and the connection stays usable', async () => {
    using connection = await RawConnection.open(stage.port)
    const chunks = `${`4000\r\n${' '.repeat(0x4000)}\r\n`.repeat(8)}0\r\n\r\n`
    const headers = { ...authorized, ...json, 'Transfer-Encoding': 'chunked' }
    connection.send(requestBytes({ target, headers, body: Buffer.from(chunks) }))
    expectFailure(await connection.answer(), 413, 'payload_too_large')
    const next = { method: 'GET', target: '/v1/networks', headers: authorized }
    expect((await connection.request(next)).status).toBe(200)
  })

  test('answers Expect: 100-continue unless the request is rejected first', async () => {
    using connection = await RawConnection.open(stage.port)
    const headers = { ...authorized, ...json, Expect: '100-continue', 'Content-Length': String(hook.length) }
    connection.send(requestBytes({ target, headers }))
    expect((await connection.answer()).status).toBe(100)
    connection.send(hook)
    expect((await connection.answer()).status).toBe(201)
    connection.send(requestBytes({ target: '/v1/nothing', headers }))
    const rejected = await connection.answer()
    expect([rejected.status, headerOf(rejected, 'connection')]).toEqual([404, 'close'])
  })

  test.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a header without a colon', 'GET /v1/networks HTTP/1.1\r\nHost: a\r\nbroken\r\n\r\n', 400],
    ['no Host header', 'GET /v1/networks HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two lengths', 'POST /v1/alerts HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
    ['too large headers', `GET /v1/networks HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ])('R1 R117 rejects %s in the envelope and closes the connection', async (_what, bytes, status) => {
    await stage.wall.advance(60_000)
    using connection = await RawConnection.open(stage.port)
    connection.send(bytes)
    expectFailure(await connection.answer(), status, 'invalid_request')
    expect(await connection.closed()).toBe('end')
  })

  test('error messages show a wrong value without control characters, and no secret', async () => {
    const { body } = await stage.request('/v1/alerts', { body: { type: `a\u001b[31m\u202e${'b'.repeat(200)}` } })
    expect(body.error.message).toContain('got "a')
    // oxlint-disable-next-line no-control-regex
    expect(body.error.message).not.toMatch(/[\u0000-\u001f\u202e]|b{100}/)
    const rejected = await stage.request(target, { body: { url, events: ['*'], secret: 's3cret'.repeat(60) } })
    expect(rejected.status).toBe(400)
    expect(JSON.stringify([rejected.body, stage.exchanges.at(-1)])).not.toContain('s3cret')
  })
})

describe('networks', () => {
  test('R38 R40 R59 A6 the list has exactly the seven networks with their six fields', async () => {
    const { data, meta } = await stage.get('/v1/networks')
    const facts = [
      ['ethereum', 1, 'ETH'],
      ['bnb', 56, 'BNB'],
      ['solana', null, 'SOL'],
      ['polygon', 137, 'POL'],
      ['base', 8453, 'ETH'],
      ['avalanche', 43_114, 'AVAX'],
      ['arbitrum', 42_161, 'ETH'],
    ] as const
    const features = ['tokens', 'wallets', 'contracts', 'liquidity']
    const name = expect.stringMatching(/^[A-Z]/)
    expect(data).toEqual(
      facts.map(([id, chain_id, native_currency]) => {
        return { id, name, chain_id, native_currency, status: 'operational', features }
      }),
    )
    expect(Object.keys(meta)).toEqual(['timestamp', 'latency_ms'])
  })

  test('A18 a degraded network answers 300 to 2000 ms of real time later, as latency_ms shows', async () => {
    stage.world.commands.apply({ kind: 'network-status', network: 'bnb', status: 'degraded' })
    const { path } = busiestWallet(stage, 'bnb')
    const latencies = []
    for (let count = 0; count < 8; count++) {
      const answer = stage.get(`${path}?network=bnb`)
      while (stage.wall.nextTimerAt() === null) await new Promise((resolve) => setImmediate(resolve))
      await stage.wall.advance((stage.wall.nextTimerAt() ?? 0) - stage.wall.now())
      latencies.push((await answer).meta.latency_ms as number)
    }
    expect(Math.min(...latencies)).toBeGreaterThanOrEqual(300)
    expect(Math.max(...latencies)).toBeLessThanOrEqual(2_000)
    expect(new Set(latencies).size).toBeGreaterThan(1)
    stage.world.commands.apply({ kind: 'network-status', network: 'bnb', status: 'operational' })
  })
})

describe('webhooks', () => {
  const secret = 'given-by-the-client-0123'
  const register = (body: object) => stage.request('/v1/webhooks', { body: { url, events: ['*'], ...body } })

  test('A8 a generated secret is in the response to the registration only', async () => {
    const { data } = (await register({})).body
    expect(data.secret).toMatch(/^whsec_.{16,}/)
    expect(stage.accounts.endpoint(data.webhook_id)?.secret).toBe(data.secret)
    const path = `/v1/webhooks/${data.webhook_id}`
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const { status, text } = await stage.request(path, { method, ...(method === 'PATCH' && { body: { url } }) })
      expect([status, text]).toEqual([200, expect.not.stringContaining('secret')])
    }
    expect((await stage.request('/v1/webhooks')).text).not.toContain('secret')
    expect(JSON.stringify(stage.exchanges)).not.toContain(data.secret)
  })

  test('A22 PATCH changes the given members only, and nothing if one is invalid', async () => {
    const { webhook_id } = (await register({ secret })).body.data
    const patch = (body: unknown) => stage.request(`/v1/webhooks/${webhook_id}`, { method: 'PATCH', body })
    const moved = 'https://example.com/other'
    expect((await patch({ url: moved })).body.data).toMatchObject({ webhook_id, url: moved, events: ['*'] })
    expect((await patch({ events: ['pump.graduation'] })).body.data.events).toEqual(['pump.graduation'])
    expect((await patch({ secret: 'another-secret-45678' })).status).toBe(200)
    for (const body of [{}, { unknown: 1 }, { url: 'x' }, { url, events: [] }, { secret: '' }, { url: null }]) {
      expect((await patch(body)).body.error?.code, JSON.stringify(body)).toBe('invalid_request')
    }
    expect(stage.accounts.endpoint(webhook_id)).toMatchObject({ url: moved, secret: 'another-secret-45678' })
  })

  test.each([
    ['POST', '/v1/webhooks', { url, events: ['*'], Secret: secret }, 'Secret'],
    ['POST', '/v1/webhooks', { url, events: ['*'], secret, SECRET: 'another' }, 'SECRET'],
    ['PATCH', '/v1/webhooks/wh_1', { url, Secret: secret }, 'Secret'],
    ['POST', '/v1/alerts', { Label: 'x' }, 'Label'],
  ])('%s %s rejects a member that differs from a known one in case only: %j', async (method, path, body, wrong) => {
    const { status, text, body: answer } = await stage.request(path, { method, body })
    const message = `expected the name ${wrong.toLowerCase()}: names are case-sensitive`
    expect([status, answer.error.details]).toEqual([400, expect.arrayContaining([{ path: wrong, message }])])
    expect(text).not.toContain(secret)
  })

  test('A22 webhooks and alerts of another account are not found', async () => {
    const { accountId } = stage.accounts.putAccount('other', 'unlimited')
    const key = stage.newKey(undefined, accountId)
    const { webhook_id } = (await register({})).body.data
    const alert = { type: 'whale_buy', network: 'base', address: unseen.evm, threshold: 1e9, webhook_url: url }
    const { alert_id } = (await stage.request('/v1/alerts', { body: alert })).body.data
    for (const path of [`/v1/webhooks/${webhook_id}`, `/v1/alerts/${alert_id}`]) {
      for (const method of ['GET', 'DELETE']) expect((await stage.request(path, { method, key })).status).toBe(404)
    }
    const list = await stage.request('/v1/alerts', { key })
    expect(list.body).toMatchObject({ data: [], meta: { total: 0 } })
  })
})

describe('pages', () => {
  test('A21 with tradesOrder shuffled a page has the same trades in another order', async () => {
    const { path, query } = busiestWallet(stage, 'solana')
    await using shuffled = await createRestStage({ hours: 6, settings: { tradesOrder: 'shuffled' } })
    const list = `${path}/trades?${query}&limit=100`
    const hashes = async (from: RestStage) =>
      (await from.get(list)).data.map(({ tx_hash }: Trade) => tx_hash) as readonly string[]
    const [inOrder, mixed] = [await hashes(stage), await hashes(shuffled)]
    expect(mixed).not.toEqual(inOrder)
    expect(mixed.toSorted()).toEqual(inOrder.toSorted())
    expect(await hashes(shuffled)).toEqual(mixed)
  })

  test('A57 an invalid limit is rejected, or clamped if it is a whole number and the setting says so', async () => {
    await using clamping = await createRestStage({ settings: { limit: 'clamp' } })
    for (const [limit, clamped] of [
      ['0', 1],
      ['-5', 1],
      ['101', 100],
      ['99999999999999999999', 100],
      ['1.5', null],
      ['ten', null],
      ['', null],
      ['1e1', null],
    ] as const) {
      const list = `/v1/tokens/search?q=a&limit=${limit}`
      const { status, body } = await stage.request(list)
      expect([status, body.error.details[0].path], limit).toEqual([400, 'limit'])
      expect(body.error.message).toContain('expected a whole number from 1 to 100')
      const other = await clamping.request(list)
      expect([other.status, other.body.meta.limit], limit).toEqual(clamped === null ? [400, undefined] : [200, clamped])
    }
  })

  test('A58 a cursor belongs to one path, filter and account; limit and case of the address may change', async () => {
    const { path, query } = busiestWallet(stage)
    const { data, meta } = await stage.get(`${path}/trades?${query}&limit=1`)
    const cursor = `&cursor=${meta.next_cursor}`
    const other = busiestWallet(stage, 'base')
    const statusOf = async (target: string, key?: string) =>
      (await stage.request(target + cursor, key === undefined ? {} : { key })).status
    expect(await statusOf(`${path.replace(/0x.*/, (one) => one.toLowerCase())}/trades?${query}&limit=50`)).toBe(200)
    const { accountId } = stage.accounts.putAccount('other', 'unlimited')
    expect(await statusOf(`${path}/trades?${query}`, stage.newKey(['read:wallets'], accountId))).toBe(400)
    for (const target of [
      `${path}/portfolio?${query}`,
      `${other.path}/trades?${other.query}`,
      `${path}/trades?${query}&token=${data[0].token_out.address}`,
    ]) {
      expect(await statusOf(target), target).toBe(400)
    }
  })
})
