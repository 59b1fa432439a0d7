import type { ClaimRequest, Lease, StoredEvent } from '../port.ts'

/** Where a run stands in line: of one place at most one is worked on, unless it has no key. */
export interface Place {
  readonly handlerId: number
  /** 0: it is live. */
  readonly replayId: number
  readonly key: string | null
}

/** What the store keeps of a lease: the run's row says the rest. */
export interface LeaseEntry extends Place {
  readonly token: number
  readonly owner: string
  /** For what the run leaves in the outbox. */
  readonly event: StoredEvent
  readonly attempt: number
  readonly crashed: number
  /** False only if it is known that no run waits behind this one. */
  mayHaveFollowers: boolean
}

/** A claim without work yet. Fresh runs are given to it in the transaction that creates them. */
export interface WaitingClaim extends ClaimRequest {
  readonly leases: Lease[]
  /** Sum of their bodies. */
  bytes: number
}

/**
 * The leases that are given. They live in memory, because they die with the process; what a rollback of the transaction must
 * undo goes to `onUndo`.
 */
export class Leases {
  readonly #byRun = new Map<number, LeaseEntry>()
  readonly #byKey = new Map<string, LeaseEntry>()
  readonly #onUndo: (step: () => void) => void

  constructor(onUndo: (step: () => void) => void) {
    this.#onUndo = onUndo
  }

  /** The lease of a run, if it has that token still. */
  get(runId: number, token: number): LeaseEntry | undefined {
    const entry = this.#byRun.get(runId)
    return entry?.token === token ? entry : undefined
  }

  ofKey(handlerId: number, replayId: number, key: string): LeaseEntry | undefined {
    return this.#byKey.get(keyOf(handlerId, replayId, key))
  }

  ofOwner(owner: string): [runId: number, LeaseEntry][] {
    return [...this.#byRun].filter(([, entry]) => entry.owner === owner)
  }

  hold(runId: number, entry: LeaseEntry): void {
    this.#add(runId, entry)
    this.#onUndo(() => this.#remove(runId, entry))
  }

  letGo(runId: number, entry: LeaseEntry): void {
    this.#remove(runId, entry)
    this.#onUndo(() => this.#add(runId, entry))
  }

  #add(runId: number, entry: LeaseEntry): void {
    this.#byRun.set(runId, entry)
    if (entry.key !== null) this.#byKey.set(keyOf(entry.handlerId, entry.replayId, entry.key), entry)
  }

  #remove(runId: number, entry: LeaseEntry): void {
    this.#byRun.delete(runId)
    if (entry.key !== null) this.#byKey.delete(keyOf(entry.handlerId, entry.replayId, entry.key))
  }
}

function keyOf(handlerId: number, replayId: number, key: string): string {
  return `${handlerId} ${replayId} ${key}`
}
