import { describe, expect, it } from 'vitest'
import type { NetworkId } from '../../schema/index.ts'
import { timeframes, type Timeframe } from '../../schema/rest/parameters.ts'
import { networkFacts } from '../../src/emulator/world/networks.ts'
import type { Position, WalletOverview, Ref } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import { booksOf } from '../support/world-books.ts'
import { liveDay } from '../support/world-day.ts'
import { ledgerProblems, problems } from '../support/world-ledger.ts'
import {
  activeWallets,
  dayMs,
  minuteMs,
  openWorld,
  readAll,
  readLedger,
  startAt,
  type WorldLedger,
} from '../support/world.ts'

/** Figures of a wallet's views that contradict each other now. */
function disagreements(world: World, wallet: Ref): readonly string[] {
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
  return problems(symbol, [
    [isNear(value_usd, worth, Math.max(0.01, worth * 1e-9)), `value ${value_usd} is not balance · price ${worth}`],
    [isNear(unrealised_pnl_usd, value_usd - cost_basis_usd, 0.006), `unrealised ${unrealised_pnl_usd}`],
    [isNear(unrealised_pnl_pct, pct, 1e-3 + Math.abs(pct) * 1e-4), `percent ${unrealised_pnl_pct} is not ${pct}`],
    [balance > 0 && cost_basis_usd >= 0, `balance ${balance}, cost ${cost_basis_usd}`],
  ])
}

function ofSums(world: World, wallet: Ref, overview: WalletOverview, positions: readonly Position[]): string[] {
  const value = sumOf(positions.map(({ value_usd }) => value_usd))
  const allocation = sumOf(positions.map(({ allocation_pct }) => allocation_pct))
  const { items, total } = world.views.trades(
    wallet,
    { limit: 1, after: null, asOf: { at: world.now(), seq: world.seq() } },
    null,
  )
  return problems(wallet.address, [
    [isNear(overview.portfolio_value_usd, value, 0.006), `worth ${overview.portfolio_value_usd}, positions ${value}`],
    [overview.total_tokens_held === positions.length, `${overview.total_tokens_held} tokens held`],
    [value === 0 || isNear(allocation, 100, 0.05), `allocations sum up to ${allocation}`],
    [overview.total_trades_all_time === total, `${overview.total_trades_all_time} trades, the list has ${total}`],
    [overview.last_active === items[0]?.timestamp, `last active ${overview.last_active}`],
    [overview.first_active <= overview.last_active, `first active ${overview.first_active}`],
    [Date.parse(overview.last_active) <= world.now(), 'active in the future'],
  ])
}

function ofPnl(world: World, wallet: Ref, overview: WalletOverview, positions: readonly Position[]): string[] {
  const unrealised = sumOf(positions.map(({ unrealised_pnl_usd }) => unrealised_pnl_usd))
  const month = world.views.pnl(wallet, '30d').pnl
  const ofTimeframes = timeframes.flatMap((timeframe) => {
    const { pnl, ...rest } = world.views.pnl(wallet, timeframe)
    return problems(`${wallet.address} ${timeframe}`, [
      [isNear(pnl.total_usd, pnl.realized_usd + pnl.unrealized_usd, 0.006), `total ${pnl.total_usd}`],
      [isNear(pnl.unrealized_usd, unrealised, 0.006), `unrealized ${pnl.unrealized_usd}, positions ${unrealised}`],
      [rest.timeframe === timeframe && rest.wallet === wallet.address, 'another wallet or timeframe'],
    ])
  })
  return [
    ...ofTimeframes,
    ...problems(wallet.address, [
      [overview.pnl_30d_usd === month.total_usd, `pnl ${overview.pnl_30d_usd}, 30d ${month.total_usd}`],
      [overview.roi_30d_pct === month.roi_pct, `roi ${overview.roi_30d_pct}, 30d ${month.roi_pct}`],
    ]),
  ]
}

function isNear(value: number, expected: number, by: number): boolean {
  return Math.abs(value - expected) <= by
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** Present value of a dollar that was held in a network's coin since a moment. */
function revaluation({ state }: WorldLedger, network: NetworkId): (at: number) => number {
  const { price, prices } = state.coins[networkFacts[network].coin]
  return (at) => Number(price) / Number(prices[Math.floor((at - startAt) / minuteMs)])
}

/** Realized gains, and returns on the cost of all positions, that differ from books kept of the wallet's trades. */
function differences(world: World, ledger: WorldLedger, ref: Ref): readonly string[] {
  const { closings, open, tolerance } = booksOf(world, ref)
  const revalue = revaluation(ledger, ref.network)
  const since = { all: 0, '7d': 0, '24h': world.now() - dayMs }
  const ofTimeframes = Object.entries(since).flatMap(([timeframe, sinceMs]) => {
    const reported = world.views.pnl(ref, timeframe as Timeframe).pnl.realized_usd
    const realized = sumOf(closings.filter(({ at }) => at >= sinceMs).map(({ gain, at }) => gain * revalue(at)))
    return problems(`${ref.address} ${timeframe}`, [
      [isNear(reported, realized, tolerance), `books ${realized}, reported ${reported}`],
    ])
  })
  const base = sumOf([...closings, ...open.values()].map(({ cost }) => cost))
  const { total_usd, roi_pct } = world.views.pnl(ref, 'all').pnl
  const roi = base === 0 ? 0 : (total_usd / base) * 100
  const roiTolerance = 0.001 + Math.abs(roi) * ((2 * tolerance) / Math.max(base, 1))
  return [
    ...ofTimeframes,
    ...problems(ref.address, [[isNear(roi_pct, roi, roiTolerance), `roi ${roi_pct}, not ${roi}`]]),
  ]
}

/** Tokens whose holders are not the wallets with a position in them. */
function wrongHolders(world: World): readonly string[] {
  const { views } = world
  const holders = new Map<string, number>()
  for (const { network, address } of views.wallets()) {
    const wallet = views.findWallet(network, address)
    for (const { token_address } of wallet === null ? [] : readAll(world, (page) => views.portfolio(wallet, page))) {
      const place = `${network}:${token_address}`
      holders.set(place, (holders.get(place) ?? 0) + 1)
    }
  }
  return views.tokens().flatMap((ref) => {
    const { symbol, holder_count } = views.token(ref)
    const held = holders.get(`${ref.network}:${ref.address}`) ?? 0
    return held === holder_count ? [] : [`${symbol}: ${held} of ${holder_count} holders`]
  })
}

describe.each(worldSeeds(worldCounts.dayLongWorlds))(
  'the views after a day (seed %s)',
  { timeout: 120_000 },
  (seed) => {
    it('R17 R19 R21 R24 R52 agree on every wallet and token', () => {
      const { world } = liveDay(seed)
      const wallets = activeWallets(world)
      expect(wallets.length).toBeGreaterThan(100)
      expect(wallets.flatMap((wallet) => disagreements(world, wallet)).slice(0, 10)).toEqual([])
      expect(wrongHolders(world)).toEqual([])
      expect(ledgerProblems(world)).toEqual([])
    })

    it('R22 R25 R26 A12 A13 show the realized gain and roi that books of the trades give, at the present coin price', () => {
      const { world } = liveDay(seed)
      // Some trades are older than 24 hours then.
      world.advanceTo(startAt + 1.2 * dayMs)
      const ledger = readLedger(world)
      expect(
        activeWallets(world)
          .flatMap((ref) => differences(world, ledger, ref))
          .slice(0, 5),
      ).toEqual([])
    })
  },
)

it('R18 A5 a wallet is a whale from 1,000,000 USD or 1 % of a supply on, or from the limits of the settings', () => {
  const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const isWhale = (usd: number, options: { whaleUsd?: number; whaleSupplyPct?: number }) => {
    const world = openWorld('settings', { activity: 0, ...options })
    const [token] = world.views.tokens()
    const { network, address } = token!
    world.commands.apply({ kind: 'trade', network, wallet, side: 'buy', token: address, usd })
    return world.views.overview(world.views.findWallet(network, wallet)!).is_whale
  }
  expect(isWhale(200, {})).toBe(false)
  expect(isWhale(200, { whaleUsd: 190 })).toBe(true)
  expect(isWhale(200, { whaleSupplyPct: 0.001 })).toBe(true)
  expect(isWhale(200_000, {})).toBe(true)
  expect(isWhale(200_000, { whaleSupplyPct: 100 })).toBe(false)
})
