import type { Clock, Timer } from '../clock.ts'

/** Before the first answer nobody knows how many requests the key has: no plan has fewer (R110). */
const smallestPlan = 10
/** A window is a minute (R110–R113). Whatever our clock makes of its end, it is not waited for longer. */
const longestWindowMs = 61_000
/** Where by our clock it should be over and the service says that it is not. */
const unknownWindowMs = 1_000
/** The longest that one `Retry-After` holds up all calls. */
export const longestPauseMs = 300_000

/** Leave to send one request, to be given back when its answer is there or failed to come. */
export interface Turn {
  /** `headers`: of the answer; null if none came. */
  end(headers: Headers | null): void
}

interface Waiting {
  readonly go: (turn: Turn) => void
}

/**
 * Lets as many requests through as the service says that the key has left (R117–R119), and none while it asks to wait (R107). The
 * others wait, first come, first served. Requests whose answer is not there yet count as used.
 */
export class Pacer {
  readonly #clock: Clock
  readonly #waiting: Waiting[] = []
  #inFlight = 0
  #limit = smallestPlan
  #remaining = smallestPlan
  /** The end of the window as the service said it last; 0: it is over, or unknown. */
  #reset = 0
  /** The same by our clock; null: unknown. */
  #resetAt: number | null = null
  #pausedUntil: number | null = null
  #hasHeard = false
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when a request may be sent; rejects with the reason of the signal. */
  async turn(signal: AbortSignal): Promise<Turn> {
    signal.throwIfAborted()
    const mine = Promise.withResolvers<Turn>()
    const waiting: Waiting = { go: mine.resolve }
    const leave = () => {
      const index = this.#waiting.indexOf(waiting)
      if (index < 0) return
      this.#waiting.splice(index, 1)
      mine.reject(signal.reason)
      this.#pump()
    }
    signal.addEventListener('abort', leave)
    this.#waiting.push(waiting)
    this.#pump()
    try {
      return await mine.promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Nothing is sent for so long. */
  pause(ms: number): void {
    const until = this.#clock.now() + Math.min(ms, longestPauseMs)
    this.#pausedUntil = Math.max(this.#pausedUntil ?? 0, until)
    this.#pump()
  }

  /** For how long nothing can be sent, as far as is known: 0 if it can now, or when an answer comes. */
  waitMs(): number {
    const now = this.#clock.now()
    this.#forgetThePast(now)
    const reset = this.#remaining <= 0 ? this.#resetAt : null
    return Math.max(0, (this.#pausedUntil ?? now) - now, (reset ?? now) - now)
  }

  #pump(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    while (this.#waiting.length > 0 && this.#canGo()) {
      this.#inFlight++
      this.#waiting.shift()?.go(this.#newTurn())
    }
    if (this.#waiting.length === 0) return
    const at = this.#pausedUntil ?? this.#resetAt
    if (at !== null) this.#timer = this.#clock.after(at - this.#clock.now(), () => this.#pump())
  }

  #canGo(): boolean {
    this.#forgetThePast(this.#clock.now())
    return this.#pausedUntil === null && this.#remaining - this.#inFlight > 0
  }

  /** What lies further ahead than it can is of a clock that was set back. */
  #forgetThePast(now: number): void {
    const isOver = (at: number | null, longestMs: number) => at !== null && (now >= at || at - now > longestMs)
    if (isOver(this.#pausedUntil, longestPauseMs)) this.#pausedUntil = null
    if (isOver(this.#resetAt, longestWindowMs)) {
      this.#resetAt = null
      this.#reset = 0
      this.#remaining = this.#limit
    }
  }

  #newTurn(): Turn {
    let isOver = false
    return {
      end: (headers) => {
        if (isOver) return
        isOver = true
        this.#inFlight--
        if (headers !== null) this.#hear(headers)
        this.#pump()
      },
    }
  }

  #hear(headers: Headers): void {
    const read = (name: string) => {
      const text = headers.get(`X-RateLimit-${name}`)
      return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
    }
    const [limit, remaining, reset] = [read('Limit'), read('Remaining'), read('Reset')]
    if (limit === null || remaining === null || reset === null || limit === 0) {
      // A service that never says anything has no limit that could be kept to.
      if (!this.#hasHeard) this.#limit = this.#remaining = Infinity
      return
    }
    const isFirst = !this.#hasHeard || this.#limit === Infinity
    this.#hasHeard = true
    const now = this.#clock.now()
    // Of a window that is over.
    if (reset < this.#reset) return
    this.#remaining = reset === this.#reset && !isFirst ? Math.min(this.#remaining, remaining) : remaining
    this.#limit = limit
    this.#reset = reset
    const leftMs = reset * 1_000 - now
    this.#resetAt = now + (leftMs <= 0 ? unknownWindowMs : Math.min(leftMs, longestWindowMs))
  }
}
