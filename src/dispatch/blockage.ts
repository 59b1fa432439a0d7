import type { Clock } from '../base/clock.ts'
import { createLogLimit } from '../base/log-limit.ts'
import type { Logger } from '../base/log.ts'
import type { RunnerTiming } from './runner-protocol.ts'

export interface BlockageOptions {
  readonly pulse: Pulse
  /** Who may be blocking the thread at this moment. */
  readonly candidates: () => readonly string[]
  readonly timing: Pick<RunnerTiming, 'watchMs' | 'blockedWarnMs' | 'blockedGraceMs'>
  readonly clock: Clock
  readonly log: Logger
  /** Called when it has been blocked for so long that it is given up. */
  readonly onLost: (reason: string) => void
}

/**
 * Watches whether a thread is blocked: warns once while it is, and once more when it no longer is, each time naming who did it.
 * Silence is counted in looks, not read from a clock: after this very process was stopped for a while, nobody is to blame.
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

  function look(): void {
    const { beats, longestTimeoutMs } = pulse
    const gapMs = pulse.takeLongestGapMs()
    silentMs = beats === lastBeats ? silentMs + watchMs : 0
    lastBeats = beats
    if (beats === 0) return
    if (blamed !== undefined && silentMs === 0) {
      warn({ ...nameFields(blamed), blockedMs: gapMs }, 'a handler blocked its thread')
      blamed = undefined
    }
    if (blamed === undefined && silentMs >= blockedWarnMs) {
      blamed = options.candidates()
      warn({ ...nameFields(blamed), silentMs }, 'a handler blocks its thread')
    }
    if (silentMs > longestTimeoutMs + blockedGraceMs) {
      const who = blamed?.length === 1 ? `handler ${blamed[0]}` : 'a handler'
      options.onLost(`${who} blocked it for ${silentMs} ms`)
    }
  }

  const watch = setInterval(look, watchMs).unref()
  return { close: () => clearInterval(watch) }
}

/** Log fields that name the handler responsible, or the candidates if there are several. */
export function nameFields(names: readonly string[]): object {
  return names.length > 1 ? { oneOf: names } : { handler: names[0] }
}

/**
 * The runs in flight of a handler thread, and which of them is on its stack right now. The handler thread writes it. The main
 * thread reads it, also while the handler thread is blocked.
 */
export class AtWork {
  readonly #names: readonly string[]
  /** First 1 + the slot of the run on the stack, or 0. Then two cells per slot: the run's id, or 0 if free, and its handler's index. */
  readonly #cells: BigInt64Array
  readonly #slots = new Map<number, number>()
  readonly #free: number[]

  /** `most`: the maximum number of runs in flight. */
  constructor(names: readonly string[], most: number, shared = new SharedArrayBuffer(8 * (1 + 2 * most))) {
    this.#names = names
    this.#cells = new BigInt64Array(shared)
    this.#free = Array.from({ length: most }, (_, slot) => slot)
  }

  get shared(): SharedArrayBuffer {
    return this.#cells.buffer as SharedArrayBuffer
  }

  /** A run begins with the part of its handler up to the first `await`. */
  starting(runId: number, name: string): void {
    const slot = this.#free.pop()
    if (slot === undefined) throw new Error('more runs are in flight than there may be')
    this.#slots.set(runId, slot)
    Atomics.store(this.#cells, 2 + 2 * slot, BigInt(this.#names.indexOf(name)))
    Atomics.store(this.#cells, 1 + 2 * slot, BigInt(runId))
    Atomics.store(this.#cells, 0, BigInt(1 + slot))
  }

  /** That part is over. */
  yielded(): void {
    Atomics.store(this.#cells, 0, 0n)
  }

  ended(runId: number): void {
    const slot = this.#slots.get(runId)
    if (slot === undefined) throw new Error(`the run ${runId} is not in flight`)
    this.#slots.delete(runId)
    this.#free.push(slot)
    Atomics.store(this.#cells, 1 + 2 * slot, 0n)
  }

  /** The handlers that may be blocking the thread: those in flight, or all if none is, since a timer may be left from any of them. */
  candidates(): readonly string[] {
    const handlers = this.handlers()
    return handlers.length > 0 ? handlers : this.#names
  }

  /** The handler whose run starts, else all that have runs in flight. */
  handlers(): readonly string[] {
    const starting = Number(Atomics.load(this.#cells, 0)) - 1
    const slots = starting < 0 ? this.#taken() : [starting]
    const indexes = new Set(slots.map((slot) => Atomics.load(this.#cells, 2 + 2 * slot)))
    return this.#names.filter((_name, index) => indexes.has(BigInt(index)))
  }

  /** The ids of the runs in flight. */
  runs(): readonly number[] {
    return this.#taken().map((slot) => Number(Atomics.load(this.#cells, 1 + 2 * slot)))
  }

  #taken(): number[] {
    return Array.from({ length: (this.#cells.length - 1) / 2 }, (_, slot) => slot).filter(
      (slot) => Atomics.load(this.#cells, 1 + 2 * slot) !== 0n,
    )
  }
}

/**
 * A sign of life that the main thread can read while the runner's event loop is blocked: a counter that a living loop keeps
 * raising, the longest time between two beats, and the longest timeout of the attempts that run.
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

  beat(longestTimeoutMs: number): void {
    const now = performance.now()
    const gapMs = this.beats === 0 ? 0 : Math.round(now - this.#lastBeatAt)
    this.#lastBeatAt = now
    if (gapMs > Atomics.load(this.#cells, 2)) Atomics.store(this.#cells, 2, gapMs)
    Atomics.store(this.#cells, 1, longestTimeoutMs)
    Atomics.add(this.#cells, 0, 1)
  }

  /** Told before an attempt starts, because it may block the loop at once. `isOnly`: no other runs. */
  starting(timeoutMs: number, isOnly: boolean): void {
    if (isOnly || timeoutMs > this.longestTimeoutMs) Atomics.store(this.#cells, 1, timeoutMs)
  }

  get beats(): number {
    return Atomics.load(this.#cells, 0)
  }

  get longestTimeoutMs(): number {
    return Atomics.load(this.#cells, 1)
  }

  /** The longest time between two beats since this was asked last. */
  takeLongestGapMs(): number {
    return Atomics.exchange(this.#cells, 2, 0)
  }
}
