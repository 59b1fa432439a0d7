/**
 * Which handlers have runs in flight, and whose code is on the stack right now: written by their thread, read by the main
 * thread while that one is blocked.
 */
export class AtWork {
  readonly #names: readonly string[]
  /** First 1 + the index of the handler whose run starts at the moment, or 0; then the runs in flight of each. */
  readonly #cells: Int32Array
  readonly #indexes: ReadonlyMap<string, number>

  constructor(names: readonly string[], shared = new SharedArrayBuffer(4 * (names.length + 1))) {
    this.#names = names
    this.#cells = new Int32Array(shared)
    this.#indexes = new Map(names.map((name, index) => [name, index + 1]))
  }

  get shared(): SharedArrayBuffer {
    return this.#cells.buffer as SharedArrayBuffer
  }

  /** A run begins with the part of its handler up to the first `await`. */
  starting(name: string): void {
    const index = this.#indexOf(name)
    Atomics.store(this.#cells, 0, index)
    Atomics.add(this.#cells, index, 1)
  }

  /** That part is over. */
  yielded(): void {
    Atomics.store(this.#cells, 0, 0)
  }

  ended(name: string): void {
    Atomics.sub(this.#cells, this.#indexOf(name), 1)
  }

  /**
   * Who may be blocking the thread: those at work. Where nobody is, it is something that was left behind, such as a timer, and may
   * be anybody's.
   */
  candidates(): readonly string[] {
    const inFlight = this.inFlight()
    return inFlight.length > 0 ? inFlight : this.#names
  }

  /** The one whose run starts, else all that have runs in flight. */
  inFlight(): readonly string[] {
    const starting = this.#names[Atomics.load(this.#cells, 0) - 1]
    if (starting !== undefined) return [starting]
    return this.#names.filter((_name, index) => Atomics.load(this.#cells, index + 1) > 0)
  }

  #indexOf(name: string): number {
    const index = this.#indexes.get(name)
    if (index === undefined) throw new Error(`the handler ${name} is not of this thread`)
    return index
  }
}
