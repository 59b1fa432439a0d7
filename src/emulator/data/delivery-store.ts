import Sqlite, { type Database } from 'better-sqlite3'
import {
  seqOf,
  type Attempt,
  type Batch,
  type Counts,
  type DeliveryFilter,
  type DeliveryState,
  type DeliveryStore,
  type ReplayFilter,
  type StoredDelivery,
} from '../deliveries/port.ts'
import { createStatesInFile, stateTables } from './saved-states-file.ts'

/** Events, their deliveries and attempts. `next_at` is set while a delivery is pending. */
export const deliveryTables = `
  CREATE TABLE event (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY, event INTEGER NOT NULL, endpoint TEXT NOT NULL, url TEXT NOT NULL, state TEXT NOT NULL,
    attempts INTEGER NOT NULL, created_at INTEGER NOT NULL, next_at INTEGER, is_replay INTEGER NOT NULL,
    last_status INTEGER, last_failure TEXT
  ) STRICT;
  CREATE INDEX delivery_due ON delivery (endpoint, next_at, seq) WHERE next_at IS NOT NULL;
  CREATE INDEX delivery_event ON delivery (event, endpoint);
  CREATE INDEX delivery_not_acknowledged ON delivery (state, seq) WHERE state <> 'acknowledged';
  CREATE TABLE attempt (
    delivery INTEGER NOT NULL, seq INTEGER NOT NULL, attempt INTEGER NOT NULL, at INTEGER NOT NULL,
    latency_ms REAL NOT NULL, status INTEGER, failure TEXT, is_extra INTEGER NOT NULL, next_at INTEGER, rest TEXT NOT NULL,
    PRIMARY KEY (delivery, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE delivery_meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
`

/** Settled deliveries kept per state. */
const maxKeptPerState = 100_000
/** Deliveries deleted per prune: about 100 ms of work. */
const maxPrunedPerPass = 10_000

/** For an emulator without a data file: an unnamed temporary SQLite database that ends with the process. */
export function createTemporaryStorage() {
  const db = new Sqlite('')
  db.pragma('synchronous = OFF')
  db.pragma('journal_mode = MEMORY')
  db.exec(deliveryTables + stateTables)
  return { deliveries: createDeliveryStore(db), states: createStatesInFile(db), close: () => void db.close() }
}

type Row = Omit<StoredDelivery, 'event' | 'isReplay'> & {
  readonly event: number
  readonly isReplay: number
  readonly eventId: string
  readonly type: string
  readonly body: Buffer
}

type AttemptRow = Omit<Attempt, 'isExtra'> & { readonly isExtra: number; readonly rest: string }

const joined = `SELECT d.seq, d.event, d.endpoint AS endpointId, d.url, d.state, d.attempts, d.created_at AS createdAt,
  d.next_at AS nextAttemptAt, d.is_replay AS isReplay, d.last_status AS lastStatus, d.last_failure AS lastFailure,
  e.id AS eventId, e.type, e.body
  FROM delivery d JOIN event e ON e.seq = d.event`

/** Deliveries in tables of `db`. */
export function createDeliveryStore(db: Database): DeliveryStore {
  const putEvent = db.prepare('INSERT INTO event (seq, id, type, body) VALUES (@seq, @id, @type, @body)')
  const putDelivery = db.prepare(
    `INSERT INTO delivery (seq, event, endpoint, url, state, attempts, created_at, next_at, is_replay, last_status, last_failure)
     VALUES (@seq, @event, @endpointId, @url, @state, @attempts, @createdAt, @nextAttemptAt, @isReplay, @lastStatus, @lastFailure)
     ON CONFLICT (seq) DO UPDATE SET url = excluded.url, state = excluded.state, attempts = excluded.attempts,
       next_at = excluded.next_at, last_status = excluded.last_status, last_failure = excluded.last_failure`,
  )
  const putAttempt = db.prepare(
    `INSERT INTO attempt (delivery, seq, attempt, at, latency_ms, status, failure, is_extra, next_at, rest)
     VALUES (@delivery, @seq, @attempt, @at, @latencyMs, @status, @failure, @isExtra, @nextAttemptAt, @rest)`,
  )
  const putWorldSeq = db.prepare(
    `INSERT INTO delivery_meta (name, value) VALUES ('world_seq', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  )
  const selectDue = db.prepare<[string, number, number], Row>(
    `${joined} WHERE d.endpoint = ? AND d.next_at <= ? ORDER BY d.next_at, d.seq LIMIT ?`,
  )
  const selectNextDue = db.prepare<[string, number], { at: number | null }>(
    'SELECT min(next_at) AS at FROM delivery WHERE endpoint = ? AND next_at > ?',
  )
  const selectOne = db.prepare<[number], Row>(`${joined} WHERE d.seq = ?`)
  const selectAttempts = db.prepare<[number], AttemptRow>(
    `SELECT attempt, at, latency_ms AS latencyMs, status, failure, is_extra AS isExtra, next_at AS nextAttemptAt, rest
     FROM attempt WHERE delivery = ? ORDER BY seq`,
  )
  const cancelAll = db.prepare<[string]>(
    `UPDATE delivery SET state = 'cancelled', next_at = NULL WHERE endpoint = ? AND next_at IS NOT NULL`,
  )
  const selectBeyond = db.prepare<[string], { seq: number }>(
    `SELECT seq FROM delivery WHERE state = ? ORDER BY seq DESC LIMIT 1 OFFSET ${maxKeptPerState}`,
  )
  const selectOldest = db.prepare<[string, number], { seq: number; event: number }>(
    `SELECT seq, event FROM delivery WHERE state = ? AND seq <= ? ORDER BY seq LIMIT ${maxPrunedPerPass}`,
  )
  const dropDelivery = db.prepare<[number]>('DELETE FROM delivery WHERE seq = ?')
  const dropAttempts = db.prepare<[number]>('DELETE FROM attempt WHERE delivery = ?')
  const dropEvent = db.prepare<[number, number]>(
    'DELETE FROM event WHERE seq = ? AND NOT EXISTS (SELECT 1 FROM delivery WHERE event = ?)',
  )

  let lastAttempt = numberOf(db, 'SELECT max(seq) FROM attempt') ?? 0

  return {
    begin() {
      const endpoints = db
        .prepare<[], { endpoint: string }>('SELECT DISTINCT endpoint FROM delivery WHERE next_at IS NOT NULL')
        .all()
      return {
        eventSeq: numberOf(db, 'SELECT max(seq) FROM event') ?? 0,
        deliverySeq: numberOf(db, 'SELECT max(seq) FROM delivery') ?? 0,
        worldSeq: numberOf(db, `SELECT value FROM delivery_meta WHERE name = 'world_seq'`),
        counts: readCounts(db),
        endpoints: endpoints.map(({ endpoint }) => endpoint),
      }
    },
    write: db.transaction(({ events, deliveries, attempts, worldSeq }: Batch) => {
      for (const event of events) putEvent.run(event)
      for (const { event, isReplay, ...one } of deliveries) {
        putDelivery.run({ ...one, event: event.seq, isReplay: Number(isReplay) })
      }
      for (const { delivery, attempt: one } of attempts) {
        const { attempt, at, latencyMs, status, failure, isExtra, nextAttemptAt, ...rest } = one
        const made = { attempt, at, latencyMs, status, failure, isExtra: Number(isExtra), nextAttemptAt }
        putAttempt.run({ ...made, delivery, seq: ++lastAttempt, rest: JSON.stringify(rest) })
      }
      putWorldSeq.run(worldSeq)
    }),
    due: (endpointId, now, limit) => selectDue.all(endpointId, now, limit).map(toDelivery),
    nextDueAt: (endpointId, now) => selectNextDue.get(endpointId, now)?.at ?? null,
    list(filter, limit) {
      const { where, values } = toWhere(filter)
      return db
        .prepare<unknown[], Row>(`${joined} ${where} ORDER BY d.seq DESC LIMIT ?`)
        .all(...values, limit)
        .map(toDelivery)
    },
    get(seq) {
      const row = selectOne.get(seq)
      return row === undefined ? null : toDelivery(row)
    },
    attempts: (seq) => selectAttempts.all(seq).map(toAttempt),
    undelivered: (filter) => selectUndelivered(db, filter),
    cancel: (endpointId) => cancelAll.run(endpointId).changes,
    prune: db.transaction(() => {
      for (const state of ['acknowledged', 'undelivered', 'cancelled']) {
        const beyond = selectBeyond.get(state)
        if (beyond === undefined) continue
        for (const { seq, event } of selectOldest.all(state, beyond.seq)) {
          dropDelivery.run(seq)
          dropAttempts.run(seq)
          dropEvent.run(event, event)
        }
      }
    }),
    clear: db.transaction(() => {
      db.exec('DELETE FROM attempt; DELETE FROM delivery; DELETE FROM event; DELETE FROM delivery_meta')
    }),
  }
}

/** The only value of the only row; null if there is none. */
function numberOf(db: Database, sql: string): number | null {
  return (db.prepare(sql).pluck().get() as number | null | undefined) ?? null
}

function readCounts(db: Database): Omit<Counts, 'inFlight'> {
  const byState = db
    .prepare<[], { state: DeliveryState; n: number }>('SELECT state, count(*) AS n FROM delivery GROUP BY state')
    .all()
  const counts = { pending: 0, acknowledged: 0, undelivered: 0, cancelled: 0 }
  for (const { state, n } of byState) counts[state] = n
  const duplicates = numberOf(db, 'SELECT count(*) FROM attempt WHERE is_extra = 1') ?? 0
  return { ...counts, attempts: numberOf(db, 'SELECT count(*) FROM attempt') ?? 0, duplicates }
}

/** SQLite uses the partial index only if the query repeats its condition literally. */
const stateTerms: Readonly<Record<NonNullable<DeliveryFilter['state']>, string>> = {
  pending: `d.state = 'pending'`,
  acknowledged: `d.state = 'acknowledged'`,
  undelivered: `d.state = 'undelivered' AND d.state <> 'acknowledged'`,
  cancelled: `d.state = 'cancelled' AND d.state <> 'acknowledged'`,
  failed: `d.state <> 'acknowledged' AND d.state IN ('undelivered', 'pending') AND (d.state = 'undelivered' OR d.last_failure IS NOT NULL)`,
}

function toWhere({ state, endpoint, event, type, after }: DeliveryFilter) {
  const terms: [string, unknown][] = []
  // Literal, not a parameter: SQLite must see that the partial index applies.
  const ofState = state === undefined ? [] : [stateTerms[state]]
  if (endpoint !== undefined) terms.push(['d.endpoint = ?', endpoint])
  if (event !== undefined) terms.push(['e.id = ?', event])
  if (type !== undefined) terms.push(['e.type = ?', type])
  if (after !== undefined) terms.push(['d.seq < ?', seqOf(after) ?? 0])
  const all = [...ofState, ...terms.map(([term]) => term)]
  const where = all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`
  return { where, values: terms.map(([, value]) => value) }
}

function selectUndelivered(
  db: Database,
  { since, endpoint, type }: ReplayFilter,
): readonly { readonly seq: number; readonly endpointId: string }[] {
  return db
    .prepare<unknown[], { seq: number; endpointId: string }>(
      `SELECT max(d.seq) AS seq, d.endpoint AS endpointId FROM delivery d JOIN event e ON e.seq = d.event
       WHERE ${stateTerms.undelivered} AND d.created_at >= ? AND (? IS NULL OR d.endpoint = ?) AND (? IS NULL OR e.type = ?)
       AND NOT EXISTS (SELECT 1 FROM delivery o WHERE o.event = d.event AND o.endpoint = d.endpoint AND o.seq > d.seq
         AND o.state IN ('acknowledged', 'pending'))
       GROUP BY d.event, d.endpoint ORDER BY 1`,
    )
    .all(since, endpoint ?? null, endpoint ?? null, type ?? null, type ?? null)
}

function toDelivery({ event, eventId, type, body, isReplay, ...row }: Row): StoredDelivery {
  return { ...row, event: { seq: event, id: eventId, type, body }, isReplay: isReplay === 1 }
}

function toAttempt({ rest, isExtra, ...row }: AttemptRow): Attempt {
  const more = JSON.parse(rest) as Pick<Attempt, 'faults' | 'requestHeaders' | 'responseHeaders' | 'responseExcerpt'>
  return { ...row, ...more, isExtra: isExtra === 1 }
}
