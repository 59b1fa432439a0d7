import fc from 'fast-check'
import { expect, it } from 'vitest'
import { handlerDefaults } from '../../src/dispatch/define.ts'
import { maxRetryAfterMs, retryDelayMs, type FailedRun } from '../../src/dispatch/retry-policy.ts'

const defaults = handlerDefaults.retry

const options = fc
  .record({
    attempts: fc.integer({ min: 1, max: 2_000 }),
    baseMs: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    moreMs: fc.nat({ max: 2 ** 31 - 1 }),
  })
  .map(({ attempts, baseMs, moreMs }) => ({ attempts, baseMs, capMs: Math.min(baseMs + moreMs, 2 ** 31 - 1) }))
const failures = fc.integer({ min: 1, max: 2_500 })
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

function after(failures: number, given: Partial<FailedRun> = {}): number | null {
  return retryDelayMs(defaults, { failures, retryAfterMs: undefined, random: 0, ...given })
}

it('the retry policy doubles from 1 s to 10 min by default, for 10 attempts', () => {
  const almostOne = 1 - Number.EPSILON
  const longest = Array.from({ length: 10 }, (_, index) => after(index + 1, { random: almostOne }))
  const doubled = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000]
  expect(longest).toEqual([...doubled, null])
  expect(Array.from({ length: 9 }, (_, index) => after(index + 1))).toEqual(doubled.map((ms) => ms / 2))
  expect(
    retryDelayMs({ ...defaults, attempts: 99 }, { failures: 30, retryAfterMs: undefined, random: almostOne }),
  ).toBe(600_000)
})

it('the retry policy keeps to its attempts, its jitter, its cap and the delay that the handler asked for', () => {
  const asked = fc.option(fc.nat({ max: maxRetryAfterMs }), { nil: undefined })
  fc.assert(
    fc.property(options, failures, random, asked, (policy, failures, random, retryAfterMs) => {
      const delayMs = retryDelayMs(policy, { failures, retryAfterMs, random })
      expect(delayMs === null).toBe(failures >= policy.attempts)
      if (delayMs === null) return
      const full = Math.min(policy.capMs, policy.baseMs * 2 ** (failures - 1))
      expect(Number.isInteger(delayMs)).toBe(true)
      expect(delayMs).toBeGreaterThanOrEqual(Math.max(Math.floor(full / 2), retryAfterMs ?? 0))
      expect(delayMs).toBeLessThanOrEqual(Math.max(full, retryAfterMs ?? 0))
    }),
  )
})

it.each([
  ['a fraction', 2_500.25, 2_501],
  ['Infinity', Infinity, maxRetryAfterMs],
  ['NaN', NaN, 500],
  ['a negative number', -1, 500],
  ['a text', '9000', 500],
  ['an object', {}, 500],
])('the retry policy converts a delay that is %s to whole milliseconds', (_what, retryAfterMs, delayMs) => {
  expect(after(1, { retryAfterMs: retryAfterMs as number })).toBe(delayMs)
})
