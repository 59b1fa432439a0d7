import { expect, test } from 'vitest'
import { createWorld } from '../../src/emulator/world/world.ts'
import { startSignedIn, type DashboardStage } from './emulator-dashboard-stage.ts'

const startWithHistory = () => startSignedIn({ world: { seed: 'test', history: '6h' } })

async function get(stage: DashboardStage, path: string) {
  const { status, json, text } = await stage.browser.ask('GET', path)
  expect([path, status, text]).toEqual([path, 200, text])
  return json.data
}

test('a token is shown as REST gives it, with its prices up to the present one', async () => {
  await using stage = await startWithHistory()
  const tokens = (await get(stage, '/world/tokens?limit=1000')) as { network: string; address: string; seq: number }[]
  const now = Date.parse((await get(stage, '/clock')).now)
  // The oldest, the newest, and one in between.
  for (const { network, address } of [tokens[0], tokens[40], tokens.at(-1)].filter((one) => one !== undefined)) {
    const place = `network=${network}&address=${address}`
    const { token, prices } = (await get(stage, `/world/token?${place}`)) as {
      token: Record<string, unknown>
      prices: { at: string; price_usd: number }[]
    }
    expect(token).toEqual((await stage.rest(`/tokens/${address}?network=${network}`)).json.data)
    expect(prices.at(-1)).toEqual({ at: new Date(now).toISOString(), price_usd: token['price_usd'] })
    const times = prices.map(({ at }) => Date.parse(at))
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b))
    expect(Math.min(...times)).toBeGreaterThanOrEqual(
      Math.max(now - 86_400_000, Date.parse(String(token['created_at']))),
    )
    expect(prices.length).toBeGreaterThan(0)
    expect(prices.length).toBeLessThanOrEqual(300)
    expect(prices.every(({ price_usd }) => price_usd > 0)).toBe(true)
  }
})

test('the prices of a token are those that it had at the time', () => {
  const startAt = Date.UTC(2026, 0, 1)
  const hour = 3_600_000
  const world = createWorld({ seed: 'test', startAt, activity: 0.1 })
  const first = world.views.tokens().find(({ network }) => network === 'ethereum')
  if (first === undefined) throw new Error('expected a token')
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

test('a wallet is shown with overview, all four windows of PnL, positions and newest trades, as REST gives them', async () => {
  await using stage = await startWithHistory()
  const wallets = (await get(stage, '/world/wallets?limit=1000')) as {
    network: string
    address: string
    tradeCount: number
    tracked: boolean
  }[]
  const busiest = wallets.toSorted((a, b) => b.tradeCount - a.tradeCount)[0]
  const tracked = wallets.find((one) => one.tracked && one.tradeCount > 0)
  for (const wallet of [busiest, tracked].filter((one) => one !== undefined)) {
    const { network, address, tradeCount } = wallet
    const shown = await get(stage, `/world/wallet?network=${network}&address=${address}`)
    const rest = async (path: string) => (await stage.rest(`/wallets/${address}${path}network=${network}`)).json.data
    expect(shown.overview).toEqual(await rest('?'))
    for (const timeframe of ['24h', '7d', '30d', 'all'])
      expect(shown.pnl[timeframe]).toEqual(await rest(`/pnl?timeframe=${timeframe}&`))
    expect(Object.keys(shown.pnl)).toHaveLength(4)
    expect(shown.positions).toEqual(await rest('/portfolio?limit=100&'))
    expect(shown.trades).toEqual(await rest('/trades?limit=50&'))
    expect([shown.trades.length, shown.tracked]).toEqual([Math.min(50, tradeCount), wallet.tracked])
  }
})
