import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../schema/rest/operations.ts'
import { routes } from '../../schema/rest/routes.ts'
import { ApiError, createClient, type ApiClient } from '../../src/client/index.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/log.ts'
import { apiKey } from './emulator-stage.ts'
import { all, busiest, failureOf, openWallet, startClientStage, type ClientStage } from './client-stage.ts'

const json = { 'Content-Type': 'application/json' }
let stage: ClientStage
let api: ApiClient
let wallet: ReturnType<typeof busiest>
beforeAll(async () => {
  stage = await startClientStage()
  api = stage.api
  wallet = busiest(stage)
})
afterEach(() => stage.asked())
afterAll(() => stage[Symbol.asyncDispose]())

test('R49, R50 each route has the kind of data that its operation returns', () => {
  const kinds = operations.map(({ id, data, meta }) => {
    return [id, data.type === 'array' ? (meta === 'page' ? 'page' : 'list') : 'object']
  })
  expect(Object.entries(routes).map(([id, { data }]) => [id, data])).toEqual(kinds)
})

test('R16, R51, R54, R64, R65 reads wallets and tokens', async () => {
  const { address, network } = wallet
  const overview = await api.getWallet({ address, network })
  expect(overview).toMatchObject({ status: 200, data: { address, network }, meta: { network } })
  expect(overview.requestId).toMatch(/^req_/)
  const pnl = await api.getWalletPnl({ address, network, timeframe: '7d' })
  expect(pnl.data).toMatchObject({ wallet: address, timeframe: '7d', pnl: { total_usd: expect.any(Number) } })
  const [first] = (await api.searchTokens({ q: 'a', network: 'ethereum', limit: 1 }).page()).data
  const { address: token = '', symbol } = first ?? {}
  expect((await api.getToken({ address: token, network: 'ethereum' })).data).toMatchObject({ address: token, symbol })
})

test('R20, R52, R53, R55, R56 reads lists of a wallet by page and by item', async () => {
  const { address, network } = openWallet(stage, 3)
  const portfolio = api.getWalletPortfolio({ address, network, limit: 2 })
  const first = await portfolio.page()
  expect(first.meta).toMatchObject({ limit: 2, total: 3 })
  const items = await all(portfolio)
  expect(items.slice(0, 2)).toEqual(first.data)
  expect(new Set(items.map(({ token_address }) => token_address)).size).toBe(3)
  expect(items[0]).toHaveProperty('unrealised_pnl_usd')
  const trades = await all(api.listWalletTrades({ address, network, limit: 100 }))
  expect(trades).toHaveLength(3)
  const some = await all(api.listWalletTrades({ address, network, token: trades[0]!.token_out.address }))
  expect(some.map(({ tx_hash }) => tx_hash)).toEqual([trades[0]!.tx_hash])
})

test('R57, R58, R31, R36, R37, R41 creates, reads and deletes alerts; a new one is active, and repeats the request', async () => {
  const alert = {
    ...wallet,
    type: 'whale_buy',
    threshold: 1.5,
    webhook_url: 'https://example.com/a',
    label: 'ü',
  } as const
  const made = await api.createAlert(alert)
  expect(made).toMatchObject({
    status: 201,
    data: { ...alert, status: 'active', alert_id: expect.stringMatching(/^alrt_/) },
  })
  const { alert_id } = made.data
  expect(await all(api.listAlerts())).toContainEqual(made.data)
  expect((await api.getAlert({ alert_id })).data).toEqual(made.data)
  expect((await api.deleteAlert({ alert_id })).data).toEqual({ alert_id, deleted: true })
  expect(await failureOf(api.getAlert({ alert_id }))).toMatchObject({ status: 404, code: 'not_found' })
})

test('R2 get requests undocumented paths, with or without the prefix', async () => {
  for (const path of ['/trending', '/v1/trending']) {
    expect(await failureOf(api.get(path))).toMatchObject({ status: 501, code: 'not_documented', isRetryable: false })
  }
  expect(stage.asked()).toEqual(['GET /v1/trending', 'GET /v1/trending'])
  expect((await api.get('/tokens/search', { q: 'a', limit: 1 })).data).toHaveLength(1)
})

test('R123 R59 R4 the list of networks is cached for five minutes; a failure is not cached', async () => {
  const { clock } = stage
  const client = stage.client({ retries: 0 })
  const first = await client.listNetworks()
  first.data.length = 0
  const ids = ['ethereum', 'bnb', 'solana', 'polygon', 'base', 'avalanche', 'arbitrum']
  expect((await client.listNetworks()).data.map(({ id }) => id)).toEqual(ids)
  clock.advance(299_999)
  await client.listNetworks()
  expect(stage.asked()).toEqual(['GET /v1/networks'])
  clock.advance(1)
  await client.listNetworks()
  expect(stage.asked()).toHaveLength(1)
  await stage.fault({ kind: 'error-500' }, { times: 1 })
  expect(await failureOf(client.listNetworks({ fresh: true }))).toMatchObject({ status: 500 })
  await client.listNetworks({ fresh: true })
  expect(stage.asked()).toHaveLength(2)
  await stage.heal()
})

describe('responses', () => {
  test('R125, R15 keep unknown members, and may lack meta', async () => {
    await stage.fault({ kind: 'extra-members' })
    const { address, network } = wallet
    const { data, meta, body } = await api.getWallet({ address, network })
    await stage.heal()
    expect(data).toHaveProperty('added_later.version', 2)
    expect(meta).toHaveProperty('added_later')
    expect(body).toMatchObject({ success: true, data, meta })
    const bare = stage.client({ fetch: async () => Response.json({ success: true, data: { x: 1 } }) })
    expect(await bare.get('/x')).toMatchObject({ data: { x: 1 }, meta: {}, requestId: null })
  })

  test('R20 exact returns numbers with every digit', async () => {
    const text = '{"success":true,"data":[{"value_usd":18446744073709551615,"unrealised_pnl_usd":-0.10}],"meta":{}}'
    const exact = stage.client({ fetch: async () => new Response(text, { headers: json }) })
    const page = await exact.getWalletPortfolio({ address: wallet.address, network: 'ethereum' }).page()
    const paths = ['data.0.value_usd', 'data.0.unrealised_pnl_usd', 'data.1.value_usd']
    expect(paths.map((path) => page.exact(path))).toEqual(['18446744073709551615', '-0.10', undefined])
  })

  test('R106 a rejection is an ApiError with status, code, request id, body and the invalid members', async () => {
    const error = await failureOf(
      api.createAlert({ ...wallet, type: 'whale_buy', threshold: -1, webhook_url: 'ftp://x' }),
    )
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ name: 'ApiError', status: 400, code: 'invalid_request', isRetryable: false })
    expect(error.requestId).toMatch(/^req_/)
    expect(error.body).toMatchObject({ success: false, error: { code: 'invalid_request' } })
    expect(error.message).toMatch(/^POST \/alerts was answered 400 invalid_request: .*threshold: /)
    expect(error.message.split('threshold: ')).toHaveLength(2)
    expect(stage.asked()).toHaveLength(1)
  })
})

describe('the API key', () => {
  test('R66 is in no error, log line or inspected client; the error for a rejected key has advice', async () => {
    const lines: string[] = []
    const log = createLogger({ level: 'debug', pretty: false, output: { write: (line) => void lines.push(line) } })
    const key = 'sk_a-wrong-key-that-nobody-may-see'
    const wrong = stage.client({ apiKey: key, log })
    const error = await failureOf(wrong.getWallet(wallet))
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect(error.message).toContain('check the API key')
    const echo: typeof fetch = async (_url, init) =>
      Response.json({ error: { code: 'x', message: inspect(init) } }, { status: 500 })
    const others = [{ fetch: echo }, { baseUrl: 'http://127.0.0.1:1' }, { apiKey: () => `${key}\n` }].map((options) =>
      failureOf(stage.client({ apiKey: key, log, ...options }).getWallet(wallet)),
    )
    const all = [error, wrong, ...(await Promise.all(others))]
    const shown = all.map((value) => inspect(value, { depth: 9, showHidden: true }))
    expect(lines.length).toBeGreaterThan(3)
    expect([...shown, ...lines].filter((text) => text.includes(key.slice(3, 20)))).toEqual([])
  })

  test.each([
    ['with a status of success', 200, (key: string) => JSON.stringify(key)],
    ['with escaped slashes', 401, (key: string) => JSON.stringify(key).replaceAll('/', '\\/')],
    ['inside a text, with quotes', 403, (key: string) => JSON.stringify(`no: ${key}`)],
    ['without an envelope', 200, (key: string) => `0, "x": ${JSON.stringify(key)}`],
  ])('R66 is in no error if the response repeats it %s', async (_, status, write) => {
    const key = 'sk/of"nobody\\else'
    const text = (message: string) =>
      `{"success": ${message.startsWith('0') ? 'true' : 'false'}, "error": {"message": ${message}}}`
    const answer = async () => new Response(text(write(key)), { status, headers: json })
    const error = await failureOf(stage.client({ apiKey: key, fetch: answer }).getWallet(wallet))
    expect(error).toMatchObject({ status, body: { error: expect.anything() } })
    for (const shown of [error.message, JSON.stringify(error.body)]) expect(shown).not.toContain('nobody')
  })

  test('can be a function, which is called before each request', async () => {
    const keys = ['sk_gone', apiKey]
    const rotating = stage.client({ apiKey: async () => keys.shift() ?? '' })
    expect(await failureOf(rotating.getWallet(wallet))).toMatchObject({ status: 401 })
    expect((await rotating.getWallet(wallet)).status).toBe(200)
  })
})

test('R4 unknown networks, invalid arguments and invalid timeouts are rejected without a request', async () => {
  const { address } = wallet
  const wrong: Promise<unknown>[] = [
    api.getWallet({ address, network: 'dogecoin' }),
    api.getWallet({ address: '..', network: 'base' }),
    api.getWallet({ network: 'base' } as Parameters<ApiClient['getWallet']>[0]),
    api.getToken({ address: '\ud800', network: 'base' }),
    api.searchTokens({ q: {} as string }).page(),
    api.createAlert({ threshold: 1n } as unknown as Parameters<ApiClient['createAlert']>[0]),
    ...['trending', '/../admin', '/trending?x=1', '//elsewhere.example/v1'].map((path) => api.get(path)),
    ...[0, 1.5, NaN, 2 ** 31].map((timeoutMs) => api.getWallet(wallet, { timeoutMs })),
    api.listNetworks({}, { timeoutMs: 0 }),
    api.listWalletTrades(wallet, { timeoutMs: 0 }).page(),
  ]
  for (const error of await Promise.all(wrong.map(failureOf))) expect(error).toMatchObject({ code: 'usage' })
  expect(stage.asked()).toEqual([])
})

test.each([
  [{ baseUrl: 'http://api.example.com/v1' }, 'plain http'],
  [{ apiKey: undefined }, 'apiKey'],
  [{ timeoutMs: 0 }, 'timeoutMs'],
  [{ retries: 1.5 }, 'retries'],
])('R5 createClient rejects %j', (wrong, message) => {
  const options = { baseUrl: 'https://api.example.com/v1', apiKey }
  expect(() => createClient({ ...options, ...wrong })).toThrow(message)
  expect(createClient({ ...options, baseUrl: 'http://api.example.com', allowInsecure: true })).toBeDefined()
})

test("a call rejects when its signal or the client's signal aborts, or is already aborted", async () => {
  await stage.fault({ kind: 'latency', ms: 60_000 })
  const [ofCall, ofClient] = [new AbortController(), new AbortController()]
  const client = stage.client({ signal: ofClient.signal })
  const calls = [
    client.getWallet(wallet, { signal: ofCall.signal }),
    client.getWalletPnl(wallet),
    client.getWallet(wallet, { signal: AbortSignal.abort(new Error('never')) }),
  ].map(failureOf)
  await expect.poll(() => stage.asked().length).toBeGreaterThan(0)
  ofCall.abort(new Error('mine'))
  ofClient.abort(new Error('all'))
  expect((await Promise.all(calls)).map(({ message }) => message)).toEqual(['mine', 'all', 'never'])
  await stage.heal()
})

test('a call rejects at its timeout; the error has the limit, and says that a change may have been carried out', async () => {
  await stage.fault({ kind: 'latency', ms: 60_000 })
  const clock = createTestClock()
  const client = stage.client({ clock, timeoutMs: 5_000 })
  const calls = [client.getWallet(wallet), client.deleteAlert({ alert_id: 'alrt_x' }, { timeoutMs: 4_000 })].map(
    failureOf,
  )
  await clock.advance(5_000)
  const [read, deletion] = await Promise.all(calls)
  expect(read).toMatchObject({ code: 'timed_out', status: null, isRetryable: true })
  expect(read?.message).toMatch(/GET \/wallets\/.*longer than 5000 ms/)
  expect(deletion?.message).toMatch(/longer than 4000 ms.*the request may have been carried out/)
  await stage.heal()
})
