import { messageOf } from '../base/errors.ts'
import { safeText, type Logger } from '../base/log.ts'

/** When the circuit breaker of a sink opens, and for how long. */
export interface BreakerOptions {
  /** Opens after this many consecutive failed sends, each of other items. Default 5. */
  readonly failures?: number
  /** How long it stays open before one item is sent as a trial, in milliseconds. Doubles after each failed trial. Default 5,000. */
  readonly cooldownMs?: number
  /** Maximum of the doubled cooldown, in milliseconds. Default 300,000. */
  readonly capMs?: number
}

export const breakerDefaults = Object.freeze({ failures: 5, cooldownMs: 5_000, capMs: 300_000 })

/** Why a sink sends nothing for now. Times are milliseconds since 1970. */
export interface OpenBreaker {
  /** `breaker`: its sends failed. `pause`: the sink called `ctx.pause`. */
  readonly reason: 'breaker' | 'pause'
  readonly since: number
  /** When sending resumes; for an open breaker, when one item is sent as a trial. */
  readonly until: number
  /** Consecutive failed sends, each of other items. */
  readonly failures: number
  /** Error of the latest failed send; null if none failed. */
  readonly error: string | null
}

/** Maximum of `ctx.pause`: one hour. */
const maxPauseMs = 3_600_000

/** Errors are cut to this length. */
const maxErrorLength = 200

/**
 * Decides whether a sink may send items now. It sends nothing during a pause, or while the breaker is open.
 * After the cooldown an open breaker lets one item through as a trial; the result decides whether it closes. Times are
 * milliseconds since 1970. Listeners are called on every change.
 */
export class CircuitBreaker {
  readonly #options: Readonly<Required<BreakerOptions>> | undefined
  readonly #listeners: (() => void)[] = []
  #pause: Span = { since: 0, until: 0 }
  /** First run ids of the sends that failed since the last success. A retry of the same items is not counted again. */
  readonly #failed = new Set<number>()
  #failedTrials = 0
  #lastError: string | null = null
  #cooldownMs = 0
  #openedAt: number | undefined
  #open: Span = { since: 0, until: 0 }
  /** Run id of the trial while the breaker is half open. */
  #trialRun: number | undefined

  constructor(options: BreakerOptions | undefined) {
    this.#options = options && { ...breakerDefaults, ...options }
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Milliseconds until something may be sent; 0: now. */
  waitMs(now: number): number {
    return Math.max(msLeft(this.#pause, now), this.#openedAt === undefined ? 0 : msLeft(this.#open, now))
  }

  /** Why nothing, or only one trial, may be sent; null: sending is allowed. */
  openState(now: number): OpenBreaker | null {
    const failures = { failures: this.#failed.size + this.#failedTrials, error: this.#lastError }
    const paused = this.#pause
    const pausedUntil = msLeft(paused, now) > 0 ? paused.until : 0
    if (this.#openedAt !== undefined) {
      return { reason: 'breaker', since: this.#openedAt, until: Math.max(this.#open.until, pausedUntil), ...failures }
    }
    return pausedUntil === 0 ? null : { reason: 'pause', ...paused, ...failures }
  }

  /** How many more items may start now. */
  room(now: number): number {
    if (this.waitMs(now) > 0) return 0
    if (this.#openedAt === undefined) return Infinity
    return this.#trialRun === undefined ? 1 : 0
  }

  /** A run starts. Call only if there is room. */
  enter(runId: number): void {
    if (this.#openedAt !== undefined) this.#trialRun = runId
  }

  /** A run has ended, with any outcome. */
  leave(runId: number): void {
    if (this.#trialRun !== runId) return
    this.#trialRun = undefined
    this.#notify()
  }

  /** Lets one item through now as a trial, if the breaker is open. */
  tryNow(now: number): void {
    if (this.#openedAt === undefined || this.#trialRun !== undefined) return
    this.#open = { since: now, until: now }
    this.#notify()
  }

  /** Sends nothing for `ms` milliseconds. Does nothing if a longer pause is already active. */
  pause(ms: number, now: number): void {
    const pauseMs = Math.min(ms, maxPauseMs)
    if (pauseMs <= msLeft(this.#pause, now)) return
    this.#pause = { since: now, until: now + pauseMs }
    this.#notify()
  }

  /** A send succeeded: the receiver is available. */
  succeeded(now: number, log: Logger): void {
    this.#failed.clear()
    this.#failedTrials = 0
    this.#lastError = null
    if (this.#openedAt === undefined) return
    log.info({ openMs: now - this.#openedAt }, 'breaker closed, sending resumed')
    this.#openedAt = undefined
    this.#trialRun = undefined
    this.#notify()
  }

  /** A send of these runs failed. */
  failed(runIds: readonly number[], now: number, log: Logger, error?: unknown): void {
    const [first] = runIds
    if (this.#options === undefined || first === undefined) return
    if (this.#openedAt !== undefined) {
      // Ignores sends that started before the breaker opened.
      if (this.#trialRun === undefined || !runIds.includes(this.#trialRun)) return
      this.#trialRun = undefined
      this.#failedTrials++
      this.#noteError(error)
      this.#cooldownMs = Math.min(this.#cooldownMs * 2, this.#options.capMs)
    } else {
      this.#failed.add(first)
      this.#noteError(error)
      if (this.#failed.size < this.#options.failures) return
      this.#openedAt = now
      this.#cooldownMs = this.#options.cooldownMs
      const fields = { failures: this.#failed.size, cooldownMs: this.#cooldownMs }
      log.warn(fields, 'breaker opened, items wait')
    }
    this.#open = { since: now, until: now + this.#cooldownMs }
    this.#notify()
  }

  #noteError(error: unknown): void {
    this.#lastError = error === undefined ? null : safeText(messageOf(error), maxErrorLength)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

interface Span {
  readonly since: number
  readonly until: number
}

/** Also ends the span if the clock was set back to before its start. */
function msLeft({ since, until }: Span, now: number): number {
  return now < since ? 0 : Math.max(0, until - now)
}
