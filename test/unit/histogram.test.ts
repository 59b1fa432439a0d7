import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Histogram } from '../../src/base/histogram.ts'

function histogramOf(times: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const ms of times) histogram.observe(ms)
  return histogram
}

test('quantiles are at most 15 % too high, from 0.1 ms to 5 min', () => {
  const times = fc.array(fc.double({ min: 0.1, max: 300_000, noNaN: true }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(times, fc.constantFrom(0.5, 0.9, 0.99, 1), (all, q) => {
      const sorted = all.toSorted((a, b) => a - b)
      const exact = sorted[Math.ceil(q * sorted.length) - 1]!
      const found = histogramOf(all).quantile(q)!
      expect(found).toBeGreaterThanOrEqual(exact)
      expect(found).toBeLessThanOrEqual(exact * 1.1501)
    }),
  )
  expect(new Histogram().quantile(0.5)).toBeNull()
  expect(histogramOf([900_000, 1_000_000]).quantile(0.5)).toBe(1_000_000)
  expect(histogramOf([0, -1]).quantile(1)).toBe(0)
})

test('histograms add up, even after structuredClone', () => {
  const all = histogramOf([1, 10])
  all.add(structuredClone(histogramOf([10, 11])))
  expect([1, 10, 100].map((ms) => all.countUpTo(ms))).toEqual([1, 3, 4])
  expect([all.totalMs, all.maxMs]).toEqual([32, 11])
})
