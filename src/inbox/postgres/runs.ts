import type { EventStatus } from '../port.ts'
import { storedError } from '../limits.ts'
import { isDeadLetter, isOpen, runState as state } from '../run-sql.ts'
import { statusOf, type ProgressRow as RunRow } from '../status.ts'
import type { Rows } from './database.ts'
import { toStoredJson } from './text.ts'

/** Status and runs of an event. */
export interface EventProgress {
  readonly status: EventStatus
  /** True if any run is open or a dead letter. */
  readonly isOpen: boolean
  readonly runIds: readonly number[]
}

interface ProgressRow extends RunRow {
  readonly id: number
  readonly seq: number
}

/** Progress of events by accept-sequence number. Meaningless for pruned events, which have no runs. */
export async function progressOf(rows: Rows, seqs: readonly number[]): Promise<ReadonlyMap<number, EventProgress>> {
  const progress = await rows.query<ProgressRow>(
    `SELECT r.id, u.seq, r.state, r.attempt, r.replay_id AS "replayId" FROM unnest($1::bigint[]) u(seq) CROSS JOIN LATERAL (
       SELECT o.id, o.state, o.attempt, o.replay_id FROM inbox.run o WHERE o.event_seq = u.seq OFFSET 0
     ) r ORDER BY r.id`,
    [seqs],
  )
  const bySeq = Map.groupBy(progress, ({ seq }) => seq)
  return new Map(
    seqs.map((seq) => {
      const runs = bySeq.get(seq) ?? []
      const isOpen = runs.some((run) => run.state <= state.dead)
      return [seq, { status: statusOf(null, runs), isOpen, runIds: runs.map(({ id }) => id) }]
    }),
  )
}

// Call the functions below in an exclusive transaction, for a few hundred runs. None changes a running run. Here and elsewhere, LATERAL
// with LIMIT or OFFSET 0 makes the planner use an index lookup per row: without statistics, as for a table that was just filled, it would
// read the whole table.

/** Dead letters with run ids above `after`, in order. */
export async function deadAfter(trx: Rows, after: number, limit: number): Promise<number[]> {
  const rows = await trx.query<{ id: number }>(
    `SELECT id FROM inbox.run WHERE ${isDeadLetter()} AND id > $1 ORDER BY id LIMIT $2`,
    [after, limit],
  )
  return rows.map(({ id }) => id)
}

/** Makes dead letters claimable again and returns how many. A run goes behind open runs of its key; several runs of a key stay in order. */
export async function requeueDead(trx: Rows, runIds: readonly number[]): Promise<number> {
  const requeued = await trx.query<{ id: number }>(
    `UPDATE inbox.run SET state = CASE WHEN key IS NULL THEN ${state.ready} ELSE ${state.waiting} END, run_at = inbox.now_ms(),
       attempt = 0, failed = 0, crashed = 0, ended_at = NULL
     WHERE id = ANY ($1::bigint[]) AND state + 0 BETWEEN ${state.held} AND ${state.dead} RETURNING id`,
    [runIds],
  )
  await promote(trx, requeued)
  return requeued.length
}

/** Drops dead letters and stores the reason. Returns how many. */
export async function dropDead(trx: Rows, runIds: readonly number[], reason: string): Promise<number> {
  return drop(trx, runIds, { from: state.held, to: state.dead, reason })
}

/** Drops up to `limit` runs of a handler that are not running. Returns how many. */
export async function dropOpen(trx: Rows, handlerId: number, limit: number, reason: string): Promise<number> {
  const rows = await trx.query<{ id: number }>(
    `SELECT id FROM inbox.run WHERE handler_id = $1 AND ${isOpen()} AND state <> ${state.running}
     ORDER BY handler_id, replay_id, key, id LIMIT $2`,
    [handlerId, limit],
  )
  const ids = rows.map(({ id }) => id)
  return drop(trx, ids, { from: state.waiting, to: state.held, reason })
}

/** Drops the pending runs of a replay, except outbox items: they belong to completed runs. */
export async function dropWaiting(trx: Rows, replayId: number): Promise<void> {
  const rows = await trx.query<{ id: number }>(
    `SELECT r.id FROM inbox.handler h CROSS JOIN LATERAL (
       SELECT o.id FROM inbox.run o
       WHERE o.handler_id = h.id AND o.replay_id = $1 AND ${isOpen('o.')} AND o.state < ${state.running} OFFSET 0
     ) r LEFT JOIN LATERAL (SELECT true AS is_there FROM inbox.item i WHERE i.run_id = r.id LIMIT 1) item ON true
     WHERE item.is_there IS NULL`,
    [replayId],
  )
  const ids = rows.map(({ id }) => id)
  await drop(trx, ids, { from: state.waiting, to: state.suspect, reason: null })
}

interface Drop {
  /** Drops only runs in this range of states, and never running ones. */
  readonly from: number
  readonly to: number
  /** Null: no attempt is recorded. */
  readonly reason: string | null
}

async function drop(trx: Rows, runIds: readonly number[], { from, to, reason }: Drop): Promise<number> {
  const dropped = await trx.query<{ id: number }>(
    `WITH dropped AS (
       UPDATE inbox.run SET state = ${state.dropped}, crashed = 0, ended_at = inbox.now_ms()
       WHERE id = ANY ($1::bigint[]) AND state + 0 BETWEEN $2 AND $3 AND state + 0 <> ${state.running} RETURNING id, attempt
     ), noted AS (
       INSERT INTO inbox.attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message)
       SELECT id, attempt, inbox.now_ms(), inbox.now_ms(), 'dropped', 'dropped', $4::text FROM dropped WHERE $4::text IS NOT NULL
     )
     SELECT id FROM dropped`,
    [runIds, from, to, reason && storedError({ name: '', message: reason }).message],
  )
  await promote(trx, dropped)
  return dropped.length
}

/** Makes the next run of the keys of changed runs ready, if there is one, and wakes all replicas. */
async function promote(trx: Rows, changed: readonly { readonly id: number }[]): Promise<void> {
  if (changed.length === 0) return
  await trx.query(`SELECT inbox.promote($1::bigint[])`, [changed.map(({ id }) => id)])
  await wakeAll(trx)
}

/** Notifies every replica after the commit that runs may have become claimable. */
export async function wakeAll(trx: Rows): Promise<void> {
  await trx.query(`SELECT pg_notify('inbox_wake', '')`)
}

/** A run to create for a stored event. */
export interface NewRun {
  readonly seq: number
  readonly handler: string
  /** Null: no order. */
  readonly key: string | null
}

export interface CreatedRuns {
  readonly created: number
  /** Events without runs, because their bodies were pruned. */
  readonly prunedEvents: number
}

/**
 * Creates runs of a replay in the given order, each behind open runs of its key. Call in an exclusive transaction. `replayId` 0 creates live
 * runs: at most one per event and handler; runs of a `latestOnly` handler supersede the runs of their key that are not running.
 */
export async function createRuns(trx: Rows, replayId: number, runs: readonly NewRun[]): Promise<CreatedRuns> {
  const seqs = [...new Set(runs.map(({ seq }) => seq))]
  if (seqs.length === 0) return { created: 0, prunedEvents: 0 }
  const bodies = await trx.query<{ seq: number }>(`SELECT seq FROM inbox.body WHERE seq = ANY ($1::bigint[])`, [seqs])
  const withBody = new Set(bodies.map(({ seq }) => seq))
  const wanted = runs.filter(({ seq }) => withBody.has(seq))
  const prunedEvents = seqs.length - withBody.size
  if (wanted.length === 0) return { created: 0, prunedEvents }
  const json = toStoredJson(wanted)
  if (replayId === 0) await trx.query(supersede, [json])
  const [row] = await trx.query<{ count: number }>(insert, [json, replayId])
  await wakeAll(trx)
  return { created: row?.count ?? 0, prunedEvents }
}

const rowType = `(seq bigint, handler text, key text)`

const supersede = `
  SELECT inbox.supersede(h.id, w.key, inbox.now_ms()) FROM (
    SELECT DISTINCT r.handler, r.key FROM json_to_recordset($1::json) AS r${rowType} WHERE r.key IS NOT NULL
  ) w JOIN inbox.handler h ON h.name = w.handler WHERE h.latest_only`

const insert = `
  WITH wanted AS MATERIALIZED (
    SELECT h.id AS handler, g.seq, g.key, h.latest_only AND $2 = 0 AS latest, g.place,
      row_number() OVER (PARTITION BY h.id, g.key ORDER BY g.place) AS nth,
      row_number() OVER (PARTITION BY h.id, g.key ORDER BY g.place DESC) AS from_end
    FROM (SELECT r.*, row_number() OVER () AS place FROM json_to_recordset($1::json) AS r${rowType}) g
    JOIN inbox.handler h ON h.name = g.handler
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM inbox.run l
      WHERE $2 = 0 AND l.event_seq = g.seq AND l.handler_id = h.id AND l.replay_id = 0 LIMIT 1
    ) live ON true
    WHERE live.is_there IS NULL
  ), placed AS MATERIALIZED (
    SELECT w.*, CASE
        WHEN w.key IS NULL THEN ${state.ready}
        WHEN w.latest AND w.from_end > 1 THEN ${state.superseded}
        WHEN o.open IS NULL AND (w.nth = 1 OR w.latest) THEN ${state.ready}
        ELSE ${state.waiting} END AS state
    FROM wanted w LEFT JOIN LATERAL (
      SELECT 1 AS open FROM inbox.run p WHERE p.handler_id = w.handler AND p.replay_id = $2 AND p.key = w.key AND ${isOpen('p.')} LIMIT 1
    ) o ON true
  ), counted AS (
    UPDATE inbox.handler h SET superseded = h.superseded + s.count
    FROM (SELECT p.handler, count(*) AS count FROM placed p WHERE p.state = ${state.superseded} GROUP BY p.handler) s
    WHERE h.id = s.handler
  ), inserted AS (
    INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at, ended_at)
    SELECT nextval('inbox.run_id'), p.seq, p.handler, $2, p.key, p.state, inbox.now_ms(),
      CASE WHEN p.state = ${state.superseded} THEN inbox.now_ms() END
    FROM (SELECT * FROM placed ORDER BY place) p RETURNING 1
  )
  SELECT count(*) AS count FROM inserted`
