import { type Core, coinPriceAt, holdingAt, tokenAt, usdOfCoins, walletAt } from './core.ts'
import { roundUsd, toAmount, toMicro, toPercent, toPriceUsd, toUsd } from './numbers.ts'
import type { AsOf, Page, PageRequest, PnlSummary, Position, WalletOverview } from './port.ts'
import { markAsOf, worth } from './prices.ts'
import { holdingKey } from './trade-log.ts'
import type { Timeframe } from '../../../schema/rest/parameters.ts'
import type { HoldingState } from './state.ts'
import { dayMs } from '../../base/clock.ts'

/** R16–R19 */
export function overviewOf(core: Core, wallet: number): WalletOverview {
  const { address, network, open, seenAt } = walletAt(core, wallet)
  const trades = core.trades.ofWallet(wallet)
  // A wallet without trades counts as active when first seen.
  const timeOf = (index: number) => new Date(trades.at(index)?.at ?? seenAt ?? 0).toISOString()
  const pnl = pnlOf(core, wallet, '30d')
  return {
    address,
    network,
    portfolio_value_usd: toUsd(portfolioValue(core, open)),
    total_tokens_held: open.size,
    total_trades_all_time: trades.length,
    first_active: timeOf(0),
    last_active: timeOf(-1),
    is_whale: isWhale(core, wallet),
    pnl_30d_usd: pnl.total_usd,
    roi_30d_pct: pnl.roi_pct,
  }
}

function portfolioValue(core: Core, open: ReadonlySet<number>): bigint {
  let sum = 0n
  for (const index of open) sum += valueOf(core, holdingAt(core, index)).value
  return sum
}

/** True if a wallet is a whale now (A5). */
export function isWhale(core: Core, wallet: number): boolean {
  const { open } = walletAt(core, wallet)
  const { whaleUsd, whaleSupplyPct } = core.options
  if (toUsd(portfolioValue(core, open)) >= whaleUsd) return true
  return [...open].some((index) => {
    const { token, balance } = holdingAt(core, index)
    const { pool, supply } = tokenAt(core, token)
    return pool !== null && balance * 10_000n >= supply * BigInt(Math.round(whaleSupplyPct * 100))
  })
}

/** A position as of a moment. Value and cost in millionths of a dollar. */
interface PositionState {
  readonly key: number
  readonly token: number
  readonly balance: bigint
  readonly price: number
  readonly value: bigint
  readonly cost: bigint
}

export function portfolioOf(core: Core, wallet: number, page: PageRequest): Page<Position> {
  const { open } = walletAt(core, wallet)
  const positions = candidates(core, wallet, page.asOf).flatMap((key) => positionAsOf(core, key, page.asOf) ?? [])
  const totalValue = positions.reduce((sum, { value }) => sum + value, 0n)
  const { shown, lastKey } = pageByKey(positions, ({ key }) => key, page)
  return { items: shown.map((holding) => toPosition(core, holding, totalValue)), lastKey, total: open.size }
}

/** Holdings that may have been open as of a moment, in order: those open now and those traded since. Only trades close one. */
function candidates(core: Core, wallet: number, asOf: AsOf): readonly number[] {
  const { holdings, open } = walletAt(core, wallet)
  const trades = core.trades.ofWallet(wallet)
  const before = trades.countUpTo(asOf.seq)
  if (trades.length - before > holdings.length) return holdings
  const keys = new Set(open)
  for (const { token } of trades.slice(before).flatMap(({ legs }) => legs)) {
    const key = core.directory.holdings.get(holdingKey(wallet, token))
    if (key !== undefined) keys.add(key)
  }
  return [...keys].toSorted((a, b) => a - b)
}

function positionAsOf(core: Core, key: number, asOf: AsOf): PositionState | null {
  const { wallet, token } = holdingAt(core, key)
  const leg = core.trades.legAsOf(wallet, token, asOf.seq)
  const mark = leg === undefined || leg.balance === 0n ? null : markAsOf(core, token, asOf.seq)
  if (leg === undefined || mark === null) return null
  const { balance } = leg
  const { network, decimals } = tokenAt(core, token)
  const coin = coinPriceAt(core, network, asOf.at)
  const value = roundUsd(toMicro(balance, decimals, mark, coin))
  return { key, token, balance, price: toPriceUsd(mark, coin), value, cost: roundUsd(leg.cost) }
}

/** R19, R20 */
function toPosition(core: Core, { token, balance, price, value, cost }: PositionState, totalValue: bigint): Position {
  const { address, symbol, name, decimals } = tokenAt(core, token)
  const gain = roundUsd(value - cost)
  return {
    token_address: address,
    symbol,
    name,
    balance: toAmount(balance, decimals),
    price_usd: price,
    value_usd: toUsd(value),
    cost_basis_usd: toUsd(cost),
    unrealised_pnl_usd: toUsd(gain),
    unrealised_pnl_pct: toPercent(gain, cost),
    allocation_pct: toPercent(value, totalValue),
  }
}

/** A page of items sorted by their keys, smallest first. */
export function pageByKey<T>(
  items: readonly T[],
  keyOf: (item: T) => number,
  { limit, after }: PageRequest,
): { shown: readonly T[]; lastKey: number | null } {
  const rest = after === null ? items : items.filter((item) => keyOf(item) > after)
  const shown = rest.slice(0, limit)
  const last = shown.at(-1)
  return { shown, lastKey: rest.length > limit && last !== undefined ? keyOf(last) : null }
}

const windowMs: Readonly<Record<Timeframe, number>> = {
  '24h': dayMs,
  '7d': 7 * dayMs,
  '30d': 30 * dayMs,
  all: Infinity,
}

/** Value, cost and gain of a position, rounded for display; millionths of a dollar. */
export function valueOf(
  core: Core,
  { token, balance, cost }: HoldingState,
): { readonly value: bigint; readonly cost: bigint; readonly gain: bigint } {
  const value = roundUsd(worth(core, token, balance))
  const paid = roundUsd(cost)
  return { value, cost: paid, gain: roundUsd(value - paid) }
}

/** Realized gain of a wallet at the present coin price (R26), in millionths of a dollar. */
export function realizedUsd(core: Core, wallet: number): bigint {
  const { network, realized } = walletAt(core, wallet)
  return usdOfCoins(core, network, realized)
}

/**
 * PnL of a wallet (R22–R26, A12, A13): realized by positions closed in the timeframe, unrealized by all open ones, in
 * percent of the cost of both. Realized gains are coins, valued at the present price.
 */
export function pnlOf(core: Core, wallet: number, timeframe: Timeframe): PnlSummary['pnl'] {
  const { network, realized, realizedCost, open } = walletAt(core, wallet)
  const before = realizedBefore(core, wallet, core.state.now - windowMs[timeframe])
  let unrealized = 0n
  let base = realizedCost - before.cost
  for (const index of open) {
    const holding = holdingAt(core, index)
    const { cost, gain } = valueOf(core, holding)
    unrealized += gain + roundUsd(holding.partGain)
    base += cost + holding.partCost
  }
  const realizedInTimeframe = roundUsd(usdOfCoins(core, network, realized - before.gain))
  return {
    realized_usd: toUsd(realizedInTimeframe),
    unrealized_usd: toUsd(unrealized),
    total_usd: toUsd(realizedInTimeframe + roundUsd(unrealized)),
    roi_pct: toPercent(realizedInTimeframe + roundUsd(unrealized), base),
  }
}

/** Realized gain (coins) and cost (millionths of a dollar) before a moment. */
function realizedBefore(core: Core, wallet: number, at: number): { gain: bigint; cost: bigint } {
  const last = core.trades.ofWallet(wallet).newestBefore(at)
  return { gain: last?.realized ?? 0n, cost: last?.realizedCost ?? 0n }
}
