/**
 * The bonding curve of the launch platform: a constant-product pool of which 30 SOL and 279.9 million tokens are only
 * virtual. Lamports and base units (six decimals).
 */
export interface Curve {
  virtualCoins: bigint
  virtualTokens: bigint
  /** Left to buy; none left = completed. */
  realTokens: bigint
  realCoins: bigint
}

export const curveSupply = 1_000_000_000_000_000n
export const curveDecimals = 6
/** What is kept back for the pool that the token migrates to. */
export const migrationTokens = 206_900_000_000_000n
/** Paid out of what was raised when it migrates. */
export const migrationFee = 15_000_000n
/** In hundredths of a percent, on top of what the curve takes. */
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
  /** What the buyer pays in all. */
  readonly paid: bigint
  /** Part of it that the curve keeps as its reserve. */
  readonly net: bigint
  readonly received: bigint
  readonly impactPct: number
}

/** What `coins` buy, fee included; the last buy gets no more than what is left and pays no more than that costs. */
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
  /** What leaves the reserve, fee included. */
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
