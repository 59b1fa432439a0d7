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
 * `waiting` behind an older run of its key, `ready` to be claimed (perhaps not before `runAt`), `suspect` see above. `held` and
 * `dead` are dead letters: one that holds up its key, and one that does not. The others are ends.
 */
export type RunState = (typeof runStates)[number]

export interface Page<T> {
  readonly data: readonly T[]
  /** Passed as `cursor` it gives the next page; null on the last one. */
  readonly nextCursor: string | null
}

export interface PageQuery {
  readonly limit: number
  readonly cursor?: string
}

export interface EventQuery extends PageQuery {
  readonly type?: string
  readonly network?: string
  readonly address?: string
  readonly status?: EventStatus
  /** Terms between white space that all stand in the body as it came, anywhere in it. The case of ASCII letters does not count. */
  readonly q?: string
  /** Received at or after, before: milliseconds since 1970. */
  readonly from?: number
  readonly to?: number
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

/** `searchedTo`: when the oldest event that was looked at was received; null: there is no event. */
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
  /** Of the last attempt; null: not yet. */
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
  /** True when its body and runs are gone. The status is the one that it ended with. */
  readonly pruned: boolean
  /** Later deliveries of the same id, with the same body and with others. */
  readonly duplicates: number
  readonly conflicts: number
  /** When the transaction that stored it began: milliseconds since 1970; null for events stored by versions that did not note it. */
  readonly storedAt: number | null
  /** The headers it came with as JSON; null: they were not kept. */
  readonly headers: string | null
  readonly trace: string | null
  readonly runs: readonly RunRecord[]
}

/** A delivery whose id is known with another body. */
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
  /** Empty where it is no longer kept. */
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

/** Dead letters that meet all given conditions. */
export interface DeadFilter {
  readonly handler?: string
  readonly type?: string
  /** As `errorGroupOf` gives it. */
  readonly group?: string
}

/** Dead letters of a handler with the same error group. */
export interface DeadGroup {
  readonly handler: string
  readonly group: string
  readonly count: number
  readonly held: number
  readonly firstDiedAt: number
  readonly lastDiedAt: number
  /** The newest one. */
  readonly sample: DeadLetter
}

/** The maximum number of dead letters that a filter finds at once. */
export const maxDeadIds = 100_000

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
  /** At most `maxReplayIds`. */
  readonly ids?: readonly string[]
  /** Only runs of this handler; else of every registered one that takes the event. */
  readonly handler?: string
}

export const maxReplayIds = 1_000

export interface NewReplay {
  readonly filter: ReplayFilter
  /** How many runs may be created per second; null: as fast as they are worked off. */
  readonly perSecond: number | null
  /** Gives the runs idempotency keys of their own: whoever knows repeats by these will not know them for repeats. */
  readonly newKeys: boolean
}

/** `running` until all its runs have ended or it is cancelled. */
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

/** A list has so many bytes of a body in quarantine. */
export const previewBytes = 800

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

/** Missing events, and gaps with lost events, that were not acknowledged before. */
export interface Acknowledged {
  readonly missingSeqs: number
  readonly gaps: number
}

/** Limits for ended events without a dead letter, and for bodies in quarantine. */
export interface PruneLimits {
  /** Milliseconds since 1970; null: no limit of age. */
  readonly receivedBefore: number | null
  /**
   * While the database holds more than so many bytes, the oldest, if they are older than an hour: first events, but for the newest
   * whose bodies take half of it, then quarantine, but for the newest that take a quarter. Null: it may be of any size.
   */
  readonly maxBytes: number | null
}

/** An action of an operator, with its object. */
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
  readonly detail: Readonly<Record<string, unknown>>
  /** The caller, such as `operator (session) 127.0.0.1`; null: this program itself, or a command that opened the file. */
  readonly by: string | null
}

export interface HandlerStats extends RunCounts {
  readonly handler: string
  /** True when this handler itself is paused. */
  readonly paused: boolean
  /** The limit of runs in flight that an operator set; null: its own. */
  readonly concurrency: number | null
  /** Superseded runs since the first. */
  readonly superseded: number
  /** The next event that it gets of those stored before it; null: none is left. */
  readonly backfillSeq: number | null
  /** Whether any living replica has it; absent where the inbox is of one process. */
  readonly isHeld?: boolean
}

export interface RunCounts {
  readonly waiting: number
  readonly ready: number
  readonly suspect: number
  readonly running: number
  readonly held: number
  readonly dead: number
}

type OpenCounts = Pick<HandlerStats, 'handler' | 'waiting' | 'ready' | 'suspect' | 'isHeld'>

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
    .filter((row) => openRunsOf(row) > 0 && !(row.isHeld ?? names.has(row.handler)))
    .map((row) => ({ handler: row.handler, openRuns: openRunsOf(row) }))
}

export interface InboxStats {
  /** Highest accept sequence number, 0 when empty. */
  readonly lastSeq: number
  readonly quarantined: number
  readonly conflicts: number
  /** True when all handlers are paused together. */
  readonly paused: boolean
  readonly handlers: readonly HandlerStats[]
  /** When the event of the oldest open run was received; null: nothing is open. */
  readonly oldestOpenAt: number | null
  /** Null where it is not known. */
  readonly sizeBytes: number | null
  /** Accept-sequence numbers that the last start found missing, and nobody has acknowledged. */
  readonly missingSeqs: number
}

export interface ActivityQuery {
  /** Received at or after, before: milliseconds since 1970. */
  readonly from: number
  readonly to: number
  /** A whole number of minutes, in milliseconds. At most 1,500 buckets between `from` and `to`. */
  readonly bucketMs: number
}

/** Accepted events of a type on a network in a bucket of time. A bucket without events has none. */
export interface Activity {
  /** When the bucket begins. Buckets begin at whole multiples of their length since 1970. */
  readonly at: number
  readonly type: string
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

export const maxWallets = 10_000

/** A wallet that an event of type `wallet.*` was about. */
export interface KnownWallet {
  readonly network: string
  readonly address: string
  readonly lastAt: number
}

/** Reads for the admin API and the commands. They see committed data. */
export interface QueryStore {
  /** In order of time, of the last 15 days. Throws `bad_request` for more than 1,500 buckets. */
  activity(query: ActivityQuery): Promise<readonly Activity[]>
  secretUses(): Promise<readonly SecretUse[]>
  /** The 10,000 wallets with the newest events. Looks through stored events, newest first, until it has found so many. */
  knownWallets(): Promise<readonly KnownWallet[]>
  /** Newest first. */
  events(query: EventQuery): Promise<EventPage>
  event(id: string): Promise<EventDetail | null>
  /** Those that died last first. */
  deadLetters(query: PageQuery & DeadFilter): Promise<Page<DeadLetter>>
  /** By the id of its run. */
  deadLetter(runId: number): Promise<DeadLetter | null>
  /** The largest first. `isComplete`: false if only the newest dead letters were looked at. */
  deadGroups(filter: DeadFilter): Promise<{ readonly groups: readonly DeadGroup[]; readonly isComplete: boolean }>
  /** Run ids, ascending; at most `maxDeadIds`. `isComplete`: false if there are more, of which these died last. */
  deadRunIds(filter: DeadFilter): Promise<{ readonly runIds: readonly number[]; readonly isComplete: boolean }>
  /** Newest first. */
  conflicts(query: PageQuery): Promise<Page<ConflictRecord>>
  conflict(eventId: string, digest: string): Promise<ConflictDetail | null>
  /** The largest first. */
  quarantineGroups(): Promise<readonly QuarantineGroup[]>
  /** Those of these ids that no event has, be it pruned or not. */
  unknownIds(ids: readonly string[]): Promise<readonly string[]>
  /** How many events a replay would find, and how many of these have no body any more. Throws as `startReplay`. */
  countReplay(filter: ReplayFilter): Promise<{ readonly events: number; readonly skipped: number }>
  /** Newest first. */
  replays(query: PageQuery): Promise<Page<ReplayRecord>>
  replay(id: number): Promise<ReplayRecord | null>
  /** Newest first. Of longer bodies, `raw` has only the first `previewBytes`. */
  quarantine(query: PageQuery & { readonly reason?: string }): Promise<Page<QuarantinedBody>>
  /** One of them with all of its bytes. */
  quarantined(id: string): Promise<QuarantinedBody | null>
  /** The last times in which nothing could be received, and all with lost events that nobody acknowledged, newest first. */
  gaps(): Promise<readonly GapRecord[]>
  /** Newest first. */
  audit(query: PageQuery): Promise<Page<AuditRecord>>
  stats(): Promise<InboxStats>
}

/** The views by name, for calls that reach them in another thread, or before they are loaded. */
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
  'quarantineGroups',
  'replays',
  'replay',
  'audit',
  'gaps',
  'unknownIds',
  'countReplay',
  'stats',
] as const satisfies readonly (keyof QueryStore)[]
