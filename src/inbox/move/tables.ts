/** What a column holds. `flag`: 0 or 1 in the file, boolean in PostgreSQL. Anything may be null. */
export type Kind = 'integer' | 'real' | 'text' | 'flag' | 'bytes'

export interface MovedTable {
  readonly name: string
  /** What its rows are in the order of; no two are the same. Each is an integer or a text. */
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, Kind>>
  /** The key is no column of the file, but where SQLite has the row. */
  readonly isByRowid?: boolean
  /** The column that PostgreSQL counts by itself. */
  readonly identity?: string
}

export type Value = number | string | boolean | Uint8Array | null
/** Columns by their names. */
export type Row = Readonly<Record<string, Value>>
/** The values of `MovedTable.key`. */
export type Key = readonly (number | string)[]

/** Every table that is moved, row by row, ids and all; but for `meta`, of which some rows are of the file alone. */
export const tables: readonly MovedTable[] = [
  counted('header_set', { headers: 'text' }),
  counted('handler', {
    name: 'text',
    paused: 'flag',
    concurrency: 'integer',
    holds: 'flag',
    superseded: 'integer',
    backfill_seq: 'integer',
    backfill_from: 'integer',
  }),
  counted('replay', {
    filter: 'text',
    per_second: 'real',
    new_keys: 'flag',
    state: 'integer',
    created_at: 'integer',
    ended_at: 'integer',
    next_seq: 'integer',
    last_seq: 'integer',
    events: 'integer',
    runs: 'integer',
    skipped: 'integer',
  }),
  {
    name: 'event',
    key: ['seq'],
    columns: {
      seq: 'integer',
      id: 'text',
      type: 'text',
      created_at: 'text',
      received_at: 'integer',
      key: 'text',
      secret_label: 'text',
      stored_ms: 'integer',
      header_set: 'integer',
      trace: 'text',
      final_status: 'integer',
    },
  },
  { name: 'body', key: ['seq'], columns: { seq: 'integer', total: 'integer', raw: 'bytes' } },
  { name: 'redelivery', key: ['event_seq'], columns: { event_seq: 'integer', count: 'integer', last_at: 'integer' } },
  {
    name: 'conflict',
    key: ['event_seq', 'digest'],
    columns: { event_seq: 'integer', digest: 'text', received_at: 'integer', count: 'integer', raw: 'bytes' },
  },
  {
    name: 'quarantine',
    key: ['seq'],
    identity: 'seq',
    columns: {
      seq: 'integer',
      id: 'text',
      reason: 'text',
      received_at: 'integer',
      secret_label: 'text',
      count: 'integer',
      total: 'integer',
      raw: 'bytes',
    },
  },
  {
    name: 'run',
    key: ['id'],
    columns: {
      id: 'integer',
      event_seq: 'integer',
      handler_id: 'integer',
      replay_id: 'integer',
      key: 'text',
      state: 'integer',
      run_at: 'integer',
      attempt: 'integer',
      failed: 'integer',
      crashed: 'integer',
      token: 'integer',
      started_at: 'integer',
      ended_at: 'integer',
      error_group: 'text',
    },
  },
  {
    name: 'attempt',
    key: ['seq'],
    isByRowid: true,
    identity: 'seq',
    columns: {
      seq: 'integer',
      run_id: 'integer',
      attempt: 'integer',
      started_at: 'integer',
      ended_at: 'integer',
      outcome: 'text',
      error_name: 'text',
      error_message: 'text',
      error_stack: 'text',
    },
  },
  { name: 'item', key: ['run_id'], columns: { run_id: 'integer', payload: 'text', idempotency_key: 'text' } },
  {
    name: 'state',
    key: ['handler_id', 'key'],
    columns: { handler_id: 'integer', key: 'text', value: 'text', version: 'integer', expires_at: 'integer' },
  },
  counted('audit', { at: 'integer', action: 'text', detail: 'text', by_whom: 'text' }),
  counted('gap', {
    from_at: 'integer',
    to_at: 'integer',
    kind: 'text',
    retried_until: 'integer',
    lost_from: 'integer',
    lost_to: 'integer',
    arrived: 'integer',
    arrived_lost: 'integer',
    last_arrival_at: 'integer',
    acknowledged_at: 'integer',
  }),
  counted('subscription', {
    digest: 'text',
    url: 'text',
    events: 'text',
    secret_label: 'text',
    state: 'integer',
    at: 'integer',
    answer: 'text',
  }),
]

/** What of `meta` is true of the inbox wherever it is: whether all is paused, until when it was served, what is missing. */
export const movedMeta: readonly string[] = ['missing_seqs', 'paused', 'seen_at', 'served_at']
/** In a cluster each replica has a row that says that it takes deliveries: of one that was killed it stays. */
export const killedMeta = 'serving:sqlite'

/** A table whose rows PostgreSQL numbers. */
function counted(name: string, columns: MovedTable['columns']): MovedTable {
  return { name, key: ['id'], identity: 'id', columns: { id: 'integer', ...columns } }
}

export function keyOf(table: MovedTable, row: Row): Key {
  return table.key.map((column) => row[column] as number | string)
}

/** Before every key. */
export function firstKey(table: MovedTable): Key {
  return table.key.map((column) => (table.columns[column] === 'text' ? '' : Number.MIN_SAFE_INTEGER))
}

export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
