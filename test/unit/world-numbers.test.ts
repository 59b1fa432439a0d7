import { expect, test } from 'vitest'
import { toMark, toMicro, toPriceUsd, toSignificant, toUsd } from '../../src/emulator/world/numbers.ts'

test.each([
  [0n, 5, 12, 0],
  [999_999n, -6, 3, 1],
  [-999_999n, -6, 3, -1],
  [125n, -2, 2, 1.3],
  [124_999_999n, -8, 2, 1.2],
  [1n, -18, 15, 1e-18],
  [123_456_789_012_345_678n, -15, 15, 123.456789012346],
])('A16 shows %s · 10^%s with %s digits as %s', (mantissa, exponent, digits, shown) => {
  expect(toSignificant(mantissa, exponent, digits)).toBe(shown)
})

test.each([
  [999_999n, 0.999999],
  [1_004_999n, 1],
  [1_005_000n, 1.01],
  [-1_005_000n, -1.01],
  [12_345_678_901_234n, 12_345_678.9],
])('A16 %s millionths of a dollar are shown as %s: cents from one dollar up', (micro, usd) => {
  expect(toUsd(micro)).toBe(usd)
})

test('A16 a price has 12 digits, rounded once, and the value of a balance agrees with it', () => {
  // 1 coin of 18 decimals for 3,000,000 tokens of 6; a coin costs 2,000.12345678 USD.
  const mark = toMark(10n ** 18n, 18, 3n * 10n ** 12n, 6)
  const coinPrice = 200_012_345_678n
  expect(mark).toEqual({ mantissa: 333_333_333_333_333, exponent: -21 })
  expect(toPriceUsd(mark, coinPrice)).toBe(0.000666707818927)
  expect(toMicro(3n * 10n ** 12n, 6, mark, coinPrice)).toBe(2_000_123_456n)
})
