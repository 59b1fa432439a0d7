/** Numbers that the store keeps in memory beside the file, because they are needed all the time; rolled back with it. */
export interface WriterCounters {
  nextSeq: number
  nextRunId: number
  /** How many bytes the bodies of all events had so far. */
  bodyBytes: number
  /** How many runs are ready or suspect. While there are none, and none is held, every open head of a key is leased. */
  claimable: number
  /** How many dead letters hold up their keys. */
  held: number
  /** The latest time seen; the file has it to a second, for a clock that is set back while nobody runs. */
  latest: number
  noted: number
}

/** What a rollback has to undo outside the database. */
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
