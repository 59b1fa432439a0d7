import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createPaces, SettledCounter } from '../../src/dispatch/pace.ts'

function report(attempts: readonly (readonly [kind: 'done' | 'retry' | 'unmatched', ms: number])[]) {
  const counter = new SettledCounter()
  for (const [kind, ms] of attempts) {
    const times = { runId: 1, token: 1, startedAt: 0, endedAt: ms }
    const error = { name: 'RangeError', message: 'no price' }
    counter.add('trades', kind, ms, kind === 'retry' ? { ...times, kind, at: 0, error } : { ...times, kind })
  }
  return counter.take()
}

test('reports the rate of the last minute, and percentiles and error rate of five', async () => {
  const clock = createTestClock()
  const paces = createPaces(clock)
  expect(paces.of('trades')).toMatchObject({ perSecond: 0, errorRate: null, p50Ms: null, lastError: null })
  for (let second = 0; second < 60; second++) {
    paces.add(report([...Array.from({ length: 9 }, () => ['done', 10] as const), ['retry', 1_000], ['unmatched', 0]]))
    await clock.advance(1_000)
  }
  const pace = paces.of('trades')
  expect(pace.perSecond).toBeCloseTo(10, -0.3)
  expect(pace.errorRate).toBe(0.1)
  expect(pace.p50Ms).toBeLessThanOrEqual(10)
  expect(pace.p95Ms).toBeGreaterThan(700)
  expect(pace.p99Ms).toBeLessThanOrEqual(1_000)
  expect(pace.series.slice(-7)).toEqual([100, 100, 100, 100, 100, 100, 0])
  expect(pace.lastError).toEqual({ at: 1_000, name: 'RangeError', message: 'no price' })
  await clock.advance(120_000)
  expect(paces.of('trades')).toMatchObject({ perSecond: 0, errorRate: 0.1 })
  expect(paces.of('trades').p50Ms).not.toBeNull()
})

test('a failed attempt counts until the next one, however long that waits', async () => {
  const clock = createTestClock()
  const paces = createPaces(clock)
  paces.add(report([['retry', 10]]))
  await clock.advance(3_600_000)
  const lastError = { name: 'RangeError', message: 'no price' }
  expect(paces.of('trades')).toMatchObject({ perSecond: 0, p50Ms: null, errorRate: 1, lastError })
  paces.add(report([['done', 10]]))
  expect(paces.of('trades')).toMatchObject({ errorRate: 0, lastError: null })
})
