import { walletAt, holdingAt, usdOfCoins, type Core } from './core.ts'
import { roundUsd, toPercent, toUsd } from './numbers.ts'
import { worth } from './prices.ts'
import type { Timeframe } from '../../../schema/rest/parameters.ts'
import type { PnlSummary } from './port.ts'
import type { HoldingState } from './state.ts'

const dayMs = 86_400_000
const windowMs: Readonly<Record<Timeframe, number>> = {
  '24h': dayMs,
  '7d': 7 * dayMs,
  '30d': 30 * dayMs,
  all: Infinity,
}

/** What a position is worth, what it cost, and the gain so far, as they are shown; millionths of a dollar. */
export function valueOf(
  core: Core,
  { token, balance, cost }: HoldingState,
): { readonly value: bigint; readonly cost: bigint; readonly gain: bigint } {
  const value = roundUsd(worth(core, token, balance))
  const paid = roundUsd(cost)
  return { value, cost: paid, gain: roundUsd(value - paid) }
}

/** The realized gain of a wallet at the present rate of its coin (R26), in millionths of a dollar. */
export function realizedUsd(core: Core, wallet: number): bigint {
  const { network, realized } = walletAt(core, wallet)
  return usdOfCoins(core, network, realized)
}

/**
 * Profit and loss of a wallet (R22–R26, A12, A13): realized of the positions closed in the time, unrealized of all that
 * are open, in percent of what both have cost. Realized gains are coins, valued at the present rate.
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
  const booked = roundUsd(usdOfCoins(core, network, realized - before.gain))
  return {
    realized_usd: toUsd(booked),
    unrealized_usd: toUsd(unrealized),
    total_usd: toUsd(booked + roundUsd(unrealized)),
    roi_pct: toPercent(booked + roundUsd(unrealized), base),
  }
}

/** What the wallet had realized before a moment: coins, and the cost in millionths of a dollar. */
function realizedBefore(core: Core, wallet: number, at: number): { gain: bigint; cost: bigint } {
  const last = core.trades.ofWallet(wallet).newestBefore(at)
  return { gain: last?.realized ?? 0n, cost: last?.realizedCost ?? 0n }
}
