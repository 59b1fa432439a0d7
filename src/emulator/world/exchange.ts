import type { Core } from './core.ts'
import { networkFacts } from './networks.ts'
import { toMark } from './numbers.ts'
import type { Curve, Pool, TokenState } from './state.ts'

export interface Quote {
  readonly paid: bigint
  readonly received: bigint
  /** Fee in units of the paid side; for `quoteSale` in coins. */
  readonly fee: bigint
  /** Price impact, in percent to a millionth. */
  readonly impactPct: number
}

/** Quotes a purchase for `coins`; null if it buys nothing. */
export function quotePurchase({ pool, curve }: TokenState, coins: bigint): Quote | null {
  if (coins <= 1n) return null
  const fromCurve = curve === null || curve.realTokens === 0n ? null : quoteCurveBuy(curve, coins)
  const quote = pool === null ? fromCurve : quoteSwap(pool.coins, pool.tokens, coins, pool.feeBps)
  return quote !== null && quote.received > 0n && quote.paid <= coins ? quote : null
}

/** Quotes a sale; null if it yields nothing. A sell tax stays in the pool. The fee is in coins. */
export function quoteSale({ contract, pool, curve }: TokenState, units: bigint): Quote | null {
  if (pool === null) {
    if (curve === null || curve.realTokens === 0n) return null
    const quote = quoteCurveSell(curve, units)
    return quote.received > 0n && quote.received + quote.fee <= curve.realCoins ? quote : null
  }
  const tax = (units * BigInt(contract.sellTaxBps)) / bps
  const { received, fee, impactPct } = quoteSwap(pool.tokens, pool.coins, units - tax, pool.feeBps)
  if (received <= 0n) return null
  return { paid: units, received, fee: (fee * pool.coins) / pool.tokens, impactPct }
}

/** Books a trade in the pool or curve. `coins` and `tokens` come from the trader; negative: they go to the trader. */
export function settle(core: Core, token: TokenState, coins: bigint, tokens: bigint, fee: bigint): void {
  const { pool, curve, network } = token
  if (pool !== null) {
    pool.coins += coins
    pool.tokens += tokens
  } else if (curve !== null) {
    curve.virtualCoins += coins - fee
    curve.realCoins += coins - fee
    curve.virtualTokens += tokens
    curve.realTokens += tokens
    core.state.networks[network].elsewhere += fee
  }
  markToMarket(token)
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

const bps = 10_000n

/** Quotes a swap in a pool: out = a(1−f)·y / (x + a(1−f)), rounded down. */
export function quoteSwap(reserveIn: bigint, reserveOut: bigint, paid: bigint, feeBps: number): Quote {
  const net = (paid * (bps - BigInt(feeBps))) / bps
  const received = (net * reserveOut) / (reserveIn + net)
  return { paid, received, fee: paid - net, impactPct: toImpact(net, reserveIn) }
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

/** Quotes a purchase for `coins`, fee included. The last purchase gets the remaining tokens and pays only for them. */
export function quoteCurveBuy({ virtualCoins: x, virtualTokens: y, realTokens }: Curve, coins: bigint): Quote {
  const net = ((coins - 1n) * bps) / BigInt(10_000 + curveFeeBps)
  const received = (net * y) / (x + net)
  if (received < realTokens) return { paid: coins, received, fee: coins - net, impactPct: toImpact(net, x) }
  const exact = (realTokens * x) / (y - realTokens) + 1n
  const paid = (exact * BigInt(10_000 + curveFeeBps) + 9999n) / bps + 1n
  return { paid, received: realTokens, fee: paid - exact, impactPct: toImpact(exact, x) }
}

/** Quotes a sale. The fee is in coins. */
function quoteCurveSell({ virtualCoins: x, virtualTokens: y }: Curve, tokens: bigint): Quote {
  const gross = (tokens * x) / (y + tokens)
  const received = (gross * BigInt(10_000 - curveFeeBps)) / bps
  return { paid: tokens, received, fee: gross - received, impactPct: toImpact(tokens, y) }
}

function toImpact(amount: bigint, reserve: bigint): number {
  return Number((amount * 100_000_000n) / (reserve + amount)) / 1e6
}
