import type { Clock } from './clock.ts'

/** Lets so many things happen per second on average, and after a pause up to one second's worth of them at once. */
export class TokenBucket {
  #perSecond: number
  #capacity: number
  readonly #clock: Clock
  #tokens: number
  #at: number

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond
    this.#capacity = Math.max(1, perSecond)
    this.#clock = clock
    this.#tokens = this.#capacity
    this.#at = clock.now()
  }

  /** From now on it lets so many things happen; what has gathered stays, up to one second's worth. */
  setRate(perSecond: number): void {
    this.#refill()
    this.#perSecond = perSecond
    this.#capacity = Math.max(1, perSecond)
    this.#tokens = Math.min(this.#capacity, this.#tokens)
  }

  /** Takes a token if there is one. */
  take(): boolean {
    this.#refill()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** How many whole tokens there are. */
  available(): number {
    this.#refill()
    return Math.max(0, Math.floor(this.#tokens))
  }

  /** Takes so many, also more than there are: then it takes longer until there are some again. */
  spend(tokens: number): void {
    this.#tokens -= tokens
  }

  /** Milliseconds until there is a token. */
  waitMs(): number {
    this.#refill()
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1_000)
  }

  #refill(): void {
    const now = this.#clock.now()
    // A clock that was set back brings nothing, and costs nothing.
    const elapsedMs = Math.max(0, now - this.#at)
    this.#at = now
    this.#tokens = Math.min(this.#capacity, this.#tokens + (elapsedMs / 1_000) * this.#perSecond)
  }
}
