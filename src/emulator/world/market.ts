import { isHoneypot } from './audit.ts'
import { holdingOf, tokenAt, usdOfCoins, walletAt, type Core } from './core.ts'
import { dexNumber, launchPlatform } from './dex-names.ts'
import { buyFromCurve, buyFromPool, markToMarket, proceedsOf, sellToCurve, sellToPool, unitsFor } from './exchange.ts'
import { roundUsd } from './numbers.ts'
import { book, realize } from './positions.ts'
import type { HoldingState, TokenState, WalletState } from './state.ts'
import { legKinds, type LegKind, type LegRow } from './trade-log.ts'

/** What became of a trade, for those who watch. USD in millionths. */
export interface Traded {
  readonly seq: number
  readonly wallet: number
  readonly kind: 'buy' | 'sell' | 'swap'
  /** What was bought, or else sold. */
  readonly token: number
  readonly soldToken: number | null
  /** The coin's side of a purchase or sale, the side of `soldToken` in a swap. */
  readonly value: bigint
  /** Units of `token` that changed hands. */
  readonly amount: bigint
  /** The wallet bought a token that it had never held (R97). */
  readonly isNewPosition: boolean
  /** The gain of a position counts from now on. */
  readonly isRealized: boolean
  /** Tokens whose price has moved. */
  readonly tokens: readonly number[]
}

const largestSum = 2n ** 62n

interface Leg {
  readonly row: Omit<LegRow, 'trade'>
  readonly impactPct: number
  /** Cost of a purchase, proceeds of a sale. */
  readonly value: bigint
  readonly isNewPosition: boolean
  readonly isRealized: boolean
}

/** Buys for so many coins, fees included. Null if that buys nothing or the wallet has not as many: nothing happens. */
export function buy(core: Core, wallet: number, token: number, coins: bigint): Traded | null {
  const leg = buyLeg(core, wallet, token, coins)
  return leg && record(core, wallet, [leg])
}

/** Sells so many units. Null if the sale fails (a honeypot), brings nothing, or the wallet has not as many. */
export function sell(core: Core, wallet: number, token: number, units: bigint): Traded | null {
  const leg = sellLeg(core, wallet, token, units, false)
  return leg && record(core, wallet, [leg])
}

/**
 * Sells all of one token and buys another for it, in one transaction. Null as for `buy` and `sell`. The value that the trade
 * shows for the token sold is the proceeds of that token and the cost of the other one.
 */
export function swap(core: Core, wallet: number, from: number, to: number): Traded | null {
  const units = holdingOf(core, wallet, from)?.balance ?? 0n
  // Where the second half could fail, the first must not happen.
  const canBuy = tokenAt(core, to).pool !== null && unitsFor(core, to, proceedsOf(core, from, units)) > 0n
  if (from === to || !canBuy) return null
  const sold = sellLeg(core, wallet, from, units, true)
  const bought = sold && buyLeg(core, wallet, to, sold.row.coins, sold.value)
  return bought && record(core, wallet, [sold, bought])
}

/** Whether a sum has no room for another trade in the 64 bits that it is kept in: after some trillions of dollars. */
export function isFull(sums: Pick<TokenState, 'volume'> | Pick<WalletState, 'realizedCost'>): boolean {
  return ('volume' in sums ? sums.volume : sums.realizedCost) > largestSum
}

function buyLeg(core: Core, wallet: number, token: number, coins: bigint, cost?: bigint): Leg | null {
  const buyer = walletAt(core, wallet)
  const bought = tokenAt(core, token)
  if (coins <= 1n || buyer.coins < coins || isFull(bought) || isFull(buyer)) return null
  const exchange = bought.pool ? buyFromPool(bought, coins) : buyFromCurve(core, bought, coins)
  if (exchange === null) return null
  const { paid, received, fee, impactPct } = exchange
  buyer.coins -= paid
  const isNewPosition = holdingOf(core, wallet, token) === undefined
  const coinValue = roundUsd(usdOfCoins(core, bought.network, paid))
  const value = cost ?? coinValue
  const holding = book(core, wallet, token, received, value)
  const row = afterLeg(core, token, 'buy', received, paid, coinValue, fee, holding)
  return { row, impactPct, value, isNewPosition, isRealized: false }
}

function sellLeg(core: Core, wallet: number, token: number, units: bigint, isSwap: boolean): Leg | null {
  const sold = tokenAt(core, token)
  const holding = holdingOf(core, wallet, token)
  const seller = walletAt(core, wallet)
  if (units <= 0n || holding === undefined || holding.balance < units) return null
  if (isHoneypot(sold) || isFull(sold) || isFull(seller)) return null
  const exchange = sold.pool ? sellToPool(sold, units) : sellToCurve(core, sold, units)
  if (exchange === null) return null
  const { received, fee, impactPct } = exchange
  seller.coins += received
  const coinValue = roundUsd(usdOfCoins(core, sold.network, received))
  const cost = (holding.cost * units) / holding.balance
  book(core, wallet, token, -units, -cost)
  const row = afterLeg(core, token, 'sale', units, received, coinValue, fee, holding)
  const value = isSwap ? roundUsd(coinValue + row.fee) : coinValue
  const isRealized = realize(core, seller, holding, value - cost, cost)
  return { row, impactPct, value, isNewPosition: false, isRealized }
}

function afterLeg(
  core: Core,
  token: number,
  kind: LegKind,
  amount: bigint,
  coins: bigint,
  value: bigint,
  fee: bigint,
  holding: HoldingState,
): Omit<LegRow, 'trade'> {
  const traded = tokenAt(core, token)
  markToMarket(traded)
  traded.volume += value
  return {
    token,
    kind: legKinds[kind],
    dex: dexNumber(traded.pool?.dex ?? launchPlatform),
    amount,
    coins,
    value,
    fee: roundUsd(usdOfCoins(core, traded.network, fee)),
    balance: holding.balance,
    cost: holding.cost,
    mantissa: traded.mark.mantissa,
    exponent: traded.mark.exponent,
    volume: traded.volume,
  }
}

function record(core: Core, wallet: number, legs: readonly [Leg, ...Leg[]]): Traded {
  const { state } = core
  const [first, last = first] = legs
  const isSale = first.row.kind === legKinds.sale
  const { realized, realizedCost } = walletAt(core, wallet)
  const seq = ++state.seq
  // Two impacts one after the other, in percent.
  const impactPct = legs.reduce((sum, leg) => sum + leg.impactPct - (sum * leg.impactPct) / 100, 0)
  core.trades.add(
    { at: state.now, seq, wallet, impactPct, realized, realizedCost },
    legs.map((leg) => leg.row),
  )
  return {
    seq,
    wallet,
    kind: last !== first ? 'swap' : isSale ? 'sell' : 'buy',
    token: last.row.token,
    soldToken: isSale ? first.row.token : null,
    value: first.value,
    amount: last.row.amount,
    isNewPosition: last.isNewPosition,
    isRealized: first.isRealized,
    tokens: legs.map((leg) => leg.row.token),
  }
}
