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
