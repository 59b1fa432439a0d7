import { type Core, tokenAt } from './core.ts'
import { networkFacts } from './networks.ts'
import { toMark } from './numbers.ts'
import type { Curve, Pool, TokenState } from './state.ts'

/** Quotes a sale to a pool with these reserves. A sell tax stays in the pool and yields nothing. */
export function quoteSale({ contract, pool }: TokenState, reserves: Pool, units: bigint): Quote {
  const tax = (units * BigInt(contract.sellTaxBps)) / 10_000n
  return { ...quoteSell(reserves, units - tax, pool?.feeBps ?? 0), paid: units }
}

/** Coins that a sale would yield; 0 if the token has no pool. */
export function proceedsOf(core: Core, token: number, units: bigint): bigint {
  const sold = tokenAt(core, token)
  return sold.pool === null ? 0n : quoteSale(sold, sold.pool, units).received
}

/** Units that `coins` would buy; 0 if none. */
export function unitsFor(core: Core, token: number, coins: bigint): bigint {
  const { pool, curve } = tokenAt(core, token)
  if (coins <= 1n) return 0n
  if (pool !== null) return quoteBuy(pool, coins, pool.feeBps).received
  if (curve === null || curve.realTokens === 0n) return 0n
  const { paid, received } = quoteCurveBuy(curve, coins)
  return paid <= coins ? received : 0n
}

/** A completed exchange; its fee is in coins. */
type Exchange = Quote

export function buyFromPool({ pool }: TokenState, coins: bigint): Exchange | null {
  if (pool === null) return null
  const quote = quoteBuy(pool, coins, pool.feeBps)
  if (quote.received <= 0n || quote.received >= pool.tokens) return null
  pool.coins += quote.paid
  pool.tokens -= quote.received
  return quote
}

export function buyFromCurve(core: Core, token: TokenState, coins: bigint): Exchange | null {
  const { curve, network } = token
  if (curve === null || curve.realTokens === 0n) return null
  const { paid, net, received, impactPct } = quoteCurveBuy(curve, coins)
  if (received <= 0n || paid > coins) return null
  curve.virtualCoins += net
  curve.realCoins += net
  curve.virtualTokens -= received
  curve.realTokens -= received
  core.state.networks[network].elsewhere += paid - net
  return { paid, received, fee: paid - net, impactPct }
}

export function sellToPool(token: TokenState, units: bigint): Exchange | null {
  const { pool } = token
  if (pool === null) return null
  const quote = quoteSale(token, pool, units)
  if (quote.received <= 0n || quote.received >= pool.coins) return null
  const fee = (quote.fee * pool.coins) / pool.tokens
  pool.tokens += quote.paid
  pool.coins -= quote.received
  return { ...quote, fee }
}

export function sellToCurve(core: Core, token: TokenState, units: bigint): Exchange | null {
  const { curve, network } = token
  if (curve === null || curve.realTokens === 0n) return null
  const { gross, received, impactPct } = quoteCurveSell(curve, units)
  if (received <= 0n || gross > curve.realCoins) return null
  curve.virtualCoins -= gross
  curve.realCoins -= gross
  curve.virtualTokens += units
  curve.realTokens += units
  core.state.networks[network].elsewhere += gross - received
  return { paid: units, received, fee: gross - received, impactPct }
}

/** Sets the price of a token from its pool or curve. */
export function markToMarket(token: TokenState): void {
  const { coinDecimals } = networkFacts[token.network]
  if (token.pool) token.mark = toMark(token.pool.coins, coinDecimals, token.pool.tokens, token.decimals)
  else if (token.curve) {
    token.mark = toMark(token.curve.virtualCoins, coinDecimals, token.curve.virtualTokens, token.decimals)
  }
}

/** Coins per token in its pool, times 1e24; 0 without a pool. */
export function poolRatio(token: TokenState): bigint {
  return token.pool ? (token.pool.coins * 10n ** 24n) / token.pool.tokens : 0n
}

export interface Quote {
  readonly paid: bigint
  readonly received: bigint
  /** Part of `paid` that stays with the pool's owners. */
  readonly fee: bigint
  /** Price impact, in percent to a millionth. */
  readonly impactPct: number
}

const bps = 10_000n

/** out = a(1−f)·y / (x + a(1−f)), rounded down. */
export function quoteBuy(pool: Pool, coins: bigint, feeBps: number): Quote {
  return quote(pool.coins, pool.tokens, coins, feeBps)
}

export function quoteSell(pool: Pool, tokens: bigint, feeBps: number): Quote {
  return quote(pool.tokens, pool.coins, tokens, feeBps)
}

function quote(reserveIn: bigint, reserveOut: bigint, paid: bigint, feeBps: number): Quote {
  const net = (paid * (bps - BigInt(feeBps))) / bps
  const received = (net * reserveOut) / (reserveIn + net)
  return { paid, received, fee: paid - net, impactPct: Number((net * 100_000_000n) / (reserveIn + net)) / 1e6 }
}

/** Reserves below this are dust and give no price. */
const minReserve = 1_000_000n

/** True if more than dust stays in the pool. */
export function canWithdraw({ coins, tokens }: Pool, bpsTaken: number): boolean {
  const left = bps - BigInt(bpsTaken)
  return (coins * left) / bps >= minReserve && (tokens * left) / bps >= minReserve
}

/** Removes `bpsTaken` hundredths of a percent of both sides; the price stays. */
export function withdraw(pool: Pool, bpsTaken: number): { readonly coins: bigint; readonly tokens: bigint } {
  const coins = (pool.coins * BigInt(bpsTaken)) / bps
  const tokens = (pool.tokens * BigInt(bpsTaken)) / bps
  pool.coins -= coins
  pool.tokens -= tokens
  return { coins, tokens }
}

export const curveSupply = 1_000_000_000_000_000n
export const curveDecimals = 6
/** Tokens reserved for the pool after migration. */
export const migrationTokens = 206_900_000_000_000n
/** Migration fee, paid from the coins raised. */
export const migrationFee = 15_000_000n
/** Fee in hundredths of a percent, on top of the curve's price. */
const curveFeeBps = 125

export function createCurve(): Curve {
  return {
    virtualCoins: 30_000_000_000n,
    virtualTokens: 1_073_000_000_000_000n,
    realTokens: 793_100_000_000_000n,
    realCoins: 0n,
  }
}

export interface CurveQuote {
  /** Total paid by the buyer. */
  readonly paid: bigint
  /** Part of `paid` that goes to the reserve. */
  readonly net: bigint
  readonly received: bigint
  readonly impactPct: number
}

/** Quotes a purchase for `coins`, fee included. The last purchase gets the remaining tokens and pays only for them. */
export function quoteCurveBuy(curve: Curve, coins: bigint): CurveQuote {
  const { virtualCoins: x, virtualTokens: y, realTokens } = curve
  const net = ((coins - 1n) * 10_000n) / BigInt(10_000 + curveFeeBps)
  const received = (net * y) / (x + net)
  if (received < realTokens) return { paid: coins, net, received, impactPct: toImpact(net, x) }
  const exact = (realTokens * x) / (y - realTokens) + 1n
  const paid = (exact * BigInt(10_000 + curveFeeBps) + 9999n) / 10_000n + 1n
  return { paid, net: exact, received: realTokens, impactPct: toImpact(exact, x) }
}

export interface CurveSale {
  /** Coins that leave the reserve, fee included. */
  readonly gross: bigint
  readonly received: bigint
  readonly impactPct: number
}

export function quoteCurveSell(curve: Curve, tokens: bigint): CurveSale {
  const { virtualCoins: x, virtualTokens: y } = curve
  const gross = (tokens * x) / (y + tokens)
  const received = (gross * BigInt(10_000 - curveFeeBps)) / 10_000n
  return { gross, received, impactPct: toImpact(tokens, y) }
}

function toImpact(amount: bigint, reserve: bigint): number {
  return Number((amount * 100_000_000n) / (reserve + amount)) / 1e6
}
