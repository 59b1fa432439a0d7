import { inspect } from 'node:util'
import type { RetryFailure, RetryOptions, RetryPolicy } from './define.ts'

/** A run after a failed attempt. */
export interface FailedRun extends Pick<RetryFailure, 'failures' | 'retryAfterMs'> {
  /** A number in [0, 1). */
  readonly random: number
}

/** Maximum delay that a handler can ask for: one year. */
export const maxRetryAfterMs = 365 * 24 * 3_600_000

/**
 * Returns the delay before the next attempt in whole milliseconds; null makes the run a dead letter. Pure. The delay
 * doubles from `baseMs` up to `capMs`. Half jitter (0.5 to 1 times the delay) spreads runs that failed together. A
 * longer delay that the handler asked for wins.
 */
export function retryDelayMs(options: Readonly<Required<RetryOptions>>, failed: FailedRun): number | null {
  if (failed.failures >= options.attempts) return null
  const full = Math.min(options.capMs, options.baseMs * 2 ** (failed.failures - 1))
  const jittered = Math.round(full * (0.5 + failed.random / 2))
  return Math.max(jittered, toWaitMs(failed.retryAfterMs))
}

/**
 * Like `retryDelayMs`, with a retry function of the handler and no jitter. Throws what the function throws, and
 * TypeError unless it returns milliseconds ≥ 0 or null.
 */
export function askRetryPolicy(policy: RetryPolicy, failure: RetryFailure): number | null {
  const answer: unknown = policy(failure)
  if (answer === null) return null
  if (typeof answer === 'number' && answer >= 0) return Math.min(Math.ceil(answer), maxRetryAfterMs)
  throw new TypeError(
    `expected milliseconds or null from \`retry\`, received ${inspect(answer, { depth: 0 }).slice(0, 100)}`,
  )
}

/** `retryAfterMs` comes from user code: NaN, fractions and other types must not break the outcome. */
function toWaitMs(retryAfterMs: unknown): number {
  return typeof retryAfterMs === 'number' && retryAfterMs > 0 ? Math.min(Math.ceil(retryAfterMs), maxRetryAfterMs) : 0
}
