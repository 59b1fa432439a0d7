import { describe, expect, it } from 'vitest'
import type { NetworkId } from '../../schema/index.ts'
import { timeframes, type Timeframe } from '../../schema/rest/parameters.ts'
import { networkFacts } from '../../src/emulator/world/networks.ts'
import { WorldRefusal, type Position, type WalletOverview, type WalletRef } from '../../src/emulator/world/port.ts'
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
  return problems(symbol, [
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

function ofPnl(world: World, wallet: WalletRef, overview: WalletOverview, positions: readonly Position[]): string[] {
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

/** Realized gains that differ from books kept of the wallet's trades. */
function differences(world: World, ledger: WorldLedger, ref: WalletRef): readonly string[] {
  const { closings, tolerance } = booksOf(world, ref)
  const revalue = revaluation(ledger, ref.network)
  const since = { all: 0, '7d': 0, '24h': world.now() - dayMs }
  return Object.entries(since).flatMap(([timeframe, sinceMs]) => {
    const reported = world.views.pnl(ref, timeframe as Timeframe).pnl.realized_usd
    const realized = sumOf(closings.filter(({ at }) => at >= sinceMs).map(({ gain, at }) => gain * revalue(at)))
    const isNear = Math.abs(realized - reported) <= tolerance
    return isNear ? [] : [`${ref.network}:${ref.address} ${timeframe}: books ${realized}, reported ${reported}`]
  })
}

/** Amounts are shown with 15 digits; their sums are off by a little more. */
const tolerance = 1e-9

/** Sales of units that the portfolio did not show, and balances that the trades don't explain. */
function ofTrades(world: World, { state, log }: WorldLedger, wallet: WalletRef, positions: readonly Position[]) {
  const { views } = world
  const rows = log.ofWallet(wallet.index)
  const traded = new Map<string, number>()
  const book = (token: string, amount: number) => traded.set(token, (traded.get(token) ?? 0) + amount)
  const trades = readAll(world, (page) => views.trades(wallet, page, null)).toReversed()
  const sales = trades.flatMap(({ type, token_in: sold, token_out: bought, timestamp, tx_hash }, index) => {
    const before = traded.get(sold.address) ?? 0
    if (type !== 'buy') book(sold.address, -sold.amount)
    if (type !== 'sell') book(bought.address, bought.amount)
    if (type === 'buy' || sold.amount <= before * (1 + tolerance)) return []
    const asOf = { at: Date.parse(timestamp), seq: rows.at(index)!.seq - 1 }
    const { items } = views.portfolio(wallet, { limit: 100, after: null, asOf })
    const shown = items.find(({ token_address }) => token_address === sold.address)?.balance ?? 0
    return shown >= sold.amount ? [] : [`${tx_hash} sells ${sold.amount} ${sold.symbol} of ${shown}`]
  })
  const balances = positions.flatMap(({ token_address, symbol, balance }) => {
    const token = views.findToken(wallet.network, token_address)
    const gap = balance - (traded.get(token_address) ?? 0)
    // The allocation of the creator, and liquidity that it took out.
    const isCreator = token !== null && state.tokens[token.index]?.creator === wallet.index
    const isExplained = Math.abs(gap) <= balance * tolerance || (isCreator && gap > 0)
    return isExplained ? [] : [`${wallet.address} holds ${balance} ${symbol}, its trades give ${balance - gap}`]
  })
  return [...sales, ...balances]
}

/** Figures that trades, allocations and removed liquidity don't explain. */
function unexplained(world: World): readonly string[] {
  const { views } = world
  const ledger = readLedger(world)
  const holders = new Map<string, number[]>()
  const ofWallets = views.wallets().flatMap(({ network, address }) => {
    const wallet = views.findWallet(network, address)
    if (wallet === null) return []
    const positions = readAll(world, (page) => views.portfolio(wallet, page))
    for (const { token_address, balance } of positions) {
      const place = `${network}:${token_address}`
      holders.set(place, [...(holders.get(place) ?? []), balance])
    }
    return ofTrades(world, ledger, wallet, positions)
  })
  const ofTokens = views.tokens().flatMap((ref) => {
    // Half of the liquidity is tokens. What a bonding curve keeps is not shown.
    if (ledger.state.tokens[ref.index]?.pool === null) return []
    const { symbol, price_usd, liquidity_usd, market_cap_usd: supply, holder_count } = views.token(ref)
    const held = holders.get(`${ref.network}:${ref.address}`) ?? []
    const sum = held.reduce((whole, balance) => whole + balance * price_usd, liquidity_usd / 2)
    const isWhole = Math.abs(sum - supply) <= 0.02 + supply * tolerance && held.length === holder_count
    return isWhole ? [] : [`${symbol}: ${sum} of ${supply} USD, ${held.length} of ${holder_count} holders`]
  })
  const ofEvents = world.eventsAfter(0, Infinity).flatMap(({ event: { type, data } }) => {
    const named = Object.entries(data).filter(([name]) => /wallet_address|_owner$/.test(name))
    return named.flatMap(([name, address]) => {
      const wallet = views.findWallet((data as { network: NetworkId }).network, String(address))
      if (wallet === null) return [`${name} of ${type} is unknown`]
      return views.overview(wallet).first_active <= views.overview(wallet).last_active ? [] : [`${name} of ${type}`]
    })
  })
  return [...ofWallets, ...ofTokens, ...ofEvents]
}

describe.each(worldSeeds(worldCounts.dayLongWorlds))(
  'the views after a day (seed %s)',
  { timeout: 120_000 },
  (seed) => {
    it('R17 R19 R21 R24 agree on every wallet', () => {
      const { world } = liveDay(seed)
      const wallets = activeWallets(world)
      expect(wallets.length).toBeGreaterThan(100)
      expect(wallets.flatMap((wallet) => disagreements(world, wallet)).slice(0, 10)).toEqual([])
    })

    it('R22 R26 A12 A13 show the realized gain that books of the trades give, at the present coin price', () => {
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

    it('R25 A13 roi is the total in percent of the cost of the positions', () => {
      const { world } = liveDay(seed)
      const wrong = activeWallets(world).flatMap((ref) => {
        const { closings, open, tolerance } = booksOf(world, ref)
        const base = sumOf(closings.map(({ cost }) => cost)) + sumOf([...open.values()].map(({ cost }) => cost))
        const { total_usd, roi_pct } = world.views.pnl(ref, 'all').pnl
        const expected = base === 0 ? 0 : (total_usd / base) * 100
        const isNear =
          Math.abs(roi_pct - expected) <= 0.001 + Math.abs(expected) * ((2 * tolerance) / Math.max(base, 1))
        return isNear ? [] : [`${ref.address}: reported ${roi_pct}, books ${expected}`]
      })
      expect(wrong.slice(0, 5)).toEqual([])
    })

    it('R19 R22 R52 R105 show every unit before it is sold; balances and pools are the supply', () => {
      const { world } = liveDay(seed)
      expect(unexplained(world)).toEqual([])
      for (const { network, address } of world.views.tokens().slice(-9)) {
        try {
          world.commands.apply({ kind: 'price-move', network, token: address, percent: -30 })
          world.commands.apply({ kind: 'rug', network, token: address, percent: 40 })
        } catch (error) {
          if (!(error instanceof WorldRefusal)) throw error
        }
      }
      expect(unexplained(world)).toEqual([])
      expect(ledgerProblems(world)).toEqual([])
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
