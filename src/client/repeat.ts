import type { ApiError } from './errors.ts'
import type { Operation } from './operations.ts'

const [baseMs, capMs] = [500, 10_000]

/** Codes of failures to connect: nothing was sent. */
const neverSent: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

/**
 * Whether a failed try may be followed by another. What reads, and what deletes, may be done twice. POST and PATCH are repeated
 * only where the first cannot have been carried out: refused for the rate limit (R107), or never connected. A second alert or
 * webhook would mean double deliveries, and the service knows no key to tell a repeat by (A27).
 */
export function mayRepeat(error: ApiError, method: Operation['method']): boolean {
  if (!error.isRetryable) return false
  if (method === 'get' || method === 'delete' || error.status === 429) return true
  return wasNeverSent(error)
}

/** Whether what was asked may have been done, though nothing says so. */
export function isInDoubt(error: ApiError): boolean {
  if (error.status === null) return error.isRetryable && !wasNeverSent(error)
  return error.status >= 500 || (error.status >= 200 && error.status <= 299)
}

/** `fetch` wraps what went wrong. */
function wasNeverSent({ cause }: ApiError): boolean {
  const reason: unknown = cause instanceof Error ? (cause.cause ?? cause) : undefined
  return neverSent.includes((reason as { readonly code?: unknown } | undefined)?.code)
}

/** Half a second before the second try, doubled each time up to ten, of which up to half is left to chance. `random` in [0, 1). */
export function repeatDelayMs(attempt: number, random: number): number {
  return Math.round(Math.min(capMs, baseMs * 2 ** (attempt - 1)) * (1 - random / 2))
}
