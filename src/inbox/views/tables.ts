import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { jsonArrayFrom } from 'kysely/helpers/sqlite'
import type {
  AttemptRecord,
  AuditRecord,
  ConflictDetail,
  EventDetail,
  GapRecord,
  HandlerStats,
  Item,
  QuarantinedBody,
  RunRecord,
  SecretUse,
  StateEntry,
} from '../port.ts'
import type { ReplayRow, ScannedEvent } from '../replays.ts'
import { isDeadLetter, isOpen } from '../run-sql.ts'
import type { ProgressRow } from '../status.ts'

/** A flag: 0 or 1 on SQLite, a boolean on PostgreSQL. */
type Flag = number | boolean

/** The column of a field: `receivedAt` is stored in `received_at`. */
type Snake<S extends string> = S extends `${infer C}${infer Rest}`
  ? `${C extends Lowercase<C> ? C : `_${Lowercase<C>}`}${Snake<Rest>}`
  : S

/** The columns in which the fields of a record are stored. */
type Columns<T> = { readonly [K in keyof T & string as Snake<K>]: T[K] }

/** The error of an attempt; all null without one. */
export interface ErrorColumns {
  readonly errorName: string | null
  readonly errorMessage: string | null
  readonly errorStack: string | null
}

/** The columns that queries read, with the same names in both stores. Times are milliseconds since 1970. */
export interface Tables {
  readonly event: Columns<ScannedEvent & Pick<EventDetail, 'createdAt' | 'trace'>> & {
    /**
     * Milliseconds from `received_at` to the start of the transaction that stored the event; null for events of older
     * versions.
     */
    readonly stored_ms: number | null
    /** Id in `header_set`; null: no stored headers. */
    readonly header_set: number | null
  }
  readonly body: { readonly seq: number; readonly raw: Buffer }
  readonly header_set: { readonly id: number; readonly headers: string }
  readonly redelivery: { readonly event_seq: number; readonly count: number }
  readonly conflict: Columns<Pick<ConflictDetail, 'digest' | 'receivedAt' | 'count' | 'raw'>> & {
    readonly event_seq: number
  }
  readonly quarantine: Columns<Omit<QuarantinedBody, 'sizeBytes'>> & { readonly seq: number }
  readonly handler: Columns<Pick<HandlerStats, 'concurrency' | 'superseded' | 'backfillSeq'>> & {
    readonly id: number
    readonly name: string
    readonly paused: Flag
  }
  readonly run: Columns<ProgressRow & Pick<RunRecord, 'crashed' | 'startedAt'>> & {
    readonly id: number
    readonly event_seq: number
    readonly handler_id: number
    /** Null: the run has no key, so it waits for no other run. */
    readonly key: string | null
    readonly run_at: number
    readonly ended_at: number
    /** See `errorGroupOf`; null for a run that was never a dead letter, and for dead letters of older versions. */
    readonly error_group: string | null
  }
  readonly attempt: Columns<Omit<AttemptRecord, 'error'> & ErrorColumns> & {
    readonly run_id: number
    /** The order of attempts: `rowid` on SQLite, `seq` on PostgreSQL. */
    readonly rowid: number
    readonly seq: number
  }
  readonly item: Columns<Item> & { readonly run_id: number }
  readonly state: Columns<Pick<StateEntry, 'key' | 'version' | 'expiresAt'>> & { readonly handler_id: number }
  readonly replay: Columns<ReplayRow<Flag>>
  readonly audit: Columns<Pick<AuditRecord, 'id' | 'at' | 'action'>> & {
    readonly detail: string
    readonly by_whom: AuditRecord['by']
  }
  readonly gap: Columns<Omit<GapRecord, 'from' | 'to' | 'lost'>> & {
    readonly id: number
    readonly from_at: number
    readonly to_at: number
    /** Both null if nothing was lost. */
    readonly lost_from: number | null
    readonly lost_to: number | null
  }
  readonly tally: { readonly minute: number; readonly type: string; readonly network: string; readonly count: number }
  readonly hour: { readonly hour: number; readonly first_seq: number; readonly last_seq: number }
  readonly secret_use: Columns<SecretUse>
  readonly meta: { readonly name: string; readonly value: number }
}

/** The differences between the stores that queries need. */
export interface ViewStore {
  readonly db: Kysely<Tables>
  readonly attemptOrder: 'attempt.rowid' | 'attempt.seq'
  /** The rows of a subquery as JSON. Read it with `rowsOf`. */
  readonly jsonRows: typeof jsonArrayFrom
  /** Whether `body.raw` matches a LIKE pattern with the escape character \\. ASCII letters match in either case. */
  readonly bodyHas: (pattern: string) => RawBuilder<boolean>
  /** Accept-sequence numbers of the newest events of a key within a range, newest first. */
  readonly seqsOfKey: (
    key: string,
    range: { readonly below: number; readonly from: number },
    limit: number,
  ) => Promise<readonly number[]>
  /** Handlers that a living replica has loaded. Absent on SQLite. */
  readonly loadedHandlers?: () => Promise<ReadonlySet<string>>
  /** Size of the stored data in bytes. */
  readonly sizeBytes: () => Promise<number>
}

/** Open runs, held ones included. Ordered like their index, so that planners use it. */
export function openRuns(db: Kysely<Tables>) {
  const runs = db.selectFrom('run').where(sql.raw<boolean>(isOpen('run.')))
  return runs.orderBy('run.handler_id').orderBy('run.replay_id').orderBy('run.key').orderBy('run.id')
}

/** Dead letters: held and dead runs. */
export const deadRuns = (db: Kysely<Tables>) => db.selectFrom('run').where(sql.raw<boolean>(isDeadLetter('run.')))

/** The rows of `jsonRows`. PostgreSQL's driver parses JSON, SQLite's doesn't. */
export function rowsOf<T>(json: readonly T[] | string | null): readonly T[] {
  return typeof json === 'string' ? (JSON.parse(json) as readonly T[]) : (json ?? [])
}

/** A number from a cursor, cast because it may not fit into the column that it is compared with. */
export const cursorNumber = (n: number): RawBuilder<number> => sql<number>`cast(${n} as bigint)`

/** Lets other calls run between two statements of a long query. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
