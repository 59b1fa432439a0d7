import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createPaces } from '../../src/dispatch/pace.ts'
import { createSettledCounter } from '../../src/dispatch/settled-counter.ts'
import {
  countDuration,
  durationBucket,
  durationEdgesMs,
  durationQuantile,
  noDurations,
} from '../../src/base/durations.ts'

function report(attempts: readonly (readonly [kind: 'done' | 'retry' | 'unmatched', ms: number])[]) {
  const counter = createSettledCounter()
  for (const [kind, ms] of attempts) counter.add('trades', kind, ms)
  return counter.take()
}

test('a handler has its rate of the last minute and the percentiles of the last five', async () => {
  const clock = createTestClock()
  const paces = createPaces(clock)
  expect(paces.current().size).toBe(0)
  for (let second = 0; second < 60; second++) {
    paces.add(report([...Array.from({ length: 9 }, () => ['done', 10] as const), ['retry', 1_000], ['unmatched', 0]]))
    await clock.advance(1_000)
  }
  const pace = paces.current().get('trades')
  expect(pace?.perSecond).toBeCloseTo(10, -0.3)
  expect(pace?.failuresPerSecond).toBeCloseTo(1, 0)
  expect(pace?.p50Ms).toBeLessThanOrEqual(10)
  expect(pace?.p95Ms).toBeGreaterThan(700)
  expect(pace?.p99Ms).toBeLessThanOrEqual(1_000)
  await clock.advance(120_000)
  expect(paces.current().get('trades')).toMatchObject({ perSecond: 0, failuresPerSecond: 0 })
  expect(paces.current().get('trades')?.p50Ms).not.toBeNull()
  await clock.advance(300_000)
  expect(paces.current().size).toBe(0)
})

test('a quantile is within the bucket of the value it stands for', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 600_000, noNaN: true }), { minLength: 1 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (values, q) => {
        const counts = noDurations()
        for (const value of values) countDuration(counts, value)
        const exact = values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(q * values.length) - 1)] ?? 0
        const found = durationQuantile(counts, q) ?? NaN
        const bucket = durationBucket(exact)
        expect(found).toBeGreaterThanOrEqual(durationEdgesMs[bucket - 1] ?? 0)
        expect(found).toBeLessThanOrEqual(durationEdgesMs[bucket] ?? Infinity)
      },
    ),
  )
  expect(durationQuantile(noDurations(), 0.5)).toBeNull()
})
