// The ledger uses base units and millionths of a dollar (`micro`), all BigInt. This module converts them to numbers
// for display (A16).

const powers = Array.from({ length: 100 }, (_, n) => 10n ** BigInt(n))

/** 10^n for n from 0 on. */
export function pow10(n: number): bigint {
  return powers[n] ?? 10n ** BigInt(n)
}

/** `value` · 10^n, rounded down towards zero for a negative n. */
function scale(value: bigint, n: number): bigint {
  return n >= 0 ? value * pow10(n) : value / pow10(-n)
}

/** Rounds USD for display: to the cent from 1 USD up, to the millionth below. Halves round away from zero. */
export function roundUsd(micro: bigint): bigint {
  if (micro > -1_000_000n && micro < 1_000_000n) return micro
  const half = micro < 0n ? -5000n : 5000n
  return ((micro + half) / 10_000n) * 10_000n
}

export function toUsd(micro: bigint): number {
  return Number(roundUsd(micro)) / 1e6
}

/** An amount in base units with at most 15 significant digits. */
export function toAmount(units: bigint, decimals: number): number {
  return toSignificant(units, -decimals, 15)
}

/** `mantissa` · 10^exponent with `digits` significant digits, correctly rounded. */
export function toSignificant(mantissa: bigint, exponent: number, digits: number): number {
  const text = (mantissa < 0n ? -mantissa : mantissa).toString()
  const excess = text.length - digits
  const shown = excess > 0 ? roundDigits(text, digits) : text
  return Number(`${mantissa < 0n ? '-' : ''}${shown}e${exponent + Math.max(0, excess)}`)
}

function roundDigits(text: string, digits: number): string {
  const leading = text.slice(0, digits)
  return text.charCodeAt(digits) >= '5'.charCodeAt(0) ? (BigInt(leading) + 1n).toString() : leading
}

/** `part` of `whole` in percent, to a millionth; 0 if `whole` is 0 (A13). */
export function toPercent(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 100_000_000n) / whole) / 1e6
}

/** Price of one whole token in coins, as `mantissa` · 10^exponent with 15 digits. */
export interface Mark {
  readonly mantissa: number
  readonly exponent: number
}

const digitsOfMark = 15

/** The price in a pool: `coins` base units against `tokens` base units, both above 0. */
export function toMark(coins: bigint, coinDecimals: number, tokens: bigint, tokenDecimals: number): Mark {
  const shift = tokenDecimals - coinDecimals
  // Enough digits for a 15-digit quotient with operands of any size, and at most a digit or two too many.
  const extra = digitsOfMark + 1 + digitsIn(tokens) - digitsIn(coins)
  const quotient = extra >= 0 ? (coins * pow10(extra)) / tokens : coins / (tokens * pow10(-extra))
  const excess = digitsIn(quotient) - digitsOfMark
  return { mantissa: Number(scale(quotient, -excess)), exponent: shift - extra + excess }
}

/** The number of decimal digits; of 0 it is 1. */
function digitsIn(value: bigint): number {
  if (value < 9_007_199_254_740_992n) return Number(value).toString().length
  // Estimates low, then counts up to the exact value.
  let digits = Math.floor((value.toString(16).length - 1) * 1.2041) + 1
  while (value >= pow10(digits)) digits++
  return digits
}

/** Value of `units` of a token in millionths of a dollar. `coinPrice` in 1e-8 dollars. */
export function toMicro(units: bigint, decimals: number, mark: Mark, coinPrice: bigint): bigint {
  return scale(units * BigInt(mark.mantissa) * coinPrice, mark.exponent - decimals - 2)
}

/** Value of `units` of a coin in millionths of a dollar. */
export function coinsToMicro(units: bigint, coinDecimals: number, coinPrice: bigint): bigint {
  return (units * coinPrice) / pow10(coinDecimals + 2)
}

/** Base units of a coin that `micro` millionths of a dollar buy. */
export function microToCoins(micro: bigint, coinDecimals: number, coinPrice: bigint): bigint {
  return (micro * pow10(coinDecimals + 2)) / coinPrice
}

/** The price of one token in USD, 12 significant digits (A16). */
export function toPriceUsd(mark: Mark, coinPrice: bigint): number {
  return toSignificant(BigInt(mark.mantissa) * coinPrice, mark.exponent - 8, 12)
}
