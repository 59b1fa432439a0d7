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
