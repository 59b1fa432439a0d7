import { TransientMap } from '../../base/transient-map.ts'
import type { ClaimRequest, Lease, StoredEvent } from '../port.ts'

/** Runs with the same handler, replay and key. With a key, at most one of them is claimable or running. */
export interface RunQueue {
  readonly handlerId: number
  /** 0 for live runs. */
  readonly replayId: number
  /** Null: no order. */
  readonly key: string | null
}

/** A lease, as kept in memory. */
export interface LeaseEntry extends RunQueue {
  readonly runId: number
  readonly token: number
  readonly owner: string
  /** Items that the run leaves in the outbox belong to this event. */
  readonly event: StoredEvent
  readonly attempt: number
  readonly crashed: number
  /** False only if no run waits behind this one. */
  mayHaveFollowers: boolean
}

/** A claim that waits for work. New runs are leased to it in the transaction that creates them. */
export interface WaitingClaim extends ClaimRequest {
  readonly leases: Lease[]
  /** Total size of their bodies. */
  bytes: number
}

/**
 * The current leases. They live in memory, because they end with the process. `onUndo` receives a step that undoes each change if the
 * transaction is rolled back.
 */
export class Leases {
  readonly #byRun = new TransientMap<number, LeaseEntry>()
  readonly #byKey = new TransientMap<string, LeaseEntry>()
  readonly #onUndo: (step: () => void) => void

  constructor(onUndo: (step: () => void) => void) {
    this.#onUndo = onUndo
  }

  /** The lease of a run, if its token is current. */
  get(runId: number, token: number): LeaseEntry | undefined {
    const entry = this.#byRun.get(runId)
    return entry?.token === token ? entry : undefined
  }

  ofKey(handlerId: number, replayId: number, key: string): LeaseEntry | undefined {
    return this.#byKey.get(keyOf(handlerId, replayId, key))
  }

  ofOwner(owner: string): readonly LeaseEntry[] {
    return this.#byRun.values().filter((entry) => entry.owner === owner)
  }

  add(entry: LeaseEntry): void {
    this.#add(entry)
    this.#onUndo(() => this.#remove(entry))
  }

  remove(entry: LeaseEntry): void {
    this.#remove(entry)
    this.#onUndo(() => this.#add(entry))
  }

  #add(entry: LeaseEntry): void {
    this.#byRun.set(entry.runId, entry)
    if (entry.key !== null) this.#byKey.set(keyOf(entry.handlerId, entry.replayId, entry.key), entry)
  }

  #remove(entry: LeaseEntry): void {
    this.#byRun.delete(entry.runId)
    if (entry.key !== null) this.#byKey.delete(keyOf(entry.handlerId, entry.replayId, entry.key))
  }
}

function keyOf(handlerId: number, replayId: number, key: string): string {
  return `${handlerId} ${replayId} ${key}`
}
