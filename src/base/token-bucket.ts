import type { Clock } from './clock.ts'

/** Rate limiter: `perSecond` on average, and after a pause a burst of up to one second's worth. */
export class TokenBucket {
  #perSecond: number
  #capacity: number
  readonly #clock: Clock
  #tokens: number
  #refilledAt: number

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond
    this.#capacity = Math.max(1, perSecond)
    this.#clock = clock
    this.#tokens = this.#capacity
    this.#refilledAt = clock.now()
  }

  /** Changes the rate. Keeps collected tokens, up to one second's worth. */
  setRate(perSecond: number): void {
    this.#refill()
    this.#perSecond = perSecond
    this.#capacity = Math.max(1, perSecond)
    this.#tokens = Math.min(this.#capacity, this.#tokens)
  }

  /** Takes a token if one is available. */
  take(): boolean {
    this.#refill()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** Number of whole tokens available. */
  available(): number {
    this.#refill()
    return Math.max(0, Math.floor(this.#tokens))
  }

  /** Takes tokens, even more than available: then refilling takes longer. */
  spend(tokens: number): void {
    this.#tokens -= tokens
  }

  /** Milliseconds until a token is available. */
  waitMs(): number {
    this.#refill()
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1_000)
  }

  #refill(): void {
    const now = this.#clock.now()
    // If the clock was set back, nothing changes.
    const elapsedMs = Math.max(0, now - this.#refilledAt)
    this.#refilledAt = now
    this.#tokens = Math.min(this.#capacity, this.#tokens + (elapsedMs / 1_000) * this.#perSecond)
  }
}
