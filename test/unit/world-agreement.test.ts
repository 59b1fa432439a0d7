import { describe, expect, it } from 'vitest'
import type { Position, WalletOverview, WalletRef, World } from '../../src/emulator/world/port.ts'
import { timeframes } from '../../schema/rest/parameters.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import { activeWallets, dayMs, openWorld, readAll, startAt } from '../support/world.ts'

const { agreementMoments, agreementWorlds } = worldCounts

/** What disagrees in what is told of a wallet at this moment. */
function disagreements(world: World, wallet: WalletRef): readonly string[] {
  const { views } = world
  const overview = views.overview(wallet)
  const positions = readAll(world, (page) => views.portfolio(wallet, page))
  return [
    ...positions.flatMap(ofPosition),
    ...ofSums(world, wallet, overview, positions),
    ...ofPnl(world, wallet, overview, positions),
  ]
}

function ofPosition(position: Position): string[] {
  const { symbol, balance, price_usd, value_usd, cost_basis_usd, unrealised_pnl_usd, unrealised_pnl_pct } = position
  const worth = balance * price_usd
  const pct = cost_basis_usd === 0 ? 0 : (unrealised_pnl_usd / cost_basis_usd) * 100
  return failed(symbol, [
    [isNear(value_usd, worth, Math.max(0.01, worth * 1e-9)), `value ${value_usd} is not balance · price ${worth}`],
    [isNear(unrealised_pnl_usd, value_usd - cost_basis_usd, 0.006), `unrealised ${unrealised_pnl_usd}`],
    [isNear(unrealised_pnl_pct, pct, 1e-3 + Math.abs(pct) * 1e-4), `percent ${unrealised_pnl_pct} is not ${pct}`],
    [balance > 0 && cost_basis_usd >= 0, `balance ${balance}, cost ${cost_basis_usd}`],
  ])
}

function ofSums(world: World, wallet: WalletRef, overview: WalletOverview, positions: readonly Position[]): string[] {
  const value = sumOf(positions.map(({ value_usd }) => value_usd))
  const allocation = sumOf(positions.map(({ allocation_pct }) => allocation_pct))
  const { items, total } = world.views.trades(
    wallet,
    { limit: 1, after: null, asOf: { at: world.now(), seq: world.seq() } },
    null,
  )
  return failed(wallet.address, [
    [isNear(overview.portfolio_value_usd, value, 0.006), `worth ${overview.portfolio_value_usd}, positions ${value}`],
    [overview.total_tokens_held === positions.length, `${overview.total_tokens_held} tokens held`],
    [value === 0 || isNear(allocation, 100, 0.05), `allocations sum up to ${allocation}`],
    [overview.total_trades_all_time === total, `${overview.total_trades_all_time} trades, the list has ${total}`],
    [overview.last_active === items[0]?.timestamp, `last active ${overview.last_active}`],
    [overview.first_active <= overview.last_active, `first active ${overview.first_active}`],
    [Date.parse(overview.last_active) <= world.now(), 'active in the future'],
  ])
}

function ofPnl(world: World, wallet: WalletRef, overview: WalletOverview, positions: readonly Position[]): string[] {
  const unrealised = sumOf(positions.map(({ unrealised_pnl_usd }) => unrealised_pnl_usd))
  const month = world.views.pnl(wallet, '30d').pnl
  const ofTimeframes = timeframes.flatMap((timeframe) => {
    const { pnl, ...rest } = world.views.pnl(wallet, timeframe)
    return failed(`${wallet.address} ${timeframe}`, [
      [isNear(pnl.total_usd, pnl.realized_usd + pnl.unrealized_usd, 0.006), `total ${pnl.total_usd}`],
      [isNear(pnl.unrealized_usd, unrealised, 0.006), `unrealized ${pnl.unrealized_usd}, positions ${unrealised}`],
      [rest.timeframe === timeframe && rest.wallet === wallet.address, 'it tells of something else'],
    ])
  })
  return [
    ...ofTimeframes,
    ...failed(wallet.address, [
      [overview.pnl_30d_usd === month.total_usd, `pnl ${overview.pnl_30d_usd}, 30d ${month.total_usd}`],
      [overview.roi_30d_pct === month.roi_pct, `roi ${overview.roi_30d_pct}, 30d ${month.roi_pct}`],
    ]),
  ]
}

function failed(of: string, checks: readonly (readonly [boolean, string])[]): string[] {
  return checks.flatMap(([isGood, problem]) => (isGood ? [] : [`${of}: ${problem}`]))
}

function isNear(value: number, expected: number, by: number): boolean {
  return Math.abs(value - expected) <= by
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

describe('overview, portfolio, PnL and trades of every wallet', () => {
  it.each(worldSeeds(agreementWorlds))(
    `R17 R19 R21 R24 agree with each other at ${agreementMoments} moments (seed %s)`,
    { timeout: 120_000 },
    (seed) => {
      const world = openWorld(seed)
      for (let moment = 1; moment <= agreementMoments; moment++) {
        world.advanceTo(startAt + Math.round((moment * 1.5 * dayMs) / agreementMoments) + moment * 977)
        const wallets = activeWallets(world)
        expect(wallets.length).toBeGreaterThan(100)
        const wrong = wallets.flatMap((wallet) => disagreements(world, wallet))
        expect(wrong.slice(0, 10)).toEqual([])
      }
    },
  )

  it('R18 A5 call a wallet a whale from 1,000,000 USD or 1 % of a supply on, or from what the settings say', () => {
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    const isWhale = (usd: number, options: { whaleUsd?: number; whaleSupplyPct?: number }) => {
      const world = openWorld('settings', { activity: 0, ...options })
      const [token] = world.views.tokens()
      const { network, address } = token!
      world.acts.apply({ kind: 'trade', network, wallet, side: 'buy', token: address, usd })
      return world.views.overview(world.views.findWallet(network, wallet)!).is_whale
    }
    expect(isWhale(200, {})).toBe(false)
    expect(isWhale(200, { whaleUsd: 190 })).toBe(true)
    expect(isWhale(200, { whaleSupplyPct: 0.001 })).toBe(true)
    expect(isWhale(200_000, {})).toBe(true)
    expect(isWhale(200_000, { whaleSupplyPct: 100 })).toBe(false)
  })
})
