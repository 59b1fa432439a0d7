import { inspect } from 'node:util'
import type { RetryFailure, RetryOptions, RetryPolicy } from './define.ts'

/** A run after an attempt that failed. */
export interface FailedAttempt {
  /** How many of its attempts have failed, this one included. What a crash ended does not count. */
  readonly failures: number
  /** What the handler asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /** A number in [0, 1). */
  readonly random: number
}

/** A handler cannot put its run off for longer than a year. */
export const longestRetryAfterMs = 365 * 24 * 3_600_000

/**
 * How long to wait before the next attempt, in whole milliseconds, or null to give up. Pure. The wait doubles from `baseMs` up
 * to `capMs`, with half jitter (0.5 to 1 of it), so that runs that failed together do not come back together. A longer wait
 * that the handler asked for is kept to.
 */
export function retryDelayMs(options: Readonly<Required<RetryOptions>>, failed: FailedAttempt): number | null {
  if (failed.failures >= options.attempts) return null
  const full = Math.min(options.capMs, options.baseMs * 2 ** (failed.failures - 1))
  const jittered = Math.round(full * (0.5 + failed.random / 2))
  return Math.max(jittered, toWaitMs(failed.retryAfterMs))
}

/**
 * The same by a function of the handler's: what it gives is kept to, without jitter. Throws what it throws, and TypeError where it gives
 * neither a number of milliseconds from 0 nor null.
 */
export function askRetryPolicy(policy: RetryPolicy, failure: RetryFailure): number | null {
  const answer: unknown = policy(failure)
  if (answer === null) return null
  if (typeof answer === 'number' && answer >= 0) return Math.min(Math.ceil(answer), longestRetryAfterMs)
  throw new TypeError(
    `expected milliseconds or null from \`retry\`, received ${inspect(answer, { depth: 0 }).slice(0, 100)}`,
  )
}

/** User code may have computed it, from a header for instance: NaN, a fraction or no number at all must not spoil the verdict. */
function toWaitMs(asked: unknown): number {
  return typeof asked === 'number' && asked > 0 ? Math.min(Math.ceil(asked), longestRetryAfterMs) : 0
}
