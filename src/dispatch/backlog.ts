import type { Lease } from '../inbox/port.ts'

/** Runs that were claimed and not yet started, in the order in which they are to start: those of replays behind all others. */
export class Backlog {
  readonly #live: Lease[] = []
  readonly #replayed: Lease[] = []

  get length(): number {
    return this.#live.length + this.#replayed.length
  }

  push(lease: Lease): void {
    if (lease.replay === null) this.#live.push(lease)
    else this.#replayed.push(lease)
  }

  shift(): Lease | undefined {
    return this.#live.shift() ?? this.#replayed.shift()
  }

  /** Takes out all but the first `kept`. */
  cut(kept: number): Lease[] {
    const replayed = this.#replayed.splice(Math.max(0, kept - this.#live.length))
    return [...this.#live.splice(kept), ...replayed]
  }
}
