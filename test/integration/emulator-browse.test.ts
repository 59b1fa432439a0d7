import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createWorld } from '../../src/emulator/world/world.ts'
import { startStage, testSeed, type Stage } from './emulator-stage.ts'

// Simulating hours of history takes long on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

let stage: Stage
beforeAll(async () => {
  stage = await startStage({ seed: testSeed({ world: { seed: 'test', history: '6h' } }) })
})
afterAll(() => stage[Symbol.asyncDispose]())

/** Read as what the test expects. */
// eslint-disable-next-line typescript/no-explicit-any
type Item = Record<string, any>

async function get<T = Item[]>(path: string): Promise<T> {
  const { status, json, text } = await stage.control('GET', path)
  expect([path, status, text]).toEqual([path, 200, text])
  return json.data
}
const rest = async (path: string) => (await stage.rest(path)).json.data

/** All items of a list, page by page. */
async function listAll(path: string, limit: number) {
  const all: Item[] = []
  for (;;) {
    const page = await get(`${path}&limit=${limit}&after=${Number(all.at(-1)?.['seq'] ?? 0)}`)
    all.push(...page)
    if (page.length < limit) return all
  }
}

test('lists tokens in pages, of all networks or of one, as REST shows them', async () => {
  const whole = await get('/world/tokens?limit=1000')
  expect(whole.length).toBeGreaterThan(10)
  expect(await listAll('/world/tokens?', 7)).toEqual(whole)
  const ofBase = await get('/world/tokens?limit=1000&network=base')
  expect(ofBase).toEqual(whole.filter(({ network }) => network === 'base'))
  const [{ seq: _seq, ...first } = {}] = ofBase
  expect(await rest(`/tokens/${first['address']}?network=base`)).toMatchObject(first)
})

test('lists wallets by network, archetype and tracking, with their number of trades', async () => {
  const whole = await get('/world/wallets?limit=1000')
  expect(await listAll('/world/wallets?', 50)).toEqual(whole)
  const whales = await get('/world/wallets?archetype=whale&network=ethereum')
  expect(whales.length).toBeGreaterThan(0)
  expect(whales).toEqual(whole.filter((one) => one['archetype'] === 'whale' && one['network'] === 'ethereum'))
  const tracked = await get('/world/wallets?tracked=true&limit=1000')
  const { trackedWallets } = await get<Item>('/world')
  expect(tracked.map(({ network, address }) => ({ network, address }))).toEqual(trackedWallets)
  expect(await get('/world/wallets?tracked=false&limit=1000')).toHaveLength(whole.length - tracked.length)
})

test('lists events oldest or newest first, of all types or of one', async () => {
  const whole = await get('/events?limit=1000')
  expect(whole.length).toBeGreaterThan(100)
  expect(await get('/events?order=newest&limit=1000')).toEqual(whole.toReversed())
  const last = whole.length
  const before = await get(`/events?order=newest&limit=2&after=${last}`)
  expect(before.map(({ seq }) => seq)).toEqual([last - 1, last - 2])
  const ofType = whole.filter(({ event }) => event.type === 'wallet.large_trade')
  expect(ofType.length).toBeGreaterThan(1)
  expect(await get('/events?type=wallet.large_trade&limit=1000')).toEqual(ofType)
  expect(await get('/events?type=wallet.large_trade&order=newest&limit=1')).toEqual(ofType.slice(-1))
})

test('shows a token as REST does, with its prices up to the present one', async () => {
  const tokens = await get('/world/tokens?limit=1000')
  const now = Date.parse((await get<Item>('/clock'))['now'])
  for (const { network, address } of [tokens[0]!, tokens.at(-1)!]) {
    const { token, prices } = await get<Item>(`/world/token?network=${network}&address=${address}`)
    expect(token).toEqual(await rest(`/tokens/${address}?network=${network}`))
    expect(prices.at(-1)).toEqual({ at: new Date(now).toISOString(), price_usd: token['price_usd'] })
    const times: number[] = prices.map(({ at }: { at: string }) => Date.parse(at))
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b))
    expect(times[0]).toBeGreaterThanOrEqual(Math.max(now - 86_400_000, Date.parse(token['created_at'])))
    expect(prices.length).toBeLessThanOrEqual(300)
  }
})

test('shows a wallet with overview, PnL of all timeframes, positions and newest trades, as REST does', async () => {
  const wallets = await get('/world/wallets?limit=1000')
  const busiest = wallets.toSorted((a, b) => b['tradeCount'] - a['tradeCount'])[0]!
  const followed = wallets.find((one) => one['tracked'] && one['tradeCount'] > 0)!
  for (const { network, address, tradeCount, tracked } of [busiest, followed]) {
    const shown = await get<Item>(`/world/wallet?network=${network}&address=${address}`)
    const ofRest = (path: string) => rest(`/wallets/${address}${path}network=${network}`)
    expect(shown['overview']).toEqual(await ofRest('?'))
    expect(Object.keys(shown['pnl'])).toEqual(['24h', '7d', '30d', 'all'])
    for (const [timeframe, pnl] of Object.entries(shown['pnl']))
      expect(pnl).toEqual(await ofRest(`/pnl?timeframe=${timeframe}&`))
    expect(shown['positions']).toEqual(await ofRest('/portfolio?limit=100&'))
    expect(shown['trades']).toEqual(await ofRest('/trades?limit=50&'))
    expect([shown['trades'].length, shown['tracked']]).toEqual([Math.min(50, tradeCount), tracked])
    expect(shown['overview'].total_trades_all_time).toBe(tradeCount)
  }
})

// Last: it blocks the process, and the server would close idle connections that other tests use.
test('the price history of a token has the prices of each moment', () => {
  const startAt = Date.UTC(2026, 0, 1)
  const hour = 3_600_000
  const world = createWorld({ seed: 'test', startAt })
  const first = world.views.tokens().find(({ network }) => network === 'ethereum')!
  const seen = new Map<number, number>()
  // At the ends of blocks: a trade counts from the beginning of its block on.
  const firstAt = startAt + 12_000 - 1
  for (let at = firstAt; at <= firstAt + 30 * hour; at += hour / 4) {
    world.advanceTo(at)
    seen.set(at, world.views.token(first).price_usd)
  }
  const prices = world.views.prices(first, 24 * 4 + 1)
  expect(prices.map(({ at }) => at)).toEqual([...seen.keys()].filter((at) => at >= firstAt + 6 * hour))
  expect(prices).toEqual(prices.map(({ at }) => ({ at, price_usd: seen.get(at) })))
  expect(new Set(prices.map(({ price_usd }) => price_usd)).size).toBeGreaterThan(50)
  expect(world.views.prices(first, 1)).toEqual(prices.slice(-1))
})
