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
const mostTurns = 100_000

/**
 * Virtual time. It moves from one timer to the next once nothing is left to do at the present one: this is known because
 * `setImmediate` is replaced, as is `performance.now`, while a simulation runs. All else that the product waits for are promises.
 */
export class VirtualTime {
  /** Milliseconds since the simulation began; never goes back. */
  elapsed = 0
  #wall = start
  readonly #timers: Pending[] = []
  #armed = 0
  readonly #realImmediate = globalThis.setImmediate
  readonly #onThrown: (error: unknown) => void
  #immediates = 0

  /** `onThrown` is told what a callback of `setImmediate` or a timer threw: in a real process nobody would catch it. */
  constructor(onThrown: (error: unknown) => void) {
    this.#onThrown = onThrown
  }

  /** Replaces what Node measures time by; gives what puts it back. */
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

  /** Calls `fn` after `ms`, if that life still lasts then. */
  after(life: Life, ms: number, fn: () => void): Timer {
    const at = this.elapsed + Math.max(0, ms)
    const timer = { at, priority: 0, order: this.#armed++, fn, life, isCancelled: false }
    addDue(this.#timers, timer)
    return { cancel: () => void (timer.isCancelled = true) }
  }

  /** Resolves after `ms`, or never if that life ends before. */
  sleep(life: Life, ms: number): Promise<void> {
    return new Promise((resolve) => this.after(life, ms, resolve))
  }

  /** The clock on the wall, as code of that life sees it. */
  clock(life: Life, random: Random): Clock {
    return {
      now: () => Math.floor(this.#wall + this.elapsed),
      after: (ms, fn) => this.after(life, ms, fn),
      random: () => random.next(),
    }
  }

  /** Sets the clock on the wall; timers are not moved by that. */
  setWall(byMs: number): void {
    this.#wall += byMs
  }

  /** Lets `ms` pass, or less once `isOver`. */
  async pass(ms: number, isOver: () => boolean): Promise<void> {
    const until = this.elapsed + ms
    await this.#settle()
    for (;;) {
      if (isOver()) break
      const timer = takeDue(this.#timers, until)
      if (timer === undefined) break
      if (timer.isCancelled || timer.life.hasEnded) continue
      this.elapsed = timer.at
      this.#call(timer.fn)
      await this.#settle()
    }
    if (!isOver()) this.elapsed = until
  }

  async #settle(): Promise<void> {
    for (let turns = 0; turns === 0 || this.#immediates > 0; turns += 1) {
      if (turns > mostTurns) throw new Error('it goes on for ever without letting time pass')
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
