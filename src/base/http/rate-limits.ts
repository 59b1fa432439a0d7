import type { Clock } from '../clock.ts'

/** The caller's quota, for the response headers (R117–R119). */
export type Quota = ReturnType<RateLimits['take']>

const windowMs = 60_000

/**
 * Counts requests per bucket in fixed windows of 60 s, each starting at the first request, on the wall clock (A54).
 * Beyond `capacity` buckets, the one with the oldest window is dropped.
 */
export class RateLimits {
  readonly #wall: Pick<Clock, 'now'>
  readonly #capacity: number
  /** Ordered by the start of the window: a bucket moves to the end when it begins a new one. */
  readonly #buckets = new Map<string, { readonly startAt: number; count: number }>()

  constructor(wall: Pick<Clock, 'now'>, capacity: number) {
    this.#wall = wall
    this.#capacity = capacity
  }

  /**
   * Counts one request of the bucket, unless it exceeds the limit (A55). The quota is full again at `resetAt`, in
   * milliseconds since 1970 of real time.
   */
  take(name: string, limit: number) {
    const now = this.#wall.now()
    const bucket = this.#current(name, now)
    const isExceeded = bucket.count >= limit
    if (!isExceeded) bucket.count++
    return { limit, remaining: Math.max(0, limit - bucket.count), resetAt: bucket.startAt + windowMs, isExceeded }
  }

  /** Milliseconds until the bucket takes another request; 0: now. Counts nothing. */
  waitMs(name: string, limit: number): number {
    const now = this.#wall.now()
    const bucket = this.#existing(name, now)
    return bucket !== undefined && bucket.count >= limit ? bucket.startAt + windowMs - now : 0
  }

  #existing(name: string, now: number): { readonly startAt: number; count: number } | undefined {
    const bucket = this.#buckets.get(name)
    // If the clock is set back, the window ends too; otherwise it could last very long.
    return bucket !== undefined && now < bucket.startAt + windowMs && now >= bucket.startAt ? bucket : undefined
  }

  #current(name: string, now: number): { readonly startAt: number; count: number } {
    const existing = this.#existing(name, now)
    if (existing !== undefined) return existing
    const newBucket = { startAt: now, count: 0 }
    this.#buckets.delete(name)
    this.#forgetOldest(now)
    this.#buckets.set(name, newBucket)
    return newBucket
  }

  #forgetOldest(now: number): void {
    for (const [name, { startAt }] of this.#buckets) {
      if (this.#buckets.size < this.#capacity && now < startAt + windowMs) return
      this.#buckets.delete(name)
    }
  }
}

/** The three headers of every response (R117–R119). The quota is full at the second in the reset header. */
export function quotaHeaders({ limit, remaining, resetAt }: Quota): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil(resetAt / 1_000)),
  }
}

/** Whole seconds to wait until the quota is full, at least 1 (A56). */
export function retryAfterSeconds({ resetAt }: Quota, now: number): number {
  return Math.max(1, Math.ceil((resetAt - now) / 1_000))
}
