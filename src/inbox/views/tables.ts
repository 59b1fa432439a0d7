import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { jsonArrayFrom } from 'kysely/helpers/sqlite'

/** A flag: 0 or 1 on SQLite, a boolean on PostgreSQL. */
type Flag = number | boolean

/** The columns that queries read, with the same names in both stores. Times are milliseconds since 1970. */
export interface Tables {
  readonly event: {
    readonly seq: number
    readonly id: string
    readonly type: string
    readonly created_at: string
    readonly received_at: number
    /** `network:address`; null if the key is the event's own id. */
    readonly key: string | null
    /** Names the source: see `sourceOf`. */
    readonly secret_label: string
    /**
     * Milliseconds from `received_at` to the start of the transaction that stored the event; null for events of older
     * versions.
     */
    readonly stored_ms: number | null
    /** Id in `header_set`; null: no stored headers. */
    readonly header_set: number | null
    /** W3C `traceparent` of the delivery; null without one. */
    readonly trace: string | null
    /** Index in `eventStatuses`, set when the event is pruned; null before. */
    readonly final_status: number | null
  }
  readonly body: { readonly seq: number; readonly raw: Buffer }
  readonly header_set: { readonly id: number; readonly headers: string }
  readonly redelivery: { readonly event_seq: number; readonly count: number }
  readonly conflict: {
    readonly event_seq: number
    readonly digest: string
    readonly received_at: number
    readonly count: number
    readonly raw: Buffer
  }
  readonly quarantine: {
    readonly seq: number
    readonly id: string
    readonly reason: string
    readonly received_at: number
    readonly secret_label: string
    readonly count: number
    readonly raw: Buffer
  }
  readonly handler: {
    readonly id: number
    readonly name: string
    readonly paused: Flag
    /** Concurrency that an operator set; null: the default. */
    readonly concurrency: number | null
    readonly superseded: number
    /** Next event of the backfill; null: no backfill in progress. */
    readonly backfill_seq: number | null
  }
  readonly run: {
    readonly id: number
    readonly event_seq: number
    readonly handler_id: number
    /** 0 for a live run. */
    readonly replay_id: number
    /** Null: the run has no key, so it waits for no other run. */
    readonly key: string | null
    readonly state: number
    readonly run_at: number
    readonly attempt: number
    readonly crashed: number
    /** Start of the latest attempt; null before the first. */
    readonly started_at: number | null
    readonly ended_at: number
    /** See `errorGroupOf`; null for a run that was never a dead letter, and for dead letters of older versions. */
    readonly error_group: string | null
  }
  readonly attempt: {
    readonly run_id: number
    readonly attempt: number
    readonly started_at: number
    readonly ended_at: number
    readonly outcome: 'retry' | 'dead' | 'crashed' | 'dropped'
    /** The error of the attempt, in three columns; null without an error. */
    readonly error_name: string | null
    readonly error_message: string | null
    readonly error_stack: string | null
    /** The order of attempts: `rowid` on SQLite, `seq` on PostgreSQL. */
    readonly rowid: number
    readonly seq: number
  }
  readonly item: { readonly run_id: number; readonly payload: string; readonly idempotency_key: string }
  readonly state: {
    readonly handler_id: number
    readonly key: string
    readonly version: number
    /** Null: never. */
    readonly expires_at: number | null
  }
  readonly replay: {
    readonly id: number
    /** JSON of a `ReplayFilter`. */
    readonly filter: string
    /** Maximum runs created per second; null: no limit. */
    readonly per_second: number | null
    readonly new_keys: Flag
    readonly state: number
    readonly created_at: number
    /** Null while running. */
    readonly ended_at: number | null
    readonly next_seq: number
    readonly last_seq: number
    readonly events: number
    readonly runs: number
    readonly skipped: number
  }
  readonly audit: {
    readonly id: number
    readonly at: number
    readonly action: string
    readonly detail: string
    /** Null for the inbox itself and for commands. */
    readonly by_whom: string | null
  }
  /** See `GapRecord`. `lost_from` and `lost_to` are null if nothing was lost. */
  readonly gap: {
    readonly id: number
    readonly from_at: number
    readonly to_at: number
    readonly kind: string
    /** Null for a restored file. */
    readonly retried_until: number | null
    /** Both null if nothing was lost. */
    readonly lost_from: number | null
    readonly lost_to: number | null
    readonly arrived: number
    readonly arrived_lost: number
    /** Null if no late event has arrived. */
    readonly last_arrival_at: number | null
    /** Null until an operator acknowledges it. */
    readonly acknowledged_at: number | null
  }
  readonly tally: { readonly minute: number; readonly type: string; readonly network: string; readonly count: number }
  readonly hour: { readonly hour: number; readonly first_seq: number; readonly last_seq: number }
  readonly secret_use: {
    readonly label: string
    readonly first_at: number
    readonly last_at: number
    readonly count: number
  }
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

/** The rows of `jsonRows`. PostgreSQL's driver parses JSON, SQLite's doesn't. */
export function rowsOf<T>(json: readonly T[] | string | null): readonly T[] {
  return typeof json === 'string' ? (JSON.parse(json) as readonly T[]) : (json ?? [])
}

/** A number from a cursor, cast because it may not fit into the column that it is compared with. */
export const cursorNumber = (n: number): RawBuilder<number> => sql<number>`cast(${n} as bigint)`

/** Lets other calls run between two statements of a long query. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
