import { tokenAt, type Core } from './core.ts'
import { quoteCurveBuy, quoteCurveSell } from './curve.ts'
import { networkFacts } from './networks.ts'
import { toMark } from './numbers.ts'
import { quoteBuy, quoteSell, type Pool, type Quote } from './pool.ts'
import type { TokenState } from './state.ts'

/** A sale to a pool of the token with these reserves. A sell tax stays in the pool and brings nothing. */
export function quoteSale({ contract, pool }: TokenState, reserves: Pool, units: bigint): Quote {
  const tax = (units * BigInt(contract.sellTaxBps)) / 10_000n
  return { ...quoteSell(reserves, units - tax, pool?.feeBps ?? 0), paid: units }
}

/** What a sale would bring; 0 if the token has no pool. */
export function proceedsOf(core: Core, token: number, units: bigint): bigint {
  const sold = tokenAt(core, token)
  return sold.pool === null ? 0n : quoteSale(sold, sold.pool, units).received
}

/** What so many coins would buy; 0 if they buy nothing. */
export function unitsFor(core: Core, token: number, coins: bigint): bigint {
  const { pool, curve } = tokenAt(core, token)
  if (coins <= 1n) return 0n
  if (pool !== null) return quoteBuy(pool, coins, pool.feeBps).received
  if (curve === null || curve.realTokens === 0n) return 0n
  const { paid, received } = quoteCurveBuy(curve, coins)
  return paid <= coins ? received : 0n
}

/** Its fee is in coins. */
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

/** The price of a token is what its pool or its curve says. */
export function markToMarket(token: TokenState): void {
  const { coinDecimals } = networkFacts[token.network]
  if (token.pool) token.mark = toMark(token.pool.coins, coinDecimals, token.pool.tokens, token.decimals)
  else if (token.curve) {
    token.mark = toMark(token.curve.virtualCoins, coinDecimals, token.curve.virtualTokens, token.decimals)
  }
}

/** What a token's price is worth knowing by: coins per token times 1e24, of its pool. */
export function poolRatio(token: TokenState): bigint {
  return token.pool ? (token.pool.coins * 10n ** 24n) / token.pool.tokens : 0n
}
