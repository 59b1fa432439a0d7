import PQueue from 'p-queue'
import type { Clock, Timer } from '../base/clock.ts'

/** Requests that every plan has per window (R110): the limit until the first response. */
const smallestPlan = 10
/** A window is a minute (R110–R113). The pacer never waits longer, even if the clocks differ. */
const maxWindowMs = 61_000
/** Wait if the window is over by the clock of this machine, but not for the upstream. */
const unknownWindowMs = 1_000
/** Maximum pause after a `Retry-After`. */
export const maxPauseMs = 300_000

/**
 * Sends as many requests as the rate-limit headers allow (R117–R119), and none during a pause that the upstream asks for (R107).
 * Others wait in order. Requests in flight count as used.
 */
export class Pacer {
  readonly #clock: Clock
  readonly #queue = new PQueue({ concurrency: smallestPlan })
  #limit = smallestPlan
  #remaining = smallestPlan
  /** End of the window by the clock of the upstream, in seconds since 1970; 0: over, or unknown. */
  #reset = 0
  /** End of the window by the clock of this machine; null: unknown. */
  #resetAt: number | null = null
  #pausedUntil: number | null = null
  #hasLimits = false
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs `send` when a request may be sent. Rejects with the reason of `signal` if that is aborted before. */
  async run<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    this.#update()
    const running = this.#queue.add(send, { signal })
    this.#update()
    try {
      return await running
    } finally {
      this.#update()
    }
  }

  /** Sends nothing for `ms` milliseconds. */
  pause(ms: number): void {
    const until = this.#clock.now() + Math.min(ms, maxPauseMs)
    this.#pausedUntil = Math.max(this.#pausedUntil ?? 0, until)
    this.#update()
  }

  /** Reads the limits from the headers of a response. */
  readLimits(headers: Headers): void {
    const read = (name: string) => {
      const text = headers.get(`X-RateLimit-${name}`)
      return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
    }
    const [limit, remaining, reset] = [read('Limit'), read('Remaining'), read('Reset')]
    if (limit === null || remaining === null || reset === null || limit === 0) {
      // An upstream that never names a limit has none.
      if (!this.#hasLimits) this.#limit = this.#remaining = Infinity
      return this.#update()
    }
    const isFirst = !this.#hasLimits || this.#limit === Infinity
    this.#hasLimits = true
    // A response of an earlier window came late.
    if (reset < this.#reset) return
    this.#remaining = reset === this.#reset && !isFirst ? Math.min(this.#remaining, remaining) : remaining
    this.#limit = limit
    this.#reset = reset
    const now = this.#clock.now()
    const remainingMs = reset * 1_000 - now
    this.#resetAt = now + (remainingMs <= 0 ? unknownWindowMs : Math.min(remainingMs, maxWindowMs))
    this.#update()
  }

  #update(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const now = this.#clock.now()
    this.#clearPassedTimes(now)
    if (this.#pausedUntil === null && this.#remaining > 0) {
      this.#queue.concurrency = this.#remaining
      this.#queue.start()
    } else this.#queue.pause()
    if (this.#queue.size === 0) return
    const at = this.#pausedUntil ?? this.#resetAt
    if (at !== null) this.#timer = this.#clock.after(at - now, () => this.#update())
  }

  /** A time too far ahead means that the clock was set back. */
  #clearPassedTimes(now: number): void {
    const hasPassed = (at: number | null, maxMs: number) => at !== null && (now >= at || at - now > maxMs)
    if (hasPassed(this.#pausedUntil, maxPauseMs)) this.#pausedUntil = null
    if (hasPassed(this.#resetAt, maxWindowMs)) {
      this.#resetAt = null
      this.#reset = 0
      this.#remaining = this.#limit
    }
  }
}
