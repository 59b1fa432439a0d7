import type { Clock } from '../base/clock.ts'
import { createLogLimit } from '../base/log-limit.ts'
import type { Logger } from '../base/log.ts'
import type { RunnerTiming } from './runner-protocol.ts'

export interface BlockageOptions {
  readonly pulse: Pulse
  /** Names of the handlers that may be blocking the thread now. */
  readonly candidates: () => readonly string[]
  readonly timing: Pick<RunnerTiming, 'watchMs' | 'blockedWarnMs' | 'blockedGraceMs'>
  readonly clock: Clock
  readonly log: Logger
  /** Called when the thread was blocked too long and counts as lost. */
  readonly onLost: (reason: string) => void
}

/**
 * Watches whether a thread is blocked. Warns when a blockage starts and when it ends, and names the handlers
 * responsible. Silence is counted in checks, not read from a clock: if this process was suspended, no handler is
 * blamed.
 */
export function watchForBlockage(options: BlockageOptions): { close(): void } {
  const { pulse, timing, clock, log } = options
  const { watchMs, blockedWarnMs, blockedGraceMs } = timing
  const limit = createLogLimit(clock)
  let lastBeats = 0
  let silentMs = 0
  let blamed: readonly string[] | undefined

  const warn = (fields: object, message: string) => {
    const line = limit()
    if (line !== null) log.warn({ ...fields, ...line }, message)
  }

  function check(): void {
    const { beats, maxTimeoutMs } = pulse
    const gapMs = pulse.takeLongestGapMs()
    silentMs = beats === lastBeats ? silentMs + watchMs : 0
    lastBeats = beats
    if (beats === 0) return
    if (blamed !== undefined && silentMs === 0) {
      warn({ ...nameFields(blamed), blockedMs: gapMs }, 'handler blocked its thread')
      blamed = undefined
    }
    if (blamed === undefined && silentMs >= blockedWarnMs) {
      blamed = options.candidates()
      warn({ ...nameFields(blamed), silentMs }, 'handler blocks its thread')
    }
    if (silentMs > maxTimeoutMs + blockedGraceMs) {
      const subject = blamed?.length === 1 ? `handler ${blamed[0]}` : 'a handler'
      options.onLost(`${subject} blocked the thread for ${silentMs} ms`)
    }
  }

  const watch = setInterval(check, watchMs).unref()
  return { close: () => clearInterval(watch) }
}

/** Log fields that name the handler responsible, or the candidates if there are several. */
export function nameFields(names: readonly string[]): object {
  return names.length > 1 ? { oneOf: names } : { handler: names[0] }
}

/**
 * The runs in flight of a handler thread, and which of them is on its stack now. The handler thread writes it. The main
 * thread reads it, even while the handler thread is blocked.
 */
export class InFlightRuns {
  readonly #names: readonly string[]
  /** Cell 0: 1 + slot of the run on the stack, or 0. Then two cells per slot: run id (0: free) and index of its handler. */
  readonly #cells: BigInt64Array
  /** Slots by attempt, because a run can be claimed again while its handler runs. */
  readonly #slots = new Map<number, number>()
  readonly #free: number[]

  /** `max`: the maximum number of runs in flight. */
  constructor(names: readonly string[], max: number, shared = new SharedArrayBuffer(8 * (1 + 2 * max))) {
    this.#names = names
    this.#cells = new BigInt64Array(shared)
    this.#free = Array.from({ length: max }, (_, slot) => slot)
  }

  get shared(): SharedArrayBuffer {
    return this.#cells.buffer as SharedArrayBuffer
  }

  /** A run starts: its handler runs up to the first `await`. */
  starting(attempt: number, runId: number, name: string): void {
    const slot = this.#free.pop()
    if (slot === undefined) throw new Error('more runs are in flight than the maximum')
    this.#slots.set(attempt, slot)
    Atomics.store(this.#cells, 2 + 2 * slot, BigInt(this.#names.indexOf(name)))
    Atomics.store(this.#cells, 1 + 2 * slot, BigInt(runId))
    Atomics.store(this.#cells, 0, BigInt(1 + slot))
  }

  /** The part before the first `await` is over. */
  yielded(): void {
    Atomics.store(this.#cells, 0, 0n)
  }

  ended(attempt: number): void {
    const slot = this.#slots.get(attempt)
    if (slot === undefined) throw new Error(`the attempt ${attempt} is not in flight`)
    this.#slots.delete(attempt)
    this.#free.push(slot)
    Atomics.store(this.#cells, 1 + 2 * slot, 0n)
  }

  /** The handlers that may be blocking the thread. All of them if none has runs in flight: a timer of any handler may block. */
  candidates(): readonly string[] {
    const handlers = this.handlers()
    return handlers.length > 0 ? handlers : this.#names
  }

  /** The handler whose run is starting; else all that have runs in flight. */
  handlers(): readonly string[] {
    const starting = Number(Atomics.load(this.#cells, 0)) - 1
    const slots = starting < 0 ? this.#usedSlots() : [starting]
    const indexes = new Set(slots.map((slot) => Atomics.load(this.#cells, 2 + 2 * slot)))
    return this.#names.filter((_name, index) => indexes.has(BigInt(index)))
  }

  /** The ids of the runs in flight. */
  runs(): readonly number[] {
    return this.#usedSlots().map((slot) => Number(Atomics.load(this.#cells, 1 + 2 * slot)))
  }

  #usedSlots(): number[] {
    return Array.from({ length: (this.#cells.length - 1) / 2 }, (_, slot) => slot).filter(
      (slot) => Atomics.load(this.#cells, 1 + 2 * slot) !== 0n,
    )
  }
}

/**
 * A heartbeat that the main thread can read while the runner's event loop is blocked: the number of beats, the longest
 * gap between two beats, and the longest timeout of the attempts in flight.
 */
export class Pulse {
  readonly #cells: Int32Array
  #lastBeatAt = 0

  constructor(shared = new SharedArrayBuffer(12)) {
    this.#cells = new Int32Array(shared)
  }

  get shared(): SharedArrayBuffer {
    return this.#cells.buffer as SharedArrayBuffer
  }

  beat(maxTimeoutMs: number): void {
    const now = performance.now()
    const gapMs = this.beats === 0 ? 0 : Math.round(now - this.#lastBeatAt)
    this.#lastBeatAt = now
    if (gapMs > Atomics.load(this.#cells, 2)) Atomics.store(this.#cells, 2, gapMs)
    Atomics.store(this.#cells, 1, maxTimeoutMs)
    Atomics.add(this.#cells, 0, 1)
  }

  /** Called before an attempt starts, because it may block the loop at once. `isOnly`: no other attempt runs. */
  starting(timeoutMs: number, isOnly: boolean): void {
    if (isOnly || timeoutMs > this.maxTimeoutMs) Atomics.store(this.#cells, 1, timeoutMs)
  }

  get beats(): number {
    return Atomics.load(this.#cells, 0)
  }

  get maxTimeoutMs(): number {
    return Atomics.load(this.#cells, 1)
  }

  /** Returns the longest gap between two beats since the last call, and resets it. */
  takeLongestGapMs(): number {
    return Atomics.exchange(this.#cells, 2, 0)
  }
}
