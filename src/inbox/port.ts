/**
 * The inbox: the durable store between receiver and dispatcher. The SQLite and PostgreSQL adapters pass one conformance suite.
 * The rule: the store decides what is claimable, the dispatcher decides when and how to run it.
 *
 * Words, one each:
 *   event       the envelope `{id, type, created_at, data}`, stored with its bytes as they came
 *   quarantine  authentic but unusable bytes, kept under a digest of themselves, never dispatched
 *   handler     user code for event types
 *   run         one event for one handler
 *   attempt     one try of a run
 *   key         what order is kept by: of one handler's runs with the same key, at most one is open for work, oldest first
 *   claim       takes runs to work on; each comes as a lease, which holds until it is settled or released, or its owner is
 *               reaped
 *   settle      reports what became of a lease; fenced by its token, so that a late report changes nothing
 *   retire      says that an owner takes no more work
 *   release     gives a lease back unworked, without charging an attempt
 *   reap        ends all leases of an owner that died; each counts as a crash
 *   suspect     a run that was in flight when its owner died: handed out one at a time until it has a verdict
 *   dead letter a run that will not be tried again unless it is requeued; it is passed over, or holds up its key
 *   effects     what a run writes to its handler's state and to the outbox: all of it is stored together with `done`, or none
 *   state       values that a handler keeps under keys of its own
 *   sink        takes outbox items to where they belong; to the store it is a handler like others, and an item a run of it
 *   item        something that a run left in the outbox for a sink
 *   replay      runs events again that were stored before: a generation of runs of its own, behind all live work
 *   backfill    gives a new handler runs of events that were stored before it came, before it gets those of new ones
 *   prune       takes the body of an event that has ended, and the history of its runs; the event itself stays, and its id. What is
 *               in quarantine goes as a whole
 *   subscription  what the receiver is registered for with the service, as far as is known here
 *   pause       keeps runs of a handler, or of all, from being handed out; events go on being accepted
 */

import type {
  SubscriptionPort,
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

/** The part that the receiver uses. */
export interface AcceptPort {
  /**
   * One transaction: dedupes on the event id, stores the bytes, creates one run per handler whose route matches. Resolves
   * only after the durable commit, with a result per arrival in order. A duplicate of an event in the same or an earlier
   * batch resolves not before that event is durable.
   *
   * Rejects as a whole with `store_full`, `store_unavailable` or `shutting_down`; then no arrival may be acknowledged, and
   * each may or may not be stored: the same call again is safe.
   */
  accept(batch: readonly IncomingDelivery[]): Promise<readonly AcceptResult[]>
}

/** `runs`: how many crashed; `dead`: those of them that became dead letters. */
export interface ReapResult {
  readonly runs: number
  readonly dead: readonly CrashedRun[]
}

export interface CrashedRun extends Pick<DeadLetter, 'handler' | 'eventId' | 'attempt' | 'error'> {}

/** What the dispatcher needs. */
export interface DispatchStore {
  /**
   * Sets the routes by which `accept` creates runs from now on: in a cluster those of all replicas, and of handlers that no replica has
   * for a while longer. Runs of handlers that are gone stay where they are. Gives how many runs of a handler may run at once, where
   * somebody set that.
   */
  register(routes: readonly HandlerRoute[]): Promise<Readonly<Record<string, number>>>
  /**
   * Waits until at least one run of the handlers can be claimed, then gives up to `max` leases; at most one per key where the
   * handler keeps order. The attempt is counted, durably, before the leases are given. Resolves with none when the store
   * closes or the owner is retired or reaped. Not idempotent: each call takes more.
   */
  claim(request: ClaimRequest): Promise<readonly Lease[]>
  /** What is stored of a handler's state, in order of the keys. */
  readState(handler: string, query: StateQuery): Promise<readonly StateEntry[]>
  /**
   * One transaction; a result per outcome in order. Idempotent: what is settled already is `stale`. Effects are stored with
   * `done`; items become runs of their sinks, behind those of the same key that are there.
   */
  settle(outcomes: readonly Outcome[]): Promise<readonly SettleResult[]>
  /**
   * The owner takes no more work: its waiting claims, and all later ones, resolve with none. After this has resolved, no claim of
   * the owner is on its way. Its leases stay. `running` lists run ids: leases of all other runs are released. Idempotent.
   */
  retire(owner: string, running?: readonly number[]): Promise<void>
  /** Gives leases back unworked: as if they had never been claimed. Idempotent. */
  release(leases: readonly Pick<Lease, 'runId' | 'token'>[]): Promise<void>
  /**
   * Ends all leases of an owner that died, and its waiting claims: each run counts as crashed and becomes a suspect, behind the
   * others if it was one, or, after `maxCrashes`, a dead letter. Idempotent.
   */
  reap(owner: string): Promise<ReapResult>
}

export interface Inbox extends AcceptPort, DispatchStore, QueryStore, OperatorActions, SubscriptionPort {
  /** Says that deliveries are taken from now on, until it is closed: the time before, since they last were, is a gap. */
  startServing(): Promise<void>
  /** Whether a commit can succeed as far as is known, and if not, why (one line). */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string }
  /** Called once if the store fails for good: nothing can be committed until the process is started anew. */
  onFailure(listener: (error: Error) => void): void
  /** Commits what is under way, then closes. Idempotent. */
  close(): Promise<void>
}
