import { isHoneypot } from './audit.ts'
import { holdingOf, tokenAt, usdOfCoins, walletAt, type Core } from './core.ts'
import { quotePurchase, quoteSale, settle } from './exchange.ts'
import { roundUsd } from './numbers.ts'
import { book, realize } from './wallets.ts'
import type { HoldingState } from './state.ts'
import type { Leg, LoggedTrade } from './trade-log.ts'

/** A completed trade. USD in millionths. */
export interface Traded {
  readonly seq: number
  readonly wallet: number
  readonly kind: 'buy' | 'sell' | 'swap'
  /** The bought token; for a sale, the sold one. */
  readonly token: number
  readonly soldToken: number | null
  /** The coin's side of a purchase or sale, the side of `soldToken` in a swap. */
  readonly value: bigint
  /** Units of `token` that changed hands. */
  readonly amount: bigint
  /** True if the wallet never held the token before (R97). */
  readonly isNewPosition: boolean
  /** True if the trade realized a gain or loss. */
  readonly isRealized: boolean
  /** Tokens whose price moved. */
  readonly tokens: readonly number[]
}

interface Half {
  readonly leg: Leg
  readonly impactPct: number
  /** Cost of a purchase, proceeds of a sale. */
  readonly value: bigint
  readonly isNewPosition: boolean
  readonly isRealized: boolean
}

/** Buys for `coins`, fees included. Null, without any change, if it buys nothing or the wallet lacks the coins. */
export function buy(core: Core, wallet: number, token: number, coins: bigint): Traded | null {
  const half = buyHalf(core, wallet, token, coins)
  return half && record(core, wallet, [half])
}

/** Sells `units`. Null, without any change, if the sale fails (a honeypot), yields nothing, or the wallet lacks the units. */
export function sell(core: Core, wallet: number, token: number, units: bigint): Traded | null {
  const half = sellHalf(core, wallet, token, units, false)
  return half && record(core, wallet, [half])
}

/**
 * Swaps all of one token for another, in one transaction. Null as for `buy` and `sell`. The value shown for the sold
 * token is both its proceeds and the cost of the bought one.
 */
export function swap(core: Core, wallet: number, from: number, to: number): Traded | null {
  const units = holdingOf(core, wallet, from)?.balance ?? 0n
  const [soldToken, boughtToken] = [tokenAt(core, from), tokenAt(core, to)]
  if (from === to || soldToken.pool === null || boughtToken.pool === null) return null
  // The first half must not happen if the second could fail.
  const proceeds = quoteSale(soldToken, units)?.received ?? 0n
  if (quotePurchase(boughtToken, proceeds) === null) return null
  const sold = sellHalf(core, wallet, from, units, true)
  const bought = sold && buyHalf(core, wallet, to, sold.leg.coins, sold.value)
  return bought && record(core, wallet, [sold, bought])
}

function buyHalf(core: Core, wallet: number, token: number, coins: bigint, cost?: bigint): Half | null {
  const buyer = walletAt(core, wallet)
  const bought = tokenAt(core, token)
  const quote = quotePurchase(bought, coins)
  if (quote === null || buyer.coins < coins) return null
  const { paid, received, fee, impactPct } = quote
  settle(core, bought, paid, -received, fee)
  buyer.coins -= paid
  const isNewPosition = holdingOf(core, wallet, token) === undefined
  const coinValue = roundUsd(usdOfCoins(core, bought.network, paid))
  const value = cost ?? coinValue
  const holding = book(core, wallet, token, received, value)
  const leg = toLeg(core, token, 'buy', received, paid, coinValue, fee, holding)
  return { leg, impactPct, value, isNewPosition, isRealized: false }
}

function sellHalf(core: Core, wallet: number, token: number, units: bigint, isSwap: boolean): Half | null {
  const sold = tokenAt(core, token)
  const holding = holdingOf(core, wallet, token)
  const seller = walletAt(core, wallet)
  if (units <= 0n || holding === undefined || holding.balance < units) return null
  const quote = isHoneypot(sold) ? null : quoteSale(sold, units)
  if (quote === null) return null
  const { received, fee, impactPct } = quote
  settle(core, sold, -received, units, fee)
  seller.coins += received
  const coinValue = roundUsd(usdOfCoins(core, sold.network, received))
  const cost = (holding.cost * units) / holding.balance
  book(core, wallet, token, -units, -cost)
  const leg = toLeg(core, token, 'sale', units, received, coinValue, fee, holding)
  const value = isSwap ? roundUsd(coinValue + leg.fee) : coinValue
  const isRealized = realize(core, seller, holding, value - cost, cost)
  return { leg, impactPct, value, isNewPosition: false, isRealized }
}

function toLeg(
  core: Core,
  token: number,
  kind: 'buy' | 'sale',
  amount: bigint,
  coins: bigint,
  value: bigint,
  fee: bigint,
  holding: HoldingState,
): Leg {
  const traded = tokenAt(core, token)
  traded.volume += value
  return {
    token,
    kind,
    amount,
    coins,
    value,
    fee: roundUsd(usdOfCoins(core, traded.network, fee)),
    balance: holding.balance,
    cost: holding.cost,
    mark: traded.mark,
    volume: traded.volume,
  }
}

function record(core: Core, wallet: number, halves: readonly [Half, ...Half[]]): Traded {
  const { state } = core
  const [first, last = first] = halves
  const isSale = first.leg.kind === 'sale'
  const { realized, realizedCost } = walletAt(core, wallet)
  const seq = ++state.seq
  // Combined impact of both halves, in percent.
  const impactPct = halves.reduce((sum, half) => sum + half.impactPct - (sum * half.impactPct) / 100, 0)
  const legs: LoggedTrade['legs'] = first === last ? [first.leg] : [first.leg, last.leg]
  core.trades.add({ at: state.now, seq, wallet, legs, impactPct, realized, realizedCost })
  return {
    seq,
    wallet,
    kind: last !== first ? 'swap' : isSale ? 'sell' : 'buy',
    token: last.leg.token,
    soldToken: isSale ? first.leg.token : null,
    value: first.value,
    amount: last.leg.amount,
    isNewPosition: last.isNewPosition,
    isRealized: first.isRealized,
    tokens: legs.map(({ token }) => token),
  }
}
