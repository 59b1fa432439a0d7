import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { handlerDefaults } from '../../src/dispatch/define.ts'
import { maxRetryAfterMs, retryDelayMs, type FailedAttempt } from '../../src/dispatch/retry-policy.ts'

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

function after(failures: number, given: Partial<FailedAttempt> = {}): number | null {
  return retryDelayMs(defaults, { failures, retryAfterMs: undefined, random: 0, ...given })
}

describe('the retry policy', () => {
  it('doubles from 1 s up to 10 min by default, and gives up after 10 attempts', () => {
    const almostOne = 1 - Number.EPSILON
    const longest = Array.from({ length: 10 }, (_, index) => after(index + 1, { random: almostOne }))
    const doubled = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000]
    expect(longest).toEqual([...doubled, null])
    expect(Array.from({ length: 9 }, (_, index) => after(index + 1))).toEqual(doubled.map((ms) => ms / 2))
    expect(
      retryDelayMs({ ...defaults, attempts: 99 }, { failures: 30, retryAfterMs: undefined, random: almostOne }),
    ).toBe(600_000)
  })

  it('waits between half of the doubled time and all of it, never above the cap, in whole milliseconds', () => {
    fc.assert(
      fc.property(options, failures, random, (policy, failures, random) => {
        const delayMs = retryDelayMs(policy, { failures, retryAfterMs: undefined, random })
        if (delayMs === null) return
        const full = Math.min(policy.capMs, policy.baseMs * 2 ** (failures - 1))
        expect(Number.isInteger(delayMs)).toBe(true)
        expect(delayMs).toBeGreaterThanOrEqual(Math.floor(full / 2))
        expect(delayMs).toBeLessThanOrEqual(full)
      }),
    )
  })

  it('gives up when the attempts are used up and never before', () => {
    fc.assert(
      fc.property(
        options,
        failures,
        random,
        fc.option(fc.nat(), { nil: undefined }),
        (policy, failures, random, ms) => {
          const delayMs = retryDelayMs(policy, { failures, retryAfterMs: ms, random })
          expect(delayMs === null).toBe(failures >= policy.attempts)
        },
      ),
    )
  })

  it('never comes back before the time that the handler asked for', () => {
    fc.assert(
      fc.property(options, failures, random, fc.nat({ max: maxRetryAfterMs }), (policy, failures, random, ms) => {
        const asked = retryDelayMs(policy, { failures, retryAfterMs: ms, random })
        const unasked = retryDelayMs(policy, { failures, retryAfterMs: undefined, random })
        if (asked === null || unasked === null) return
        expect(asked).toBe(Math.max(ms, unasked))
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
  ])('makes a whole number of milliseconds of a wait that is %s', (_what, retryAfterMs, delayMs) => {
    expect(after(1, { retryAfterMs: retryAfterMs as number })).toBe(delayMs)
  })
})
