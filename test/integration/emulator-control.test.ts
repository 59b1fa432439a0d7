import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ask, controlToken, startStage, type Answer } from './emulator-stage.ts'

/** As `fetch` cannot: with any Host header. */
function askAs(url: string, headers: Record<string, string | string[]>): Promise<Pick<Answer, 'status' | 'json'>> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, setHost: false }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) }))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

describe('who may control the emulator', () => {
  const authorization = `Bearer ${controlToken}`

  test.each([
    ['no token', undefined],
    ['another token', 'Bearer another-token-of-the-test'],
    ['the token with something behind it', `${authorization}x`],
    ['an API key', 'Bearer sk_api-key-of-the-test-0001'],
    ['another scheme', `Basic ${controlToken}`],
  ])('%s gets 401 in the envelope', async (_name, given) => {
    await using stage = await startStage()
    const { status, json, headers } = await ask(`${stage.emulator.url}/_emulator/clock`, {
      headers: given === undefined ? {} : { authorization: given },
    })
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(json).toEqual({
      success: false,
      error: { code: 'unauthorized', message: expect.stringContaining('with the control token') },
      meta: { timestamp: expect.any(String), latency_ms: expect.any(Number) },
    })
  })

  test.each(['evil.example', '127.0.0.1.evil.example', 'localhost:80@evil.example', '[::2]', ''])(
    'the Host header %j gets 403, whatever the token',
    async (host) => {
      await using stage = await startStage()
      const answer = await askAs(`${stage.emulator.url}/_emulator/clock`, { authorization, host })
      expect([answer.status, answer.json.error.code]).toEqual([403, 'forbidden'])
    },
  )

  test.each(['localhost', 'LOCALHOST:8090', '127.0.0.1:1', '[::1]:8090'])(
    'the Host header %j is taken',
    async (host) => {
      await using stage = await startStage()
      expect(await askAs(`${stage.emulator.url}/_emulator/clock`, { authorization, host })).toMatchObject({
        status: 200,
      })
    },
  )

  test('A63 no origin is let in by CORS, and the key of REST is not that of control', async () => {
    await using stage = await startStage()
    const { headers } = await stage.control('GET', '/clock', undefined, { Origin: 'https://evil.example' })
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    expect((await stage.rest('/networks', { headers: { Authorization: authorization } })).status).toBe(401)
  })
})

test('bad requests get an answer in the envelope that says what was expected', async () => {
  await using stage = await startStage()
  const cases: [string, string, unknown, number, RegExp][] = [
    ['GET', '/nothing', undefined, 404, /nothing at this path/],
    ['PUT', '/clock', undefined, 405, /GET, POST only/],
    ['POST', '/clock', undefined, 415, /Content-Type/],
    ['POST', '/clock/advance', { ms: -1 }, 400, /ms: expected a whole number from 0 to 31622400000; got -1/],
    ['POST', '/world/rug', { network: 'base', token: 'x', percent: 50 }, 400, /token: expected 0x and 40 hex digits/],
    ['POST', '/world/rug', { network: 'base', token: `0x${'1'.repeat(40)}`, percent: 50 }, 409, /./],
    ['POST', '/restore', { name: 'none' }, 404, /expected one of origin/],
    ['POST', '/snapshot', { name: '../x' }, 400, /name: expected 1 to 64 letters/],
    ['DELETE', '/snapshot/none', undefined, 404, /expected one of origin/],
    ['DELETE', '/snapshot/origin', undefined, 409, /is the initial state and can't be deleted/],
    ['GET', '/world?digest=2', undefined, 400, /digest: expected 1; got "2"/],
    ['POST', '/snapshot', { name: 'origin' }, 409, /reserved for the initial state/],
    ['POST', '/keys', { account: 'none', name: 'k', scopes: 'all' }, 404, /there is no account none/],
    ['DELETE', '/keys/key_none', undefined, 404, /there is no key key_none/],
    ['GET', '/clock?x=1', undefined, 400, /takes no parameter x/],
  ]
  for (const [method, path, body, status, message] of cases) {
    const answer = await stage.control(method, path, body)
    expect([path, answer.status]).toEqual([path, status])
    expect(answer.json).toMatchObject({ success: false, error: { message: expect.stringMatching(message) } })
  }
})

test('the clock is shown, set, and advanced when it is manual', async () => {
  await using stage = await startStage()
  const now = '2026-01-01T00:00:00.000Z'
  expect((await stage.control('GET', '/clock')).json.data).toEqual({ mode: 'manual', speed: 0, now })
  const advanced = await stage.control('POST', '/clock/advance', { ms: 90_000 })
  expect(advanced.json.data.now).toBe('2026-01-01T00:01:30.000Z')
  expect((await stage.rest('/networks')).json.meta.timestamp).toBe('2026-01-01T00:01:30.000Z')
  const scaled = await stage.control('POST', '/clock', { mode: 'scaled', speed: 3600 })
  expect(scaled.json.data).toMatchObject({ mode: 'scaled', speed: 3600 })
  const refused = await stage.control('POST', '/clock/advance', { ms: 1 })
  expect(refused).toMatchObject({
    status: 409,
    json: { error: { message: expect.stringContaining('advance needs a manual clock') } },
  })
})

test('a token is listed, bought, moved, handed over, made a honeypot and drained, and the events tell of it', async () => {
  await using stage = await startStage()
  const act = async (kind: string, body: object) => {
    const answer = await stage.control('POST', `/world/${kind}`, body)
    expect([kind, answer.status, answer.text]).toEqual([kind, 200, answer.text])
    return answer.json.data
  }
  const network = 'base'
  const { token } = await act('list', { network, symbol: 'OURS', name: 'Our Coin', liquidityUsd: 50_000 })
  const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  await act('track', { network, wallet })
  await act('thresholds', { largeTradeUsd: 1000 })
  await act('trade', { network, wallet: wallet.toLowerCase(), side: 'buy', token, usd: 2000 })
  await act('price-move', { network, token, percent: 20 })
  await act('transfer-owner', { network, token, to: wallet })
  await act('honeypot', { network, token, honeypot: 'sell_blocked' })
  await act('rug', { network, token, percent: 80 })
  await stage.control('POST', '/clock/advance', { ms: 10_000 })

  const { data } = (await stage.control('GET', '/events')).json as {
    data: { event: { type: string; data: Record<string, unknown> } }[]
  }
  const ours = data.filter(({ event }) => Object.values(event.data).includes(token)).map(({ event }) => event.type)
  expect(new Set(ours)).toEqual(
    new Set([
      'token.new_listing',
      'wallet.new_position',
      'wallet.large_trade',
      'contract.ownership_changed',
      'contract.honeypot_detected',
      'contract.liquidity_removed',
      'token.risk_change',
    ]),
  )
  const { json } = await stage.rest(`/wallets/${wallet}/trades?network=${network}`)
  expect(json.data).toMatchObject([{ type: 'buy', token_out: { symbol: 'OURS' } }])
  const world = (await stage.control('GET', '/world')).json.data
  expect(world.trackedWallets).toContainEqual({ network, address: wallet })
  expect(world.newestTokens).toContainEqual(expect.objectContaining({ symbol: 'OURS', address: token }))
})

test('R68 what may be a secret is not repeated in the refusal of a request', async () => {
  await using stage = await startStage()
  const wrong = 'short-secret'
  const key = await stage.control('POST', '/keys', { account: 'desk', name: 'k', scopes: 'all', key: wrong })
  expect([key.status, key.json.error.details[0].path]).toEqual([400, 'key'])
  expect(key.text).toContain('got 12 characters')
  expect(key.text).not.toContain(wrong)
})

test('states are saved over, deleted, and at most 100 beside the first', async () => {
  await using stage = await startStage()
  const save = async (name: string) => (await stage.control('POST', '/snapshot', { name })).status
  for (let n = 1; n <= 100; n++) expect(await save(`s${n}`)).toBe(201)
  expect([await save('one-more'), await save('s7')]).toEqual([409, 201])
  const deleted = await stage.control('DELETE', '/snapshot/s1')
  expect([deleted.status, deleted.json.data]).toEqual([200, { name: 's1', deleted: true }])
  expect((await stage.control('POST', '/restore', { name: 's1' })).status).toBe(404)
  expect(await save('one-more')).toBe(201)
  expect((await stage.control('GET', '/snapshot')).json.data).toHaveLength(101)
})
