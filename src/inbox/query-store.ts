import type { Item, RunError } from './types.ts'

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
 * `waiting`: behind an older run of its key. `ready`: claimable, from `runAt` on. `suspect`: crash suspect. `held` and `dead`: dead
 * letters; a `held` one blocks its key. The others are final.
 */
export type RunState = (typeof runStates)[number]

export interface Page<T> {
  readonly data: readonly T[]
  /** Cursor of the next page; null on the last page. */
  readonly nextCursor: string | null
}

export interface PageQuery {
  readonly limit: number
  readonly cursor?: string
}

export interface EventQuery extends PageQuery {
  readonly source?: string
  readonly type?: string
  readonly network?: string
  readonly address?: string
  readonly status?: EventStatus
  /** Terms separated by white space. The body must contain all of them; ASCII letters match in either case. */
  readonly q?: string
  /** Received at or after `from` and before `to`: milliseconds since 1970. */
  readonly from?: number
  readonly to?: number
  /** Only events with a run of this handler. */
  readonly handler?: string
  /** Only events with a dead letter in this error group; with `handler`, one of that handler. */
  readonly group?: string
  /** Adds `detail` to each event. */
  readonly isDetailed?: boolean
}

/** The part of an event's detail that fits into a list. */
export interface EventListDetail {
  /** Null for a pruned event, and for a body above `maxListedBody` bytes. */
  readonly body: Uint8Array | null
  /** In the order of their creation. */
  readonly runs: readonly ListedRun[]
}

export interface ListedRun extends Pick<RunRecord, 'handler' | 'state' | 'attempt' | 'replay'> {
  /** Error of the latest failed attempt, without its stack; null if none failed, and for a completed run. */
  readonly error: RunError | null
}

/** Maximum bytes of a body in a list of events. */
export const maxListedBody = 16_384

export interface EventSummary {
  readonly seq: number
  /** For other sources than the default one `<source>/<id>`: see `uidOf`. */
  readonly id: string
  readonly source: string
  readonly type: string
  readonly createdAt: string
  readonly receivedAt: number
  /** Parts of the event's key; null if the key is the event's own id. */
  readonly network: string | null
  readonly address: string | null
  readonly status: EventStatus
  readonly detail?: EventListDetail
}

/** `searchedTo`: when the oldest searched event was received (milliseconds since 1970); null if there is no event. */
export interface EventPage extends Page<EventSummary> {
  readonly searchedTo: number | null
}

export interface AttemptRecord {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: 'done' | 'retry' | 'dead' | 'crashed' | 'dropped'
  /** Null without an error. */
  readonly error: RunError | null
}

export interface RunRecord {
  readonly runId: number
  readonly handler: string
  readonly state: RunState
  readonly attempt: number
  readonly crashed: number
  /** When it may be claimed: milliseconds since 1970. Null when it is running or has ended. */
  readonly runAt: number | null
  /** Id of the replay that created it; null for a live run. */
  readonly replay: number | null
  /** The outbox item that a sink delivers; null for a handler's run. */
  readonly item: Item | null
  /** Start of the latest attempt; null before the first. */
  readonly startedAt: number | null
  /** Null before the run has ended. */
  readonly endedAt: number | null
  /** State keys whose current value it wrote, at most 100. Empty if the handler's state is large. */
  readonly stateKeys: readonly string[]
  readonly attempts: readonly AttemptRecord[]
}

export interface EventDetail extends EventSummary {
  readonly key: string
  readonly secretLabel: string
  /** Empty for a pruned event. */
  readonly raw: Uint8Array
  /** True when its body and runs are deleted. `status` is then its final status. */
  readonly pruned: boolean
  /** Later deliveries of the id: with the same body (`duplicates`) and with another body (`conflicts`). */
  readonly duplicates: number
  readonly conflicts: number
  /** When the transaction that stored it began: milliseconds since 1970. Null for events of older versions. */
  readonly storedAt: number | null
  /** Stored headers as JSON; null if none were stored. */
  readonly headers: string | null
  /** W3C `traceparent` of the delivery; null without one. */
  readonly trace: string | null
  readonly runs: readonly RunRecord[]
}

/** A delivery with the id of a stored event, but another body. */
export interface ConflictRecord {
  readonly eventId: string
  readonly type: string
  /** SHA-256 in hex. */
  readonly digest: string
  readonly receivedAt: number
  readonly count: number
  readonly sizeBytes: number
}

export interface ConflictDetail extends ConflictRecord {
  /** Empty for a pruned event. `keptRaw`: the stored event's body. */
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
  /** True when it blocks its key. */
  readonly held: boolean
  readonly error: RunError
}

/** Conditions on dead letters; all of them must hold. */
export interface DeadFilter {
  readonly handler?: string
  readonly type?: string
  /** Error group: see `errorGroupOf`. */
  readonly group?: string
}

/** Dead letters of a handler with the same error group. */
export interface DeadGroup {
  readonly handler: string
  readonly group: string
  /** The top frame in `group`; null without one. */
  readonly frame: string | null
  readonly count: number
  readonly held: number
  readonly firstDiedAt: number
  readonly lastDiedAt: number
  /** The latest run of the group. */
  readonly sample: DeadLetter
}

/** Maximum groups that `deadGroups` returns. */
export const maxDeadGroups = 500

/** Maximum dead letters that a filter returns. */
export const maxDeadIds = 100_000

/** Selects the stored events of a replay. All conditions must hold, and at least one is required. */
export interface ReplayFilter extends Omit<EventQuery, 'limit' | 'cursor' | 'q' | 'group' | 'isDetailed'> {
  /** At most `maxReplayIds`. */
  readonly ids?: readonly string[]
  /** Creates runs of this handler only. Default: of every registered handler that takes the event. */
  readonly handler?: string
}

/** Maximum ids of a replay's filter. */
export const maxReplayIds = 1_000

export interface NewReplay {
  readonly filter: ReplayFilter
  /** Maximum runs created per second; null: no limit. */
  readonly perSecond: number | null
  /** Gives the runs new idempotency keys, so that receivers of side effects don't treat them as duplicates. */
  readonly newKeys: boolean
}

/** A replay is `running` until all its runs have ended or it is cancelled. */
export const replayStates = ['running', 'done', 'cancelled'] as const
export type ReplayState = (typeof replayStates)[number]

export interface ReplayRecord extends NewReplay {
  readonly id: number
  readonly state: ReplayState
  readonly createdAt: number
  /** Null while running. */
  readonly endedAt: number | null
  /** Latest scanned and last accept-sequence number. */
  readonly scannedSeq: number
  readonly lastSeq: number
  /** So far: matching events, runs created of them, and events skipped because their body was pruned. */
  readonly events: number
  readonly runs: number
  readonly skipped: number
  /** Runs that have not ended. */
  readonly openRuns: number
}

/** Maximum bytes of each quarantined body in a list. */
export const previewBytes = 800

export interface QuarantinedBody {
  readonly id: string
  readonly reason: string
  readonly receivedAt: number
  readonly secretLabel: string
  readonly sizeBytes: number
  /** Deliveries of the same bytes. */
  readonly count: number
  readonly raw: Uint8Array
}

/** A time in which no deliveries were accepted, or whose deliveries are missing after a restore. */
export interface GapRecord {
  /** Milliseconds since 1970. `from` is exact for `stopped`, else accurate to a few seconds. */
  readonly from: number
  readonly to: number
  /**
   * `stopped`: stopped cleanly. `killed`: killed or crashed. `stood_still`: suspended, unable to write, or the clock was set forward.
   * `restored`: restored from a backup made before `from`.
   */
  readonly kind: 'stopped' | 'killed' | 'stood_still' | 'restored'
  /** When the last retry of deliveries from the gap arrives, if the sender retries them. Null for `restored`. */
  readonly retriedUntil: number | null
  /** Deliveries first sent from `from` until before `to` are lost: the sender doesn't retry them. May begin before the gap. */
  readonly lost: { readonly from: number; readonly to: number } | null
  /** Late events created in the gap, the number of them created in `lost`, and when the latest arrived (null: none has arrived). */
  readonly arrived: number
  readonly arrivedLost: number
  readonly lastArrivalAt: number | null
  /** When an operator acknowledged the lost events; null: not yet. */
  readonly acknowledgedAt: number | null
}

/** Missing events and gaps with lost events that a call acknowledged. */
export interface Acknowledged {
  readonly missingSeqs: number
  readonly gaps: number
}

/** Limits for pruning. Pruning applies to quarantined bodies, and to ended events without a dead letter. */
export interface PruneLimits {
  /** Milliseconds since 1970; null: no age limit. */
  readonly receivedBefore: number | null
  /**
   * Maximum size of the database in bytes; null: no size limit. While it is exceeded, prunes bodies older than an hour, oldest first:
   * first events, keeping the newest up to half of the size, then quarantine, keeping the newest up to a quarter.
   */
  readonly maxBytes: number | null
}

/** An operator action. */
export interface AuditRecord {
  readonly id: number
  readonly at: number
  readonly action:
    | 'handler.pause'
    | 'handler.resume'
    | 'handler.set'
    | 'handler.try'
    | 'handler.drop'
    | 'dead.requeue'
    | 'dead.drop'
    | 'quarantine.retry'
    | 'quarantine.drop'
    | 'prune'
    | 'replay.start'
    | 'replay.cancel'
    | 'gaps.acknowledge'
    | 'session.begin'
    | 'session.end'
    | 'reconcile.start'
    | 'reconcile.cancel'
  readonly detail: Readonly<Record<string, unknown>>
  /** The caller, such as `operator (session) 127.0.0.1 Mozilla/5.0`; null for the inbox itself and for commands that open the file. */
  readonly by: string | null
}

export interface HandlerStats extends RunCounts {
  readonly handler: string
  /** True when this handler itself is paused; `InboxStats.paused` pauses all. */
  readonly paused: boolean
  /** Maximum runs in flight that an operator set; null: the handler's own limit. */
  readonly concurrency: number | null
  /** Superseded runs since the handler was registered. */
  readonly superseded: number
  /** Accept-sequence number of the next event of its backfill; null: no backfill in progress. */
  readonly backfillSeq: number | null
  /** When the event of its oldest open run was received: milliseconds since 1970. Null if no run is open. */
  readonly oldestOpenAt: number | null
  /** True when a living replica has loaded it. Absent on SQLite. */
  readonly isLoaded?: boolean
}

export interface RunCounts {
  readonly waiting: number
  readonly ready: number
  readonly suspect: number
  readonly running: number
  readonly held: number
  readonly dead: number
}

type OpenCounts = Pick<HandlerStats, 'handler' | 'waiting' | 'ready' | 'suspect' | 'isLoaded'>

/** Pending runs of a handler. */
export function openRunsOf({ waiting, ready, suspect }: OpenCounts): number {
  return waiting + ready + suspect
}

/** Handlers with pending runs that no process has loaded. `loaded`: the handlers of this process. */
export function orphanedHandlers(
  rows: readonly OpenCounts[],
  loaded: readonly { readonly name: string }[],
): { readonly handler: string; readonly openRuns: number }[] {
  const names = new Set(loaded.map(({ name }) => name))
  return rows
    .filter((row) => openRunsOf(row) > 0 && !(row.isLoaded ?? names.has(row.handler)))
    .map((row) => ({ handler: row.handler, openRuns: openRunsOf(row) }))
}

export interface InboxStats {
  /** Highest accept-sequence number; 0 when empty. */
  readonly lastSeq: number
  readonly quarantined: number
  readonly conflicts: number
  /** True when all handlers are paused together. */
  readonly paused: boolean
  readonly handlers: readonly HandlerStats[]
  /** When the event of the oldest open run was received; null if no run is open. */
  readonly oldestOpenAt: number | null
  /** Null if unknown. */
  readonly sizeBytes: number | null
  /** Accept-sequence numbers that the latest start found missing; 0 once acknowledged. */
  readonly missingSeqs: number
}

export interface ActivityQuery {
  /** Received at or after `from` and before `to`: milliseconds since 1970. */
  readonly from: number
  readonly to: number
  /** Bucket length in milliseconds: whole minutes. At most 1,500 buckets between `from` and `to`. */
  readonly bucketMs: number
}

/** Accepted events of a type on a network in a time bucket. Buckets without events have no entry. */
export interface Activity {
  /** Start of the bucket. Buckets start at multiples of their length since 1970. */
  readonly at: number
  readonly type: string
  /** Null for events whose key is their own id. */
  readonly network: string | null
  readonly count: number
}

/** When a secret verified stored events. */
export interface SecretUse {
  readonly label: string
  readonly firstAt: number
  readonly lastAt: number
  readonly count: number
}

/** Maximum wallets that `knownWallets` returns. */
export const maxWallets = 10_000

/** A wallet that occurs in an event of type `wallet.*`. */
export interface KnownWallet {
  readonly network: string
  readonly address: string
  readonly lastAt: number
}

/** Reads for the admin API and the commands. They see committed data. */
export interface QueryStore {
  /** Ordered by time; covers the last 15 days. Throws `bad_request` for more than 1,500 buckets. */
  activity(query: ActivityQuery): Promise<readonly Activity[]>
  secretUses(): Promise<readonly SecretUse[]>
  /** The 10,000 wallets with the newest events. Scans stored events, newest first, until it has found that many. */
  knownWallets(): Promise<readonly KnownWallet[]>
  /** Newest first. */
  events(query: EventQuery): Promise<EventPage>
  event(id: string): Promise<EventDetail | null>
  /** Latest death first. */
  deadLetters(query: PageQuery & DeadFilter): Promise<Page<DeadLetter>>
  deadLetter(runId: number): Promise<DeadLetter | null>
  /** Largest group first; at most `maxDeadGroups`. `isComplete`: false if there are more. */
  deadGroups(filter: DeadFilter): Promise<{ readonly groups: readonly DeadGroup[]; readonly isComplete: boolean }>
  /** Run ids, ascending; at most `maxDeadIds`, the latest deaths. `isComplete`: false if there are more. */
  deadRunIds(filter: DeadFilter): Promise<{ readonly runIds: readonly number[]; readonly isComplete: boolean }>
  /** Newest first. */
  conflicts(query: PageQuery): Promise<Page<ConflictRecord>>
  conflict(eventId: string, digest: string): Promise<ConflictDetail | null>
  /** Returns the ids that no event has. Pruned events count as known. */
  unknownIds(ids: readonly string[]): Promise<readonly string[]>
  /** Counts the events that a replay would match, and those it would skip because their body was pruned. Throws like `startReplay`. */
  countReplay(filter: ReplayFilter): Promise<{ readonly events: number; readonly skipped: number }>
  /** Newest first. */
  replays(query: PageQuery): Promise<Page<ReplayRecord>>
  replay(id: number): Promise<ReplayRecord | null>
  /** Newest first. `raw` contains at most the first `previewBytes`. */
  quarantine(query: PageQuery & { readonly reason?: string }): Promise<Page<QuarantinedBody>>
  /** One body with all of its bytes. */
  quarantined(id: string): Promise<QuarantinedBody | null>
  /** The latest gaps, and all gaps with lost events that nobody has acknowledged, newest first. */
  gaps(): Promise<readonly GapRecord[]>
  /** Newest first. */
  audit(query: PageQuery): Promise<Page<AuditRecord>>
  stats(): Promise<InboxStats>
  /** Dead letters that died within the last hour. */
  deadLastHour(): Promise<number>
}

/** Names of the reads, for calls from another thread or before their code is loaded. */
export const viewNames = [
  'events',
  'event',
  'activity',
  'secretUses',
  'knownWallets',
  'deadLetters',
  'deadLetter',
  'deadGroups',
  'deadRunIds',
  'conflicts',
  'conflict',
  'quarantine',
  'quarantined',
  'replays',
  'replay',
  'audit',
  'gaps',
  'unknownIds',
  'countReplay',
  'stats',
  'deadLastHour',
] as const satisfies readonly (keyof QueryStore)[]
