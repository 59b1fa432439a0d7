import type { Rows } from './database.ts'
import { state } from './progress.ts'
import { toStored } from './text.ts'

/**
 * Operator actions on runs. Call each in an exclusive transaction, for a few hundred runs. None changes a running run. Here and
 * elsewhere, LATERAL with LIMIT or OFFSET 0 makes the planner use an index lookup per row: without statistics, as for a table that was just
 * filled, it would read the whole table.
 */

/** Dead letters with run ids above `after`, in order. */
export async function deadAfter(trx: Rows, after: number, limit: number): Promise<number[]> {
  const rows = await trx.query<{ id: number }>(
    `SELECT id FROM inbox.run WHERE state >= ${state.held} AND state <= ${state.dead} AND id > $1 ORDER BY id LIMIT $2`,
    [after, limit],
  )
  return rows.map(({ id }) => id)
}

/**
 * Makes dead letters claimable again and returns how many. A run goes behind open runs of its key; of several runs of a key, the oldest is
 * first.
 */
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
    `SELECT id FROM inbox.run WHERE handler_id = $1 AND state < ${state.dead} AND state <> ${state.running}
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
       WHERE o.handler_id = h.id AND o.replay_id = $1 AND o.state < ${state.dead} AND o.state < ${state.running} OFFSET 0
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
    [runIds, from, to, reason === null ? null : toStored(reason.slice(0, maxReasonLength))],
  )
  await promote(trx, dropped)
  return dropped.length
}

/** Same as the maximum length of an attempt's error message. */
const maxReasonLength = 2_000

/**
 * Makes the oldest waiting run of each key of the changed runs ready, unless another run of the key is claimable, running or held. Wakes
 * all replicas.
 */
async function promote(trx: Rows, changed: readonly { readonly id: number }[]): Promise<void> {
  if (changed.length === 0) return
  await trx.query(
    `UPDATE inbox.run r SET state = ${state.ready} FROM (
       SELECT n.id FROM (
         SELECT DISTINCT e.handler_id, e.replay_id, e.key FROM inbox.run e WHERE e.id = ANY ($1::bigint[]) AND e.key IS NOT NULL
       ) p CROSS JOIN LATERAL (
         SELECT o.id, o.state FROM inbox.run o
         WHERE o.handler_id = p.handler_id AND o.replay_id = p.replay_id AND o.key = p.key AND o.state < 5
         ORDER BY o.handler_id, o.replay_id, o.key, o.id LIMIT 1
       ) n LEFT JOIN LATERAL (
         SELECT true AS is_there FROM inbox.run z
         WHERE z.handler_id = p.handler_id AND z.replay_id = p.replay_id AND z.key = p.key AND z.state >= 1 AND z.state <= 4 LIMIT 1
       ) head ON true
       WHERE n.state = ${state.waiting} AND head.is_there IS NULL
     ) x WHERE r.id = x.id`,
    [changed.map(({ id }) => id)],
  )
  await wakeAll(trx)
}

/** Notifies every replica after the commit that runs may have become claimable. */
export async function wakeAll(trx: Rows): Promise<void> {
  await trx.query(`SELECT pg_notify('inbox_wake', '')`)
}
