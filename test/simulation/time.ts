import type { Clock, Timer } from '../../src/base/clock.ts'
import { addDue, takeDue, type Due } from '../../src/emulator/sorted-list.ts'
import type { Life } from './life.ts'
import type { Random } from './random.ts'

interface Pending extends Due {
  readonly fn: () => void
  readonly life: Life
  isCancelled: boolean
}

const start = Date.UTC(2026, 0, 1)
const maxTurns = 100_000

/**
 * Virtual time. It advances to the next timer once nothing is left to do at the present one. To know this, it replaces `setImmediate`
 * and `performance.now` during a simulation. Everything else that the product waits for is a promise.
 */
export class VirtualTime {
  /** Milliseconds since the start; never decreases. */
  elapsed = 0
  #wall = start
  readonly #timers: Pending[] = []
  #armed = 0
  readonly #realImmediate = globalThis.setImmediate
  readonly #onThrown: (error: unknown) => void
  #immediates = 0

  /** `onThrown` gets the errors of `setImmediate` and timer callbacks, which would be uncaught in a real process. */
  constructor(onThrown: (error: unknown) => void) {
    this.#onThrown = onThrown
  }

  /** Replaces the globals. Returns a function that restores them. */
  install(): () => void {
    const counted = (fn: (...given: unknown[]) => void, ...given: unknown[]) => {
      this.#immediates += 1
      return this.#realImmediate(() => {
        this.#immediates -= 1
        this.#call(() => fn(...given))
      })
    }
    const real = Object.getOwnPropertyDescriptor(globalThis, 'setImmediate')!
    Object.defineProperty(globalThis, 'setImmediate', { ...real, value: counted })
    Object.defineProperty(performance, 'now', { configurable: true, value: () => this.elapsed })
    return () => {
      Object.defineProperty(globalThis, 'setImmediate', real)
      Reflect.deleteProperty(performance, 'now')
    }
  }

  /** Calls `fn` after `ms`, unless the life has ended. */
  after(life: Life, ms: number, fn: () => void): Timer {
    const at = this.elapsed + Math.max(0, ms)
    const timer = { at, priority: 0, order: this.#armed++, fn, life, isCancelled: false }
    addDue(this.#timers, timer)
    return { cancel: () => void (timer.isCancelled = true) }
  }

  /** Resolves after `ms`, or never if the life ends first. */
  sleep(life: Life, ms: number): Promise<void> {
    return new Promise((resolve) => this.after(life, ms, resolve))
  }

  /** The wall clock for a life. */
  clock(life: Life, random: Random): Clock {
    return {
      now: () => Math.floor(this.#wall + this.elapsed),
      after: (ms, fn) => this.after(life, ms, fn),
      random: () => random.next(),
    }
  }

  /** Sets the wall clock. Timers stay. */
  setWall(byMs: number): void {
    this.#wall += byMs
  }

  /** Lets `ms` pass, or less if `isDone`. */
  async pass(ms: number, isDone: () => boolean): Promise<void> {
    const until = this.elapsed + ms
    await this.#settle()
    for (;;) {
      if (isDone()) break
      const timer = takeDue(this.#timers, until)
      if (timer === undefined) break
      if (timer.isCancelled || timer.life.hasEnded) continue
      this.elapsed = timer.at
      this.#call(timer.fn)
      await this.#settle()
    }
    if (!isDone()) this.elapsed = until
  }

  async #settle(): Promise<void> {
    for (let turns = 0; turns === 0 || this.#immediates > 0; turns += 1) {
      if (turns > maxTurns) throw new Error('the code runs without letting time pass')
      await new Promise<void>((resolve) => this.#realImmediate(resolve))
    }
  }

  #call(fn: () => void): void {
    try {
      fn()
    } catch (error) {
      this.#onThrown(error)
    }
  }
}
