import type { Database } from 'better-sqlite3'
import type { Clock, Timer } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import type { Endpoint } from '../accounts/accounts.ts'
import type {
  Attempt,
  Counts,
  Delivery,
  DeliveryFilter,
  DeliveryState,
  OutgoingEvent,
  ReplayFilter,
} from './delivery.ts'

/** `next_at` is set while a delivery is pending. */
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

/** Maximum settled deliveries per state. */
const maxStoredPerState = 100_000
/** Deliveries deleted per prune: about 100 ms of work. */
const maxPrunedPerPass = 10_000
/** Attempts between two prunings. */
const pruneEvery = 10_000
/** Maximum delay of a commit. */
const commitAfterMs = 20
/** Delay after a failed commit, for example with a full disk. */
const retryMs = 1_000

type Row = Omit<Delivery, 'isReplay'> & { readonly isReplay: number }
type AttemptRow = Omit<Attempt, 'isExtra'> & { readonly isExtra: number; readonly rest: string }

const selectDelivery = `SELECT d.seq, printf('dlv_%012d', d.seq) AS deliveryId, d.event AS eventSeq, d.endpoint AS endpointId,
  d.url, d.state, d.attempts, d.created_at AS createdAt, d.next_at AS nextAttemptAt, d.is_replay AS isReplay,
  d.last_status AS lastStatus, d.last_failure AS lastFailure, e.id AS eventId, e.type AS eventType, e.body
  FROM delivery d JOIN event e ON e.seq = d.event`

interface DeliveryStoreOptions {
  readonly db: Database
  /** Times the commits. */
  readonly wall: Clock
  readonly log: Logger
}

export type DeliveryStore = ReturnType<typeof createDeliveryStore>

/**
 * Events, deliveries and attempts in tables of `db`. Changes can be read at once and are committed together within
 * 20 ms: with one commit per attempt, the disk would limit the send rate.
 */
export function createDeliveryStore({ db, wall, log }: DeliveryStoreOptions) {
  const putEvent = db.prepare<[string, string, Buffer]>('INSERT INTO event (id, type, body) VALUES (?, ?, ?)')
  const putDelivery = db.prepare<[number, string, string, number, number, number]>(
    `INSERT INTO delivery (event, endpoint, url, state, attempts, created_at, next_at, is_replay)
     VALUES (?, ?, ?, 'pending', 0, ?, ?, ?)`,
  )
  const updateDelivery = db.prepare(
    `UPDATE delivery SET url = @url, state = @state, attempts = @attempts, next_at = @nextAttemptAt,
       last_status = @lastStatus, last_failure = @lastFailure WHERE seq = @seq`,
  )
  const putAttempt = db.prepare(
    `INSERT INTO attempt (delivery, seq, attempt, at, latency_ms, status, failure, is_extra, next_at, rest)
     VALUES (@delivery, @seq, @attempt, @at, @latencyMs, @status, @failure, @isExtra, @nextAttemptAt, @rest)`,
  )
  const putWorldSeq = db.prepare<[number]>(
    `INSERT INTO delivery_meta (name, value) VALUES ('world_seq', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  )
  const selectDue = db.prepare<[string, number, number], Row>(
    `${selectDelivery} WHERE d.endpoint = ? AND d.next_at <= ? ORDER BY d.next_at, d.seq LIMIT ?`,
  )
  const selectNextDue = db
    .prepare<[string, number], number | null>('SELECT min(next_at) FROM delivery WHERE endpoint = ? AND next_at > ?')
    .pluck()
  const selectOne = db.prepare<[number], Row>(`${selectDelivery} WHERE d.seq = ?`)
  const selectAttempts = db.prepare<[number], AttemptRow>(
    `SELECT attempt, at, latency_ms AS latencyMs, status, failure, is_extra AS isExtra, next_at AS nextAttemptAt, rest
     FROM attempt WHERE delivery = ? ORDER BY seq`,
  )
  const cancelAll = db.prepare<[string]>(
    `UPDATE delivery SET state = 'cancelled', next_at = NULL WHERE endpoint = ? AND next_at IS NOT NULL`,
  )
  const selectBeyond = db.prepare<[string], { seq: number }>(
    `SELECT seq FROM delivery WHERE state = ? ORDER BY seq DESC LIMIT 1 OFFSET ${maxStoredPerState}`,
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
  let timer: Timer | undefined

  function commit(): void {
    timer?.cancel()
    timer = undefined
    if (db.inTransaction) db.exec('COMMIT')
  }

  function tryCommit(): void {
    try {
      commit()
    } catch (error) {
      log.error({ error: messageOf(error) }, 'delivery store write failed')
      timer = wall.after(retryMs, tryCommit)
    }
  }

  /** Call it before each change. */
  function beginChange(): void {
    if (!db.inTransaction) db.exec('BEGIN IMMEDIATE')
    timer ??= wall.after(commitAfterMs, tryCommit)
  }

  function save(delivery: Delivery): void {
    beginChange()
    updateDelivery.run(delivery)
  }

  function prune(): void {
    beginChange()
    for (const state of ['acknowledged', 'undelivered', 'cancelled']) {
      const beyond = selectBeyond.get(state)
      if (beyond === undefined) continue
      for (const { seq, event } of selectOldest.all(state, beyond.seq)) {
        dropDelivery.run(seq)
        dropAttempts.run(seq)
        dropEvent.run(event, event)
      }
    }
  }

  return {
    /** State of the previous process: counts, the newest handled world event, and endpoints with pending deliveries. */
    begin: () => ({
      worldSeq: numberOf(db, `SELECT value FROM delivery_meta WHERE name = 'world_seq'`),
      counts: readCounts(db),
      endpoints: db
        .prepare<[], string>('SELECT DISTINCT endpoint FROM delivery WHERE next_at IS NOT NULL')
        .pluck()
        .all(),
    }),
    /** Adds an event with its deliveries. `worldSeq` is its number in the world; null if it did not arise there. */
    add(
      { id, type, body }: OutgoingEvent,
      targets: readonly { readonly endpoint: Endpoint; readonly dueAt: number }[],
      now: number,
      worldSeq: number | null,
    ): void {
      beginChange()
      if (targets.length > 0) {
        const event = Number(putEvent.run(id, type, body).lastInsertRowid)
        for (const { endpoint, dueAt } of targets) putDelivery.run(event, endpoint.id, endpoint.url, now, dueAt, 0)
      }
      if (worldSeq !== null) putWorldSeq.run(worldSeq)
    },
    /** Adds a replay of an event. */
    addReplay({ eventSeq }: Delivery, { id, url }: Endpoint, now: number): Delivery {
      beginChange()
      const { lastInsertRowid } = putDelivery.run(eventSeq, id, url, now, now, 1)
      return toDelivery(selectOne.get(Number(lastInsertRowid)) as Row)
    },
    save,
    /** Adds an attempt and saves its delivery. */
    addAttempt(delivery: Delivery, attempt: Attempt): void {
      const { isExtra, faults, requestHeaders, responseHeaders, responseExcerpt, ...columns } = attempt
      save(delivery)
      const rest = JSON.stringify({ faults, requestHeaders, responseHeaders, responseExcerpt })
      putAttempt.run({ ...columns, delivery: delivery.seq, seq: ++lastAttempt, isExtra: Number(isExtra), rest })
      if (lastAttempt % pruneEvery === 0) prune()
    },
    /** Marks all events of the world up to this one as handled. */
    markWorldEventsHandled(seq: number): void {
      beginChange()
      putWorldSeq.run(seq)
    },
    /** Pending deliveries of an endpoint due at `now`, earliest first. */
    due: (endpointId: string, now: number, limit: number) => selectDue.all(endpointId, now, limit).map(toDelivery),
    /** Time of the next due delivery of an endpoint after `now`, or null. */
    nextDueAt: (endpointId: string, now: number) => selectNextDue.get(endpointId, now) ?? null,
    list(filter: DeliveryFilter, limit: number): readonly Delivery[] {
      const { where, values } = toWhere(filter)
      const select = db.prepare<unknown[], Row>(`${selectDelivery} ${where} ORDER BY d.seq DESC LIMIT ?`)
      return select.all(...values, limit).map(toDelivery)
    },
    get(seq: number): Delivery | null {
      const row = selectOne.get(seq)
      return row === undefined ? null : toDelivery(row)
    },
    attempts: (seq: number) => selectAttempts.all(seq).map(toAttempt),
    /** Matching undelivered events without a successful delivery since, as their latest deliveries. */
    undelivered: ({ since, endpoint = '', type = '' }: ReplayFilter) =>
      db
        .prepare<unknown[], { seq: number; endpointId: string }>(
          `SELECT max(d.seq) AS seq, d.endpoint AS endpointId FROM delivery d JOIN event e ON e.seq = d.event
           WHERE ${stateTerms.undelivered} AND d.created_at >= ? AND ? IN ('', d.endpoint) AND ? IN ('', e.type)
           AND NOT EXISTS (SELECT 1 FROM delivery o WHERE o.event = d.event AND o.endpoint = d.endpoint AND o.seq > d.seq
             AND o.state IN ('acknowledged', 'pending'))
           GROUP BY d.event, d.endpoint ORDER BY 1`,
        )
        .all(since, endpoint, type),
    /** Cancels all pending deliveries of an endpoint; returns their number. */
    cancel(endpointId: string): number {
      beginChange()
      return cancelAll.run(endpointId).changes
    },
    /** Deletes the oldest settled deliveries beyond a limit per state. */
    prune,
    clear() {
      beginChange()
      db.exec('DELETE FROM attempt; DELETE FROM delivery; DELETE FROM event; DELETE FROM delivery_meta')
    },
    /** Makes all changes so far durable. */
    commit,
  }
}

/** The only value of the only row; null if there is none. */
function numberOf(db: Database, sql: string): number | null {
  return (db.prepare(sql).pluck().get() as number | null | undefined) ?? null
}

function readCounts(db: Database): Omit<Counts, 'inFlight'> {
  const byState = db
    .prepare<[], [DeliveryState, number]>('SELECT state, count(*) FROM delivery GROUP BY state')
    .raw()
    .all()
  const none = { pending: 0, acknowledged: 0, undelivered: 0, cancelled: 0 }
  return {
    ...none,
    ...(Object.fromEntries(byState) as Partial<typeof none>),
    attempts: numberOf(db, 'SELECT count(*) FROM attempt') ?? 0,
    duplicates: numberOf(db, 'SELECT count(*) FROM attempt WHERE is_extra = 1') ?? 0,
  }
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
  const terms = [
    ['d.endpoint = ?', endpoint],
    ['e.id = ?', event],
    ['e.type = ?', type],
    ['d.seq < ?', after === undefined ? undefined : (seqOf(after) ?? 0)],
  ].filter(([, value]) => value !== undefined)
  const all = [...(state === undefined ? [] : [stateTerms[state]]), ...terms.map(([term]) => term)]
  return { where: all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`, values: terms.map(([, value]) => value) }
}

/** Parses a delivery id; undefined if invalid. */
export function seqOf(deliveryId: string): number | undefined {
  const [, digits] = /^dlv_(\d{12,15})$/.exec(deliveryId) ?? []
  return digits === undefined ? undefined : Number(digits)
}

function toDelivery({ isReplay, ...row }: Row): Delivery {
  return { ...row, isReplay: isReplay === 1 }
}

function toAttempt({ rest, isExtra, ...row }: AttemptRow): Attempt {
  const more = JSON.parse(rest) as Pick<Attempt, 'faults' | 'requestHeaders' | 'responseHeaders' | 'responseExcerpt'>
  return { ...row, ...more, isExtra: isExtra === 1 }
}
