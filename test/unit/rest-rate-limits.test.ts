import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { quotaHeaders, RateLimits, retryAfterSeconds } from '../../src/base/http/rate-limits.ts'

const setUp = (capacity = 100) => {
  const wall = createTestClock(Date.UTC(2026, 0, 1) + 250)
  return { wall, limits: new RateLimits(wall, capacity) }
}

test('A54 a window begins with the first request of its bucket and lasts 60 s', async () => {
  const { wall, limits } = setUp()
  const startAt = wall.now()
  limits.take('a', 2)
  await wall.advance(59_999)
  expect(limits.take('a', 2)).toEqual({ limit: 2, remaining: 0, resetAt: startAt + 60_000, isExceeded: false })
  expect(limits.take('a', 2).isExceeded).toBe(true)
  expect(limits.take('b', 2)).toMatchObject({ remaining: 1, resetAt: wall.now() + 60_000 })
  await wall.advance(1)
  expect(limits.take('a', 2)).toMatchObject({ remaining: 1, resetAt: startAt + 120_000, isExceeded: false })
})

test('A55 rejected requests do not count', () => {
  const { limits } = setUp()
  for (let i = 0; i < 5; i++) limits.take('a', 1)
  expect(limits.take('a', 3)).toMatchObject({ remaining: 1, isExceeded: false })
})

test('A56 the quota is full after Retry-After and at the second of the reset', () => {
  fc.assert(
    fc.property(fc.nat(10_000_000), fc.nat(59_999), (offset, elapsed) => {
      let now = Date.UTC(2026, 0, 1) + offset
      const limits = new RateLimits({ now: () => now }, 10)
      limits.take('a', 1)
      now += elapsed
      const quota = limits.take('a', 1)
      const seconds = retryAfterSeconds(quota, now)
      const rejectedAt = now
      expect(quota.isExceeded).toBe(true)
      expect(seconds).toBeGreaterThanOrEqual(1)
      expect(seconds).toBeLessThanOrEqual(60)
      now = Number(quotaHeaders(quota)['X-RateLimit-Reset']) * 1_000
      expect(limits.take('a', 1).isExceeded).toBe(false)
      const later = new RateLimits({ now: () => now }, 10)
      now = quota.resetAt - 60_000
      later.take('a', 1)
      now = rejectedAt + seconds * 1_000
      expect(later.take('a', 1).isExceeded).toBe(false)
    }),
  )
})
