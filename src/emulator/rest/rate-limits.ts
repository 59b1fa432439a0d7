import type { Clock } from '../../base/clock.ts'

/** What a response says about the quota of who asked (R117–R119). */
export interface Quota {
  readonly limit: number
  readonly remaining: number
  /** When the window ends and the quota is full again, in milliseconds since 1970 of real time. */
  readonly resetAt: number
  /** This request is over the limit, and was not counted (A55). */
  readonly isExceeded: boolean
}

const windowMs = 60_000

/**
 * Counts requests in fixed windows of 60 s, each from the first request of its bucket on, on the wall clock (A54). Of at
 * most `capacity` buckets: beyond that the one whose window is oldest is forgotten.
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

  /** Counts one request of the bucket; what is over the limit is not counted. */
  take(name: string, limit: number): Quota {
    const now = this.#wall.now()
    const bucket = this.#current(name, now)
    const isExceeded = bucket.count >= limit
    if (!isExceeded) bucket.count++
    return {
      limit,
      remaining: Math.max(0, limit - bucket.count),
      resetAt: bucket.startAt + windowMs,
      isExceeded,
    }
  }

  #current(name: string, now: number): { readonly startAt: number; count: number } {
    const bucket = this.#buckets.get(name)
    // A clock that was set back ends the window as well: else it could last for ever.
    if (bucket !== undefined && now < bucket.startAt + windowMs && now >= bucket.startAt) return bucket
    const fresh = { startAt: now, count: 0 }
    this.#buckets.delete(name)
    this.#forgetOldest(now)
    this.#buckets.set(name, fresh)
    return fresh
  }

  #forgetOldest(now: number): void {
    for (const [name, { startAt }] of this.#buckets) {
      if (this.#buckets.size < this.#capacity && now < startAt + windowMs) return
      this.#buckets.delete(name)
    }
  }
}

/** The three headers of every response (R117–R119). At the second of the reset the quota is full. */
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
