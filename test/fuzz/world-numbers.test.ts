import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pow10, roundUsd, toMark, toMicro, toPriceUsd, toSignificant, toUsd } from '../../src/emulator/world/numbers.ts'
import { worldCounts } from '../counts.ts'

const runs = { numRuns: worldCounts.numberRuns }
const anyMicro = fc.oneof(
  fc.bigInt({ min: -2_000_000n, max: 2_000_000n }),
  fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }),
)
const units = fc.oneof(fc.bigInt({ min: 1n, max: 1000n }), fc.bigInt({ min: 1n, max: 10n ** 36n }))
const decimals = fc.constantFrom(6, 9, 18)
const coinPrice = fc.bigInt({ min: 1_000n, max: 10n ** 13n })

/** The decimal digits of a number as `mantissa` · 10^exponent. */
function digitsShown(value: number): { readonly mantissa: bigint; readonly exponent: number } {
  const [digits = '0', exponent = '0'] = value.toExponential().split('e')
  const [whole = '0', fraction = ''] = digits.split('.')
  return { mantissa: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

/** a · 10^m and b · 10^n as whole numbers of the same exponent. */
function aligned(a: bigint, m: number, b: bigint, n: number): readonly [bigint, bigint] {
  const lowest = Math.min(m, n)
  return [a * pow10(m - lowest), b * pow10(n - lowest)]
}

const absolute = (value: bigint) => (value < 0n ? -value : value)

describe('toSignificant', () => {
  it('A16 rounds to the nearest number of the given digits, halves away from zero', () => {
    const digits = fc.integer({ min: 1, max: 15 })
    const mantissa = fc.bigInt({ min: -(10n ** 45n), max: 10n ** 45n })
    fc.assert(
      fc.property(mantissa, fc.integer({ min: -60, max: 20 }), digits, (value, exponent, count) => {
        const shown = digitsShown(toSignificant(value, exponent, count))
        const text = absolute(value).toString()
        // One unit of the last digit.
        const last = exponent + Math.max(0, text.length - count)
        const [one, other] = aligned(shown.mantissa, shown.exponent, value, exponent)
        const [unit] = aligned(1n, last, 1n, Math.min(shown.exponent, exponent))
        expect(2n * absolute(one - other) <= unit).toBe(true)
        if (2n * absolute(one - other) === unit) expect(absolute(one) > absolute(other)).toBe(true)
        expect(absolute(shown.mantissa).toString().length).toBeLessThanOrEqual(count)
      }),
      runs,
    )
  })

  it.each([
    [0n, 5, 12, 0],
    [999_999n, -6, 3, 1],
    [-999_999n, -6, 3, -1],
    [125n, -2, 2, 1.3],
    [124_999_999n, -8, 2, 1.2],
    [1n, -18, 15, 1e-18],
  ])('A16 shows %s · 10^%s with %s digits as %s', (mantissa, exponent, digits, shown) => {
    expect(toSignificant(mantissa, exponent, digits)).toBe(shown)
  })
})

describe('dollars', () => {
  it('A16 round to the cent from one dollar up, and to the millionth below', () => {
    fc.assert(
      fc.property(anyMicro, (micro) => {
        const rounded = roundUsd(micro)
        if (absolute(micro) < 1_000_000n) expect(rounded).toBe(micro)
        else {
          expect(rounded % 10_000n).toBe(0n)
          expect(absolute(rounded - micro) <= 5000n).toBe(true)
          if (absolute(rounded - micro) === 5000n) expect(absolute(rounded) > absolute(micro)).toBe(true)
        }
        expect(roundUsd(rounded)).toBe(rounded)
        expect(roundUsd(-micro)).toBe(-rounded)
        expect(toUsd(micro)).toBe(Number(`${rounded}e-6`))
      }),
      runs,
    )
  })
})

describe('the price of a pool', () => {
  it('A16 has 12 digits in USD, and the value of a balance agrees with it', () => {
    fc.assert(
      fc.property(
        units,
        units,
        decimals,
        coinPrice,
        fc.bigInt({ min: 1n, max: 10n ** 27n }),
        (coins, tokens, places, price, held) => {
          const mark = toMark(coins, 18, tokens, places)
          const shown = toPriceUsd(mark, price)
          expect(digitsShown(shown).mantissa.toString().length).toBeLessThanOrEqual(12)
          const micro = Number(toMicro(held, places, mark, price))
          const expected = (Number(held) / 10 ** places) * shown * 1e6
          expect(Math.abs(micro - expected)).toBeLessThanOrEqual(1 + expected * 1e-11)
        },
      ),
      runs,
    )
  })
})
