import { afterAll, beforeAll, expect, test } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { networkStatuses } from '../../schema/rest/network.ts'
import { busiestWallet, createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 6 })
})
afterAll(() => stage[Symbol.asyncDispose]())

const setStatus = (network: (typeof networkIds)[number], status: (typeof networkStatuses)[number]) =>
  stage.world.acts.apply({ kind: 'network-status', network, status })

test('R38 R40 R59 A6 the list of networks has the seven of them, each with exactly its six fields', async () => {
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
  expect(data).toEqual(
    facts.map(([id, chain_id, native_currency]) => ({
      id,
      name: expect.stringMatching(/^[A-Z]/),
      chain_id,
      native_currency,
      status: 'operational',
      features: ['tokens', 'wallets', 'contracts', 'liquidity'],
    })),
  )
  expect(Object.keys(meta)).toEqual(['timestamp', 'latency_ms'])
})

test('R38 R40 A2 the id of each network is accepted by the other requests, and every feature it names is routed', async () => {
  const { data } = await stage.get('/v1/networks')
  for (const { id, features } of data) {
    const wallet = busiestWallet(stage, id)
    const [token] = stage.world.views.tokens().filter(({ network }) => network === id)
    const paths: Readonly<Record<string, string>> = {
      wallets: `${wallet.path}?network=${id}`,
      tokens: `/v1/tokens/${token?.address}?network=${id}`,
    }
    for (const feature of features) {
      const { status } = await stage.request(paths[feature] ?? `/v1/${feature}/${token?.address}?network=${id}`)
      expect([feature, status]).toEqual([feature, feature in paths ? 200 : 501])
    }
  }
})

test('R39 R47 a network can be made operational, degraded or in maintenance', async () => {
  for (const status of [...networkStatuses, 'operational'] as const) {
    setStatus('polygon', status)
    const { data } = await stage.get('/v1/networks')
    expect(data.find(({ id }: { id: string }) => id === 'polygon').status).toBe(status)
    expect(
      data.filter(({ id }: { id: string }) => id !== 'polygon').map((one: { status: string }) => one.status),
    ).toEqual(Array<string>(6).fill('operational'))
  }
})

test('A18 a network in maintenance answers 503 with Retry-After, its reads and new alerts; the others go on', async () => {
  setStatus('base', 'maintenance')
  const { path } = busiestWallet(stage, 'base')
  const alert = {
    type: 'price_above',
    address: unseen.evm,
    network: 'base',
    threshold: 1,
    webhook_url: 'https://a.example',
  }
  for (const [target, options] of [
    [`${path}?network=base`, {}],
    [`${path}/trades?network=base`, {}],
    [`/v1/tokens/${unseen.evm}?network=base`, {}],
    ['/v1/tokens/search?q=a&network=base', {}],
    ['/v1/alerts', { body: alert }],
  ] as const) {
    const { status, headers, body } = await stage.request(target, options)
    expect([status, body.error.code, headers.get('retry-after')]).toEqual([503, 'network_unavailable', '60'])
  }
  expect(stage.accounts.alerts(stage.accountId)).toEqual([])
  expect((await stage.request(`${path}?network=base&network=base`)).status).toBe(400)
  expect((await stage.request(`/v1/wallets/x?network=base`)).status).toBe(400)
  expect((await stage.request(`${busiestWallet(stage, 'bnb').path}?network=bnb`)).status).toBe(200)
  setStatus('base', 'operational')
  expect((await stage.request(`${path}?network=base`)).status).toBe(200)
})

test('A18 a degraded network answers 300 to 2000 ms of real time later, and latency_ms shows it', async () => {
  setStatus('bnb', 'degraded')
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
  setStatus('bnb', 'operational')
})

test('R64 A7 a token has its fourteen fields, and its address is taken in any case', async () => {
  for (const id of networkIds) {
    const [ref] = stage.world.views.tokens().filter(({ network }) => network === id)
    const address = ref?.address ?? ''
    const { data, meta } = await stage.get(`/v1/tokens/${address}?network=${id}`)
    expect(data).toEqual({
      address,
      network: id,
      symbol: expect.any(String),
      name: expect.any(String),
      decimals: expect.any(Number),
      price_usd: expect.any(Number),
      change_pct_24h: expect.any(Number),
      volume_24h_usd: expect.any(Number),
      liquidity_usd: expect.any(Number),
      market_cap_usd: expect.any(Number),
      holder_count: expect.any(Number),
      risk_score: expect.any(Number),
      risk_level: expect.stringMatching(/^(low|medium|high|critical)$/),
      created_at: expect.stringMatching(/Z$/),
    })
    expect(Object.keys(meta)).toEqual(['timestamp', 'network', 'latency_ms'])
    if (id !== 'solana') {
      expect((await stage.get(`/v1/tokens/${address.toLowerCase()}?network=${id}`)).data.address).toBe(address)
    }
  }
})

test('R64 A11 a token needs its network; one that is unknown is 404, of another family 400', async () => {
  const ask = async (path: string) => {
    const { status, body } = await stage.request(path)
    return [status, body.error.code]
  }
  expect(await ask(`/v1/tokens/${unseen.evm}`)).toEqual([400, 'invalid_request'])
  expect(await ask(`/v1/tokens/${unseen.evm}?network=base`)).toEqual([404, 'not_found'])
  expect(await ask(`/v1/tokens/${unseen.solana}?network=base`)).toEqual([400, 'invalid_request'])
})

test('R65 search is never an address: without q it is 400, whatever network is given', async () => {
  const { status, body } = await stage.request('/v1/tokens/search?network=base')
  expect([status, body.error.details[0].path]).toEqual([400, 'q'])
  expect((await stage.get('/v1/tokens/search?q=a')).data).toBeInstanceOf(Array)
})

test('R65 A20 search finds parts of symbols and names in any case, and whole addresses, on one network or all', async () => {
  stage.world.acts.apply({ kind: 'list', network: 'base', symbol: 'ZZTOP', name: 'Sharp Dressed', liquidityUsd: 1e5 })
  const listed = stage.world.acts.apply({
    kind: 'list',
    network: 'bnb',
    symbol: 'XZZT',
    name: 'Other',
    liquidityUsd: 1e5,
  })
  const address = String(listed['token'])
  const symbols = async (query: string) => {
    const { data } = await stage.get(`/v1/tokens/search?${query}`)
    return data.map(({ symbol }: { symbol: string }) => symbol)
  }
  expect(await symbols('q=zZt')).toEqual(['ZZTOP', 'XZZT'])
  expect(await symbols('q=p+dress')).toEqual(['ZZTOP'])
  expect(await symbols('q=zzt&network=bnb')).toEqual(['XZZT'])
  expect(await symbols(`q=${address.toLowerCase()}`)).toEqual(['XZZT'])
  expect(await symbols(`q=${address.slice(0, -1)}`)).toEqual([])
  expect(await symbols(`q=${encodeURIComponent('no such token')}`)).toEqual([])
})
