import { messageOf } from '../base/errors.ts'
import { safeText, type Logger } from '../base/log.ts'

/** When a sink that fails is left alone. */
export interface BreakerOptions {
  /** It opens when so many sends in a row have failed, each of other items. Default 5. */
  readonly failures?: number
  /** Nothing is sent for so long; then one item is tried. Doubled each time that this one fails too. Default 5,000. */
  readonly cooldownMs?: number
  /** The longest that it is doubled to. Default 300,000. */
  readonly capMs?: number
}

export const breakerDefaults = Object.freeze({ failures: 5, cooldownMs: 5_000, capMs: 300_000 })

/** Why a sink is left alone. Times are milliseconds since 1970. */
export interface Shut {
  /** `breaker`: its sends fail. `pause`: it asked for one. */
  readonly reason: 'breaker' | 'pause'
  readonly since: number
  /** When something is sent again; of an open breaker, when one item is tried. */
  readonly until: number
  /** Sends in a row that have failed, each of other items. */
  readonly failures: number
  /** What the last of them failed with. */
  readonly error: string | null
}

/** A sink can ask for nothing to be sent for an hour at most. */
const longestPauseMs = 3_600_000

/** Characters that are told of an error. */
const longestError = 200

/**
 * Whether a sink may be given items now. It is shut for a while by a pause that the sink asks for, and by its breaker, where it
 * has one. An open breaker lets one item through when its time is over; what becomes of that decides. Times are milliseconds
 * since 1970. Whoever holds items back is told of every change.
 */
export class Gate {
  readonly #breaker: Readonly<Required<BreakerOptions>> | undefined
  readonly #listeners: (() => void)[] = []
  #paused: Span = { since: 0, until: 0 }
  /** By first items: sends that have failed since the last one that did not. A repeat says nothing new. */
  readonly #failed = new Set<number>()
  #failedTrials = 0
  #lastError: string | null = null
  #cooldownMs = 0
  #openedAt: number | undefined
  #open: Span = { since: 0, until: 0 }
  /** The run that is tried while the breaker is half open. */
  #trial: number | undefined

  constructor(breaker: BreakerOptions | undefined) {
    this.#breaker = breaker && { ...breakerDefaults, ...breaker }
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Milliseconds until something may be sent; 0: now. */
  waitMs(now: number): number {
    return Math.max(leftOf(this.#paused, now), this.#openedAt === undefined ? 0 : leftOf(this.#open, now))
  }

  /** Why nothing may be sent, or no more than one item; null: it is open. */
  shut(now: number): Shut | null {
    const failures = { failures: this.#failed.size + this.#failedTrials, error: this.#lastError }
    const paused = this.#paused
    const pausedUntil = leftOf(paused, now) > 0 ? paused.until : 0
    if (this.#openedAt !== undefined) {
      return { reason: 'breaker', since: this.#openedAt, until: Math.max(this.#open.until, pausedUntil), ...failures }
    }
    return pausedUntil === 0 ? null : { reason: 'pause', ...paused, ...failures }
  }

  /** How many more items may be begun now. */
  room(now: number): number {
    if (this.waitMs(now) > 0) return 0
    if (this.#openedAt === undefined) return Infinity
    return this.#trial === undefined ? 1 : 0
  }

  /** A run begins, where there is room for it. */
  enter(runId: number): void {
    if (this.#openedAt !== undefined) this.#trial = runId
  }

  /** A run has ended, whatever came of it. */
  leave(runId: number): void {
    if (this.#trial !== runId) return
    this.#trial = undefined
    this.#tell()
  }

  /** Nothing is to be sent for so long. A shorter time than it is shut for already changes nothing. */
  pause(ms: number, now: number): void {
    const pauseMs = Math.min(ms, longestPauseMs)
    if (pauseMs <= leftOf(this.#paused, now)) return
    this.#paused = { since: now, until: now + pauseMs }
    this.#tell()
  }

  /** A send has done its work, so whoever gets it is there. */
  succeeded(now: number, log: Logger): void {
    this.#failed.clear()
    this.#failedTrials = 0
    this.#lastError = null
    if (this.#openedAt === undefined) return
    log.info({ openMs: now - this.#openedAt }, 'the sink works again; what waited is sent')
    this.#openedAt = undefined
    this.#trial = undefined
    this.#tell()
  }

  /** A send of these runs has failed, with this. */
  failed(runIds: readonly number[], now: number, log: Logger, error?: unknown): void {
    const [first] = runIds
    if (this.#breaker === undefined || first === undefined) return
    if (this.#openedAt !== undefined) {
      // Of sends that had begun before it opened nothing new is learnt.
      if (this.#trial === undefined || !runIds.includes(this.#trial)) return
      this.#trial = undefined
      this.#failedTrials++
      this.#noteError(error)
      this.#cooldownMs = Math.min(this.#cooldownMs * 2, this.#breaker.capMs)
    } else {
      this.#failed.add(first)
      this.#noteError(error)
      if (this.#failed.size < this.#breaker.failures) return
      this.#openedAt = now
      this.#cooldownMs = this.#breaker.cooldownMs
      const fields = { failures: this.#failed.size, cooldownMs: this.#cooldownMs }
      log.warn(fields, 'the sink fails; its items wait, and now and then one of them is tried')
    }
    this.#open = { since: now, until: now + this.#cooldownMs }
    this.#tell()
  }

  #noteError(error: unknown): void {
    this.#lastError = error === undefined ? null : safeText(messageOf(error), longestError)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

interface Span {
  readonly since: number
  readonly until: number
}

/** A clock that was set back before the start ends it. */
function leftOf({ since, until }: Span, now: number): number {
  return now < since ? 0 : Math.max(0, until - now)
}
