/**
 * The inbox: the durable store between receiver and dispatcher. One small port; memory and SQLite adapters pass one
 * conformance suite. The rule: the store decides what is claimable, the dispatcher decides when and how to run it.
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

import type { IndexPort } from './index-port.ts'

/** An event as the receiver hands it over: the envelope is checked, the bytes are as they came. */
export interface NewEvent {
  readonly kind: 'event'
  /** The sender's id: well-formed, 1 to 255 characters. Unique for ever. */
  readonly id: string
  readonly type: string
  /** `created_at` of the envelope, as it came. */
  readonly createdAt: string
  /** `network:address` or the event's own id. */
  readonly key: string
  readonly network: string | null
  readonly address: string | null
  readonly raw: Uint8Array
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  /** Label of the secret that verified it; `ownLabel` for an event of this program itself. */
  readonly secretLabel: string
  /** The headers it came with, as a JSON object, without those that are secret or differ from delivery to delivery. */
  readonly headers?: string | null
  /** W3C `traceparent` of its receipt. */
  readonly trace?: string | null
}

/** Events of this program itself, such as its warnings, are of types that begin so. `*` does not stand for them: name them. */
export const ownTypePrefix = 'inbox.'
/** No label of a secret looks like this. */
export const ownLabel = '(own)'

/** Authentic bytes that are no usable event. */
export interface NewQuarantined {
  readonly kind: 'quarantined'
  /** `sha256:<hex of the bytes>` */
  readonly id: string
  /** Why it is unusable: a stable code. */
  readonly reason: string
  readonly raw: Uint8Array
  readonly receivedAt: number
  readonly secretLabel: string
}

export type Arrival = NewEvent | NewQuarantined

/**
 * What became of an arrival. `conflict`: the id is known with other bytes; the first ones are kept and the conflict is
 * recorded. A repeated quarantined body is `quarantined` again.
 */
export type AcceptResult = 'accepted' | 'duplicate' | 'conflict' | 'quarantined'

/** A handler as the store needs to know it: which events create runs for it, and whether order is kept. */
export interface HandlerRoute {
  readonly name: string
  /** Types, prefixes such as `wallet.*`, or `*`. */
  readonly types: readonly string[]
  /** `key`: one run per key at a time, in accept order. `none`: no order. */
  readonly order: 'key' | 'none'
  /**
   * Makes the key of a run of what stands at these places of the envelope, such as `data.pair`, instead of the event's own
   * key. An event that has nothing at one of them has no key.
   */
  readonly keyPaths?: readonly string[] | undefined
  /** A new run supersedes those of its key that are not running. */
  readonly latestOnly?: boolean
  /** What a dead letter does to its key. Default `skip`: nothing. `hold`: no run of the key is handed out behind it. */
  readonly onDead?: 'skip' | 'hold'
  /**
   * Which events a handler gets that was never registered before: those that come from now on (default), all that are stored,
   * or those that were received at or after a time (milliseconds since 1970). Of one that is known it changes nothing.
   */
  readonly from?: 'now' | 'beginning' | number
}

/** An event as it was stored. */
export interface StoredEvent {
  /** Accept sequence: 1, 2, 3 … without gaps. */
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly createdAt: string
  readonly receivedAt: number
  readonly key: string
  readonly secretLabel: string
  readonly raw: Uint8Array
  /** W3C `traceparent` of its receipt; null or absent: it has none. */
  readonly trace?: string | null
}

/** Something for a sink, as the run that leaves it in the outbox says it. */
export interface NewItem {
  readonly sink: string
  /** What order is kept by; null: none. */
  readonly key: string | null
  /** JSON */
  readonly payload: string
  /** The same whenever this item is sent, and if the run is ever repeated. */
  readonly idempotencyKey: string
}

export type Item = Pick<NewItem, 'payload' | 'idempotencyKey'>

/** A value that a handler keeps. */
export interface StateEntry {
  readonly key: string
  /** JSON */
  readonly value: string
  /** Tells who wrote it: `versionOf` that run and its lease. */
  readonly version: number
  /** From then on it is as if it were not there: milliseconds since 1970. */
  readonly expiresAt: number | null
}

/** One key, or the first `limit` of those that begin with `prefix` and come behind `after`, in the order of their UTF-8 bytes. */
export type StateQuery =
  | { readonly key: string }
  | { readonly prefix: string; readonly after: string | null; readonly limit: number }

/** What a run read: where any of it is no longer so, what the run did may be wrong. */
export interface StateRead {
  readonly query: StateQuery
  readonly found: readonly Pick<StateEntry, 'key' | 'version'>[]
}

export interface StateWrite {
  readonly key: string
  /** JSON, or null to delete it. */
  readonly value: string | null
  readonly expiresAt: number | null
}

export interface Effects {
  readonly reads: readonly StateRead[]
  /** No key twice. */
  readonly writes: readonly StateWrite[]
  readonly items: readonly NewItem[]
}

/** The version of what a run writes under a lease: another for every lease that was ever given. */
export function versionOf({ runId, token }: Pick<Lease, 'runId' | 'token'>): number {
  return runId * 1024 + (token % 1024)
}

/** The right, and the duty, to work on a run until it is settled or released. */
export interface Lease {
  readonly runId: number
  /** Fences the lease: another claim of the same run carries another token. */
  readonly token: number
  readonly handler: string
  /** Which attempt this is, from 1. It was counted before the lease was given. */
  readonly attempt: number
  /** How many attempts ended with the verdict `retry`, since the run was created or requeued. */
  readonly failed: number
  /** How often the run's owner died while it held this run, since its last verdict. */
  readonly crashed: number
  readonly event: StoredEvent
  /** What order this run is kept by; null: none. */
  readonly key: string | null
  /** The replay that this run is of; null: it is live. */
  readonly replay: LeasedReplay | null
  /** What a sink is to deliver; null where the run is of the event itself. */
  readonly item: Item | null
}

export interface LeasedReplay {
  readonly id: number
  /** Whether its runs have idempotency keys other than those of the live ones. */
  readonly newKeys: boolean
}

export interface ClaimRequest {
  /** Runs of any of these. */
  readonly handlers: readonly string[]
  /** At most so many leases in all. */
  readonly max: number
  /** Who works on them: reaped as one. */
  readonly owner: string
  /** True: only suspects, which only an isolated runner asks for. False: only runs that are none. */
  readonly suspects: boolean
}

export interface RunError {
  /** The class of the error, or the code of ours. */
  readonly name: string
  readonly message: string
  readonly stack?: string
}

/** The verdict on one attempt. Times are milliseconds since 1970. */
export type Outcome = {
  readonly runId: number
  readonly token: number
  readonly startedAt: number
  readonly endedAt: number
} & (
  | { readonly kind: 'done'; readonly effects?: Effects }
  | { readonly kind: 'retry'; readonly at: number; readonly error: RunError }
  | { readonly kind: 'dead'; readonly error: RunError }
  /** Not now: it is tried again, and this attempt is not counted. */
  | { readonly kind: 'snooze'; readonly at: number }
  /** Not run at all: too old, or the handler did not want it. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'unmatched' }
)

/** When a run that was put off is due: after the wait that was meant, also if the clock was set back since the verdict. */
export function dueAt({ at, endedAt }: { readonly at: number; readonly endedAt: number }, now: number): number {
  return now < endedAt ? now + (at - endedAt) : at
}

/**
 * `stale`: the token is no longer the run's, nothing was changed. `conflict`: what the run read has been changed since by another
 * one; none of its effects was stored, and it was given back as by `release`, to be run again.
 */
export type SettleResult = 'applied' | 'stale' | 'conflict'

/** After this many crashes without a verdict a run goes to the dead letters. */
export const maxCrashes = 3

export const eventStatuses = [
  'pending',
  'running',
  'retrying',
  'held',
  'done',
  'dead',
  'expired',
  'superseded',
  'unhandled',
  'dropped',
] as const
export type EventStatus = (typeof eventStatuses)[number]

export const runStates = [
  'waiting',
  'ready',
  'suspect',
  'running',
  'held',
  'dead',
  'done',
  'expired',
  'superseded',
  'unmatched',
  'dropped',
] as const
/**
 * `waiting` behind an older run of its key, `ready` to be claimed (perhaps not before `runAt`), `suspect` see above. `held` and
 * `dead` are dead letters: one that holds up its key, and one that does not. The others are ends.
 */
export type RunState = (typeof runStates)[number]

export interface Page<T> {
  readonly data: readonly T[]
  /** Passed as `cursor` it gives the next page; null on the last one. */
  readonly nextCursor: string | null
}

export interface EventQuery {
  readonly type?: string
  readonly network?: string
  readonly address?: string
  readonly status?: EventStatus
  /** Words that all stand in the body, each a whole one or the begin of one; what is too new for the index is looked at one by one. */
  readonly q?: string
  /** Received at or after, before: milliseconds since 1970. */
  readonly from?: number
  readonly to?: number
  readonly limit: number
  readonly cursor?: string
}

export interface PageQuery {
  readonly limit: number
  readonly cursor?: string
}

export interface EventSummary {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly createdAt: string
  readonly receivedAt: number
  readonly network: string | null
  readonly address: string | null
  readonly status: EventStatus
}

/** `searchedTo`: when the oldest event was received that was looked at: the next page looks at older ones. Null: there is no event. */
export interface EventPage extends Page<EventSummary> {
  readonly searchedTo: number | null
}

export interface AttemptRecord {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: 'done' | 'retry' | 'dead' | 'crashed' | 'dropped'
  readonly error: RunError | null
}

export interface RunRecord {
  readonly runId: number
  readonly handler: string
  readonly state: RunState
  readonly attempt: number
  readonly crashed: number
  /** When it may be tried next; null when it is running or finished. */
  readonly runAt: number | null
  /** The id of the replay it is of; null: it is live. */
  readonly replay: number | null
  /** What a sink is to deliver, if the run is of something that another run left in the outbox. */
  readonly item: Item | null
  /** When it was taken up and when it ended, the last time each; null: not yet. */
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** Keys of its handler's state that it wrote last, at most 100; those of a large state are not looked for. */
  readonly stateKeys: readonly string[]
  readonly attempts: readonly AttemptRecord[]
}

export interface EventDetail extends EventSummary {
  readonly key: string
  readonly secretLabel: string
  /** Empty if it is no longer kept. */
  readonly raw: Uint8Array
  /** Whether it was pruned: body and runs are gone, the status is the one that it ended with. */
  readonly pruned: boolean
  /** How often the same id came again, with the same and with other bytes. */
  readonly duplicates: number
  readonly conflicts: number
  /** When the transaction that stored it began: milliseconds since 1970; null for events stored by versions that did not note it. */
  readonly storedAt: number | null
  /** The headers it came with as JSON; null: they were not kept. */
  readonly headers: string | null
  readonly trace: string | null
  readonly runs: readonly RunRecord[]
}

/** Other bytes that came under an id that was known. */
export interface ConflictRecord {
  readonly eventId: string
  readonly type: string
  /** SHA-256 of the bytes in hex: with the id it tells one from the other. */
  readonly digest: string
  readonly receivedAt: number
  /** How often these bytes came. */
  readonly count: number
  readonly sizeBytes: number
}

export interface ConflictDetail extends ConflictRecord {
  /** Those that came, and those that were kept; empty where they are no longer kept. */
  readonly raw: Uint8Array
  readonly keptRaw: Uint8Array
}

export interface DeadLetter {
  readonly runId: number
  readonly eventId: string
  readonly type: string
  readonly handler: string
  readonly attempt: number
  readonly crashed: number
  readonly diedAt: number
  /** Whether it holds up its key. */
  readonly held: boolean
  readonly error: RunError
}

/** Which dead letters: those of which all holds that is given. */
export interface DeadFilter {
  readonly handler?: string
  readonly type?: string
  /** As `errorGroupOf` gives it. */
  readonly group?: string
}

export type DeadQuery = PageQuery & DeadFilter

/** Dead letters of one handler that died of the same error, but for numbers and addresses in its text. */
export interface DeadGroup {
  readonly handler: string
  readonly group: string
  readonly count: number
  readonly held: number
  readonly firstDiedAt: number
  readonly lastDiedAt: number
  /** The newest of them. */
  readonly sample: DeadLetter
}

/** `isComplete`: false if only the newest ones were looked at. */
export interface DeadGroups {
  readonly groups: readonly DeadGroup[]
  readonly isComplete: boolean
}

/** So many dead letters are found by a filter at once. */
export const mostDeadIds = 100_000

/** Run ids of dead letters, ascending. `isComplete`: false if there are more, of which these died last. */
export interface DeadRunIds {
  readonly runIds: readonly number[]
  readonly isComplete: boolean
}

/** Bodies in quarantine with the same reason, verified by the same secret. */
export interface QuarantineGroup {
  readonly reason: string
  readonly secretLabel: string
  readonly count: number
  readonly sizeBytes: number
  readonly firstAt: number
  readonly lastAt: number
}

/** Which stored events are to be run again: those of which all holds that is given. Something has to be. */
export interface ReplayFilter extends Omit<EventQuery, 'limit' | 'cursor' | 'q'> {
  /** At most `mostReplayIds`. */
  readonly ids?: readonly string[]
  /** Only runs of this handler; else of every registered one that takes the event. */
  readonly handler?: string
}

export const mostReplayIds = 1_000

export interface NewReplay {
  readonly filter: ReplayFilter
  /** How many runs may be created per second; null: as fast as they are worked off. */
  readonly perSecond: number | null
  /** Gives the runs idempotency keys of their own: whoever knows repeats by these will not know them for repeats. */
  readonly newKeys: boolean
}

/** `running` until all its runs have ended, or it is cancelled. */
export const replayStates = ['running', 'done', 'cancelled'] as const
export type ReplayState = (typeof replayStates)[number]

export interface ReplayRecord extends NewReplay {
  readonly id: number
  readonly state: ReplayState
  readonly createdAt: number
  readonly endedAt: number | null
  /** How far it has looked in the accept sequence, and how far it is going to. */
  readonly scannedSeq: number
  readonly lastSeq: number
  /** Events that it found so far, runs that it created of them, and events whose body is gone, so that none could be. */
  readonly events: number
  readonly runs: number
  readonly skipped: number
  /** Runs that have not ended. */
  readonly openRuns: number
}

/** How much of a body in quarantine a list has. */
export const listedBytes = 800

export interface QuarantinedBody {
  readonly id: string
  readonly reason: string
  readonly receivedAt: number
  readonly secretLabel: string
  readonly sizeBytes: number
  /** How often the same bytes came. */
  readonly count: number
  readonly raw: Uint8Array
}

/** A time in which no deliveries were taken, or, if it was restored, of which none are there. */
export interface GapRecord {
  /** To within some seconds, unless it was stopped: milliseconds since 1970. */
  readonly from: number
  readonly to: number
  /**
   * `stopped` in good order · `killed`, or crashed · `stood_still`: suspended, or unable to write, or its clock was set forward ·
   * `restored` from a backup that knows nothing of this time
   */
  readonly kind: 'stopped' | 'killed' | 'stood_still' | 'restored'
  /** By then the sender has tried again what it tried in this time, and tries again at all. Null if it was restored. */
  readonly retriedUntil: number | null
  /** What was first sent from `from` until before `to`, in this time or in one before it, does not come again by itself. */
  readonly lost: { readonly from: number; readonly to: number } | null
  /** Events that came later and had been created in that time; how many of them when lost ones were; and when the last one came. */
  readonly arrived: number
  readonly arrivedLost: number
  readonly lastArrivalAt: number | null
  /** When somebody said that what was lost is dealt with. */
  readonly acknowledgedAt: number | null
}

/** How many missing events, and gaps with lost ones, there had been that nobody had acknowledged. */
export interface Acknowledged {
  readonly missingSeqs: number
  readonly gaps: number
}

/** Which events may be pruned, of those that have ended, without a dead letter; and which bodies in quarantine. */
export interface PruneLimits {
  /** Those that were received before: milliseconds since 1970. Null: none for their age. */
  readonly receivedBefore: number | null
  /**
   * While the database holds more than so many bytes, the oldest, if they are older than an hour: first events, but for the newest
   * whose bodies take half of it, then quarantine, but for the newest that take a quarter. Null: it may be of any size.
   */
  readonly maxBytes: number | null
}

/** `isTooLarge`: there is more than `maxBytes`, and nothing left that may be pruned. */
export interface PruneOutcome {
  readonly events: number
  readonly quarantined: number
  readonly isTooLarge: boolean
}

/** What somebody did, with what it was done to. */
export interface AuditRecord {
  readonly id: number
  readonly at: number
  readonly action:
    | 'handler.pause'
    | 'handler.resume'
    | 'handler.set'
    | 'handler.drop'
    | 'dead.requeue'
    | 'dead.drop'
    | 'quarantine.retry'
    | 'quarantine.drop'
    | 'prune'
    | 'replay.start'
    | 'replay.cancel'
    | 'gaps.acknowledge'
    | 'subscription.begin'
    | 'subscription.register'
    | 'session.begin'
    | 'session.end'
    | 'reconcile.start'
    | 'reconcile.cancel'
    | 'index.rebuild'
  readonly detail: Readonly<Record<string, unknown>>
  /** Who did it and from where, such as `operator (session) 127.0.0.1`; null: this program itself, or a command that opened the file. */
  readonly by: string | null
}

/** What is noted of acts that no other call notes. */
export type NotedAction = Extract<
  AuditRecord['action'],
  'session.begin' | 'session.end' | 'reconcile.start' | 'reconcile.cancel' | 'index.rebuild'
>

export interface HandlerStats extends RunCounts {
  readonly handler: string
  /** Whether this handler itself is paused. */
  readonly paused: boolean
  /** How many of its runs may run at once, where somebody set that; null: as it says itself. */
  readonly concurrency: number | null
  /** How many of its runs were superseded, ever. */
  readonly superseded: number
  /** From which event of the accept sequence on it is still to get what was stored before it; null: it has got all of it. */
  readonly backfillSeq: number | null
}

export interface RunCounts {
  readonly waiting: number
  readonly ready: number
  readonly suspect: number
  readonly running: number
  readonly held: number
  readonly dead: number
}

type OpenCounts = Pick<HandlerStats, 'handler' | 'waiting' | 'ready' | 'suspect'>

/** Runs of a handler that wait. */
export function openRunsOf({ waiting, ready, suspect }: OpenCounts): number {
  return waiting + ready + suspect
}

/** Handlers that are not loaded, and whose runs wait for ever therefore. */
export function leftBehind(
  rows: readonly OpenCounts[],
  loaded: readonly { readonly name: string }[],
): { readonly handler: string; readonly openRuns: number }[] {
  const names = new Set(loaded.map(({ name }) => name))
  return rows
    .map((row) => ({ handler: row.handler, openRuns: openRunsOf(row) }))
    .filter(({ handler, openRuns }) => openRuns > 0 && !names.has(handler))
}

export interface InboxStats {
  /** Highest accept sequence number, 0 when empty. */
  readonly lastSeq: number
  readonly quarantined: number
  readonly conflicts: number
  /** Whether all handlers are paused together. */
  readonly paused: boolean
  readonly handlers: readonly HandlerStats[]
  /** When the event of the oldest open run was received; null when nothing is open. */
  readonly oldestOpenAt: number | null
  /** How much is stored, in bytes; null where that is not known. */
  readonly sizeBytes: number | null
  /** Evidence found at the last start: accept-sequence numbers that should be there and are not, as far as nobody acknowledged it. */
  readonly missingSeqs: number
}

/** What the receiver needs. */
export interface AcceptPort {
  /**
   * One transaction: dedupes on the event id, stores the bytes, creates one run per handler whose route matches. Resolves
   * only after the durable commit, with a result per arrival in order. A duplicate of an event in the same or an earlier
   * batch resolves not before that event is durable.
   *
   * Rejects as a whole with `store_full`, `store_unavailable` or `shutting_down`; then no arrival may be acknowledged, and
   * each may or may not be stored: the same call again is safe.
   */
  accept(batch: readonly Arrival[]): Promise<readonly AcceptResult[]>
}

/** `runs`: how many crashed; `dead`: those of them that became dead letters. */
export interface ReapResult {
  readonly runs: number
  readonly dead: readonly CrashedRun[]
}

export interface CrashedRun extends Pick<DeadLetter, 'handler' | 'eventId' | 'attempt' | 'error'> {}

/** What the dispatcher needs. */
export interface WorkPort {
  /**
   * Sets the routes by which `accept` creates runs from now on. Runs of handlers that are gone stay where they are. Gives how many
   * runs of a handler may run at once, where somebody set that.
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
   * The owner takes no more work: its waiting claims, and all later ones, resolve with none. Its leases stay. After this has
   * resolved, no claim of the owner is on its way. Idempotent.
   */
  retire(owner: string): Promise<void>
  /** Gives leases back unworked: as if they had never been claimed. Idempotent. */
  release(leases: readonly Pick<Lease, 'runId' | 'token'>[]): Promise<void>
  /**
   * Ends all leases of an owner that died, and its waiting claims: each run counts as crashed and becomes a suspect, behind the
   * others if it was one, or, after `maxCrashes`, a dead letter. Idempotent.
   */
  reap(owner: string): Promise<ReapResult>
}

/** What the admin side and the command line need. Reads see what was committed. `by` is noted in the audit: see `AuditRecord`. */
export interface ViewPort extends IndexPort {
  /** Newest first. */
  events(query: EventQuery): Promise<EventPage>
  event(id: string): Promise<EventDetail | null>
  /** Those that died last first. */
  deadLetters(query: DeadQuery): Promise<Page<DeadLetter>>
  /** By the id of its run. */
  deadLetter(runId: number): Promise<DeadLetter | null>
  /** The largest first. */
  deadGroups(filter: DeadFilter): Promise<DeadGroups>
  /** The run ids of what a filter finds; at most `mostDeadIds`. */
  deadRunIds(filter: DeadFilter): Promise<DeadRunIds>
  /** Newest first. */
  conflicts(query: PageQuery): Promise<Page<ConflictRecord>>
  conflict(eventId: string, digest: string): Promise<ConflictDetail | null>
  /** The largest first. */
  quarantineGroups(): Promise<readonly QuarantineGroup[]>
  /** Ends dead letters for good, with a reason that is kept; what they hold up goes on. Gives how many. */
  dropDead(which: 'all' | readonly number[], reason: string, by?: string): Promise<number>
  /** Ends all runs of a handler that nobody works on, for one that was removed. Gives how many; null if there never was such a handler. */
  dropOpenRuns(handler: string, reason: string, by?: string): Promise<number | null>
  /** How many runs of a handler may run at once; null: as it says itself. It holds across restarts. False as for `setPaused`. */
  setConcurrency(handler: string, concurrency: number | null, by?: string): Promise<boolean>
  /** Makes dead letters claimable again with their attempts counted anew; all of them, or those of the given run ids. Gives how many. */
  requeueDead(which: 'all' | readonly number[], by?: string): Promise<number>
  /** Prunes in small steps, then gives space back. Gives how much was pruned. `noted`: somebody asked for it. */
  prune(limits: PruneLimits, noted?: 'noted', by?: string): Promise<PruneOutcome>
  /** Those of these ids that no event has, be it pruned or not. */
  unknownIds(ids: readonly string[]): Promise<readonly string[]>
  /** How many events a replay would find, and how many of these have no body any more. Throws as `startReplay`. */
  countReplay(filter: ReplayFilter): Promise<{ readonly events: number; readonly skipped: number }>
  /**
   * Starts a replay; its runs are created bit by bit, a bounded number ahead of what is worked off, also after a restart. Throws
   * `bad_request` where nothing is given to choose events by, `not_found` for a handler that is not registered. With a handler,
   * only events of the types that it takes are found.
   */
  startReplay(replay: NewReplay, by?: string): Promise<ReplayRecord>
  /** Newest first. */
  replays(query: PageQuery): Promise<Page<ReplayRecord>>
  replay(id: number): Promise<ReplayRecord | null>
  /** Creates no more runs of it, and drops those that wait. False if it has ended, or never was. Idempotent. */
  cancelReplay(id: number, by?: string): Promise<boolean>
  /**
   * Pauses a handler, or with null all of them together; it holds across restarts, until it is taken back. Nothing of it is
   * handed out meanwhile; what was handed out before goes on. False if no handler of that name was ever registered. Idempotent.
   */
  setPaused(handler: string | null, paused: boolean, by?: string): Promise<boolean>
  /** Newest first. Of longer bodies, `raw` has only the first `listedBytes`. */
  quarantine(query: PageQuery & { readonly reason?: string }): Promise<Page<QuarantinedBody>>
  /** One of them with all of its bytes. */
  quarantined(id: string): Promise<QuarantinedBody | null>
  /** Accepts the event that a body in quarantine turned out to be, and takes it out of there. Null if it is not there. */
  retryQuarantined(id: string, event: NewEvent, by?: string): Promise<AcceptResult | null>
  /** Removes a body from the quarantine, with a reason that is kept. False if it is not there. */
  dropQuarantined(id: string, reason: string, by?: string): Promise<boolean>
  /** The last times in which nothing could be received, and all with lost events that nobody acknowledged, newest first. */
  gaps(): Promise<readonly GapRecord[]>
  /** Says that what is missing or lost is dealt with: there is nothing missing, and nothing to acknowledge, from then on. Idempotent. */
  acknowledgeGaps(by?: string): Promise<Acknowledged>
  /** Notes an act that no other call notes. */
  note(action: NotedAction, detail: AuditRecord['detail'], by?: string): Promise<void>
  /** What was done by these calls, newest first. */
  audit(query: PageQuery): Promise<Page<AuditRecord>>
  stats(): Promise<InboxStats>
}

/**
 * `begun` before the service is asked, so that a process that dies in between leaves a trace: such a one may or may not be there.
 * Then `registered`, or `failed` if it is certain that it is not.
 */
export const subscriptionStates = ['begun', 'registered', 'failed'] as const
export type SubscriptionState = (typeof subscriptionStates)[number]

/** A registration of the receiver with the service. */
export interface Subscription {
  /** 1, 2, 3 … in the order in which they were begun. */
  readonly id: number
  /** Of url, events and label of the secret: equal if these are. */
  readonly digest: string
  readonly url: string
  readonly events: readonly string[]
  readonly secretLabel: string
  readonly state: SubscriptionState
  /** When it was begun: milliseconds since 1970. */
  readonly at: number
  /** What the service answered, as text, without anything secret; null if nothing was understood of it. */
  readonly answer: string | null
}

export type NewSubscription = Omit<Subscription, 'id' | 'state' | 'answer'>

export interface SubscriptionEnd {
  readonly state: Exclude<SubscriptionState, 'begun'>
  readonly answer: string | null
}

/** What registering the receiver needs: of all who try at the same time one may, whatever process it is in. */
export interface SubscriptionPort {
  /** The newest that has not failed. */
  subscription(): Promise<Subscription | null>
  /**
   * Begins one, durably, if the newest that has not failed is the one with the id `replaces`, or there is none and it is null.
   * Else nothing is done, and it gives null: somebody else was first. Not idempotent.
   */
  beginSubscription(next: NewSubscription, replaces: number | null, by?: string): Promise<Subscription | null>
  /** Says how one that was begun has ended. Of one that has ended, or never was, nothing is changed. Idempotent. */
  endSubscription(id: number, result: SubscriptionEnd, by?: string): Promise<void>
}

export interface Inbox extends AcceptPort, WorkPort, ViewPort, SubscriptionPort {
  /** Says that deliveries are taken from now on, until it is closed: the time before, since they last were, is a gap. */
  startServing(): Promise<void>
  /** Whether a commit can succeed as far as is known, and if not, why (one line). */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string }
  /** Called once if the store fails for good: nothing can be committed until the process is started anew. */
  onFailure(listener: (error: Error) => void): void
  /** Commits what is under way, then closes. Idempotent. */
  close(): Promise<void>
}
