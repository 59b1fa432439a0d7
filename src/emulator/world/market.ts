import { isHoneypot } from './audit.ts'
import { holdingOf, tokenAt, usdOfCoins, walletAt, type Core } from './core.ts'
import { dexNumber } from './dex-names.ts'
import { buyFromCurve, buyFromPool, markToMarket, proceedsOf, sellToCurve, sellToPool, unitsFor } from './exchange.ts'
import { blockTime } from './networks.ts'
import { roundUsd } from './numbers.ts'
import { noteHolder, openHolding, realize } from './positions.ts'
import type { HoldingState, TokenState, WalletState } from './state.ts'
import type { LegRow } from './trade-log.ts'

/** What became of a trade, for those who watch. USD in millionths. */
export interface Traded {
  readonly row: number
  readonly seq: number
  readonly wallet: number
  readonly kind: 'buy' | 'sell' | 'swap'
  /** What was bought, or else sold. */
  readonly token: number
  readonly soldToken: number | null
  /** What was paid: the coin's side of a purchase or sale, the token's side of a swap. */
  readonly value: bigint
  /** Units of `token` that changed hands, and what they were worth. */
  readonly amount: bigint
  readonly amountValue: bigint
  readonly isNewPosition: boolean
  /** What the wallet had realized before. */
  readonly realizedBefore: bigint
  /** Tokens whose price has moved. */
  readonly tokens: readonly number[]
}

const largestSum = 2n ** 62n

interface Leg {
  readonly row: Omit<LegRow, 'trade'>
  readonly impactPct: number
  readonly isNewPosition: boolean
}

/** Buys for so many coins, fees included. Null if that buys nothing or the wallet has not as many: nothing happens. */
export function buy(core: Core, wallet: number, token: number, coins: bigint): Traded | null {
  const { realized } = walletAt(core, wallet)
  const leg = buyLeg(core, wallet, token, coins)
  return leg && record(core, wallet, [leg], realized)
}

/** Sells so many units. Null if the sale fails (a honeypot), brings nothing, or the wallet has not as many. */
export function sell(core: Core, wallet: number, token: number, units: bigint): Traded | null {
  const { realized } = walletAt(core, wallet)
  const leg = sellLeg(core, wallet, token, units)
  return leg && record(core, wallet, [leg], realized)
}

/** Sells all of one token and buys another for it, in one transaction. Null as for `buy` and `sell`. */
export function swap(core: Core, wallet: number, from: number, to: number): Traded | null {
  const units = holdingOf(core, wallet, from)?.balance ?? 0n
  // Where the second half could fail, the first must not happen.
  const canBuy = tokenAt(core, to).pool !== null && unitsFor(core, to, proceedsOf(core, from, units)) > 0n
  if (from === to || !canBuy) return null
  const { realized } = walletAt(core, wallet)
  const sold = sellLeg(core, wallet, from, units)
  const bought = sold && buyLeg(core, wallet, to, sold.row.coins)
  return bought && record(core, wallet, [sold, bought], realized)
}

/** Whether a sum has no room for another trade in the 64 bits that it is kept in: after some trillions of dollars. */
export function isFull(sums: Pick<TokenState, 'volume'> | Pick<WalletState, 'realizedCost'>): boolean {
  return ('volume' in sums ? sums.volume : sums.realizedCost) > largestSum
}

function buyLeg(core: Core, wallet: number, token: number, coins: bigint): Leg | null {
  const buyer = walletAt(core, wallet)
  const bought = tokenAt(core, token)
  if (coins <= 1n || buyer.coins < coins || isFull(bought) || isFull(buyer)) return null
  const exchange = bought.pool ? buyFromPool(core, bought, coins) : buyFromCurve(core, bought, coins)
  if (exchange === null) return null
  const { paid, received, fee, impactPct } = exchange
  buyer.coins -= paid
  const holding = openHolding(core, wallet, token)
  const isNewPosition = holding.balance === 0n
  const value = roundUsd(usdOfCoins(core, bought.network, paid))
  if (isNewPosition) {
    bought.holderCount++
    holding.openedAt = core.state.now
    noteHolder(core, wallet, token, true)
  }
  holding.balance += received
  holding.cost += value
  return { row: afterLeg(core, token, false, received, paid, value, fee, holding), impactPct, isNewPosition }
}

function sellLeg(core: Core, wallet: number, token: number, units: bigint): Leg | null {
  const sold = tokenAt(core, token)
  const holding = holdingOf(core, wallet, token)
  const seller = walletAt(core, wallet)
  if (units <= 0n || holding === undefined || holding.balance < units) return null
  if (isHoneypot(sold) || isFull(sold) || isFull(seller)) return null
  const tax = (units * BigInt(sold.contract.sellTaxBps)) / 10_000n
  const exchange = sold.pool ? sellToPool(core, sold, units - tax) : sellToCurve(core, sold, units - tax)
  if (exchange === null) return null
  const { received, fee, impactPct } = exchange
  sold.reserved += tax
  seller.coins += received
  const value = roundUsd(usdOfCoins(core, sold.network, received))
  const cost = units === holding.balance ? holding.cost : (holding.cost * units) / holding.balance
  holding.balance -= units
  holding.cost -= cost
  realize(core, seller, holding, value - cost, cost)
  if (holding.balance === 0n) {
    sold.holderCount--
    noteHolder(core, wallet, token, false)
  }
  const row = afterLeg(core, token, true, units, received, value, fee, holding)
  return { row, impactPct, isNewPosition: false }
}

function afterLeg(
  core: Core,
  token: number,
  isSale: boolean,
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
    isSale: isSale ? 1 : 0,
    dex: dexNumber(traded.pool?.dex ?? 'Pump.fun'),
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

function record(core: Core, wallet: number, legs: readonly Leg[], realizedBefore: bigint): Traded {
  const { state } = core
  const [first] = legs
  const last = legs[legs.length - 1]
  if (first === undefined || last === undefined) throw new RangeError('a trade has a leg')
  const { realized, realizedCost, network } = walletAt(core, wallet)
  const seq = ++state.seq
  // Two impacts one after the other, in percent.
  const impactPct = legs.reduce((sum, leg) => sum + leg.impactPct - (sum * leg.impactPct) / 100, 0)
  const row = core.trades.add(
    { at: blockTime(network, state.now), seq, wallet, impactPct, realized, realizedCost },
    legs.map((leg) => leg.row),
  )
  const isSwap = legs.length > 1
  return {
    row,
    seq,
    wallet,
    kind: isSwap ? 'swap' : first.row.isSale ? 'sell' : 'buy',
    token: last.row.token,
    soldToken: first.row.isSale ? first.row.token : null,
    value: isSwap ? first.row.value + first.row.fee : first.row.value,
    amount: last.row.amount,
    amountValue: last.row.value,
    isNewPosition: last.isNewPosition,
    realizedBefore,
    tokens: legs.map((leg) => leg.row.token),
  }
}
