/**
 * The inbox: the durable store between receiver and dispatcher. The SQLite and PostgreSQL adapters pass one conformance suite.
 * The store decides which runs are claimable; the dispatcher decides when and how to execute them.
 *
 * Terms:
 *   event       the envelope `{id, type, created_at, data}`, stored byte for byte
 *   quarantine  signed but unusable bodies, stored under their digest and never dispatched
 *   handler     user code for event types
 *   run         one event for one handler
 *   attempt     one execution of a run
 *   key         orders the runs of a handler: at most one run per key is claimable or running, oldest first
 *   claim       takes runs to execute, each as a lease
 *   lease       the right to execute a run, until it is settled or released, or its owner is reaped
 *   settle      stores the outcome of a lease; its token fences it, so a late outcome changes nothing
 *   retire      an owner takes no more work
 *   release     returns a lease without charging an attempt
 *   reap        ends all leases of an owner that died; each counts as a crash
 *   suspect     a run that was in flight when its owner died; suspects run one at a time until they have a verdict
 *   dead letter a run that is not retried unless it is requeued; its key continues, or is blocked (`hold`)
 *   effects     state writes and outbox items of a run: stored together with `done`, or not at all
 *   state       values that a handler stores under its own keys
 *   sink        delivers outbox items; the store treats it as a handler, and each item as a run of it
 *   item        a payload that a run left in the outbox for a sink
 *   replay      runs stored events again, as a generation of runs behind all live work
 *   backfill    creates runs of a new handler for events stored before it; runs for new events follow after
 *   prune       deletes the body and runs of an ended event; the event and its id stay. Quarantined bodies are deleted as a whole
 *   source      a configured sender; the INBOX_* settings describe the source `default`
 *   pause       keeps runs of one or all handlers from being claimed; events are still accepted
 */

import type {
  SourceKeyPort,
  AcceptResult,
  IncomingDelivery,
  ClaimRequest,
  HandlerRoute,
  Lease,
  Outcome,
  SettleResult,
  StateEntry,
  StateQuery,
} from './types.ts'
import type { OperatorActions } from './operator-actions.ts'
import type { DeadLetter, QueryStore } from './query-store.ts'

export type { OperatorActions } from './operator-actions.ts'
export * from './types.ts'
export * from './query-store.ts'

/** The receiver's part of the inbox. */
export interface AcceptPort {
  /**
   * Stores a batch in one transaction: dedupes by event id, stores the bytes, creates one run per handler whose route matches. Resolves
   * after the durable commit, with one result per delivery, in order. A duplicate resolves only after the event it repeats is durable.
   *
   * Rejects as a whole with `store_full`, `store_unavailable` or `shutting_down`. Then no delivery may be acknowledged. Each may or may
   * not be stored, and repeating the call is safe.
   */
  accept(batch: readonly IncomingDelivery[]): Promise<readonly AcceptResult[]>
}

/** `runs`: how many runs crashed. `dead`: runs among them that became dead letters. */
export interface ReapResult {
  readonly runs: number
  readonly dead: readonly CrashedRun[]
}

export interface CrashedRun extends Pick<DeadLetter, 'handler' | 'eventId' | 'attempt' | 'error'> {}

/** The dispatcher's part of the inbox. */
export interface DispatchStore {
  /**
   * Sets the routes by which `accept` creates runs. In a cluster, `accept` uses the routes of all replicas, and for a while longer the
   * routes of handlers that no replica has loaded. Runs of removed handlers stay pending. Returns the concurrency of each handler for which an
   * operator set one.
   */
  register(routes: readonly HandlerRoute[]): Promise<Readonly<Record<string, number>>>
  /**
   * Waits until at least one run of the handlers can be claimed, then resolves with up to `max` leases. An ordered handler gets at most
   * one per key. Attempts are counted durably before the leases are returned. Resolves empty when the store closes, or when the owner is
   * retired or reaped. Not idempotent: each call claims more runs.
   */
  claim(request: ClaimRequest): Promise<readonly Lease[]>
  /** Reads a handler's state, in key order. */
  readState(handler: string, query: StateQuery): Promise<readonly StateEntry[]>
  /**
   * Stores outcomes in one transaction, with one result per outcome, in order. Idempotent: an outcome that is settled already is `stale`.
   * Effects are stored with `done`. Items become runs of their sinks, behind open runs of the same key.
   */
  settle(outcomes: readonly Outcome[]): Promise<readonly SettleResult[]>
  /**
   * The owner takes no more work: its waiting and later claims resolve empty. Once this has resolved, no claim of the owner is in flight.
   * Its leases stay. With `running` (run ids), its leases of all other runs are released. Idempotent.
   */
  retire(owner: string, running?: readonly number[]): Promise<void>
  /** Returns leases as if they had never been claimed. Idempotent. */
  release(leases: readonly Pick<Lease, 'runId' | 'token'>[]): Promise<void>
  /**
   * Ends all leases and waiting claims of an owner that died. Each run counts as crashed and becomes a crash suspect; a repeated suspect
   * goes behind the others. After `maxCrashes` it becomes a dead letter. Idempotent.
   */
  reap(owner: string): Promise<ReapResult>
}

export interface Inbox extends AcceptPort, DispatchStore, QueryStore, OperatorActions, SourceKeyPort {
  /** Deliveries are accepted from now on, until `close`. Records the time since they were last accepted as a gap. */
  startServing(): Promise<void>
  /** Whether commits succeed, by the latest information; `reason` is one line. */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string }
  /** Changes with each commit that may change what queries return. Null: unknown, because other processes commit too. */
  revision(): Promise<number | null>
  /** Calls the listener once if the store fails, or has failed, for good: nothing can be committed until the process restarts. */
  onFailure(listener: (error: Error) => void): void
  /** Commits work in progress, then closes. Idempotent. */
  close(): Promise<void>
}
