/** Counters that the store keeps in memory for speed. A rollback restores them. */
export interface WriterCounters {
  nextSeq: number
  nextRunId: number
  /** Total bytes of all event bodies ever stored. */
  bodyBytes: number
  /** Number of ready and suspect runs. If this and `held` are 0, the first open run of every key is leased. */
  claimable: number
  /** Number of dead letters that block their keys. */
  held: number
  /** Clock time of the latest transaction: milliseconds since 1970. */
  latest: number
  /** The time in the file, up to a second behind `latest`. Detects a clock set back between two processes. */
  noted: number
}

/** Undoes changes outside the database when a transaction is rolled back. */
export class Undo {
  #steps: (() => void)[] = []

  begin(): void {
    this.#steps = []
  }

  note(step: () => void): void {
    this.#steps.push(step)
  }

  rollBack(): void {
    for (const step of this.#steps.toReversed()) step()
    this.#steps = []
  }
}
