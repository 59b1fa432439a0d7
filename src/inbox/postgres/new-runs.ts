import type { Rows } from './database.ts'
import { wakeAll } from './run-actions.ts'
import { state } from './progress.ts'
import { toStored, toStoredOrNull } from './text.ts'

/** A run to create for a stored event. */
export interface NewRun {
  readonly seq: number
  readonly handler: string
  readonly key: string | null
}

export interface CreatedRuns {
  readonly created: number
  /** Events without runs, because their bodies were pruned. */
  readonly gone: number
}

/**
 * Creates runs of a replay in the given order, each behind open runs of its key. Call in an exclusive transaction. `replayId` 0 creates live
 * runs: at most one per event and handler; runs of a `latestOnly` handler supersede the runs of their key that are not running.
 */
export async function createRuns(trx: Rows, replayId: number, runs: readonly NewRun[]): Promise<CreatedRuns> {
  const seqs = [...new Set(runs.map(({ seq }) => seq))]
  if (seqs.length === 0) return { created: 0, gone: 0 }
  const bodies = await trx.query<{ seq: number }>(`SELECT seq FROM inbox.body WHERE seq = ANY ($1::bigint[])`, [seqs])
  const kept = new Set(bodies.map(({ seq }) => seq))
  const wanted = runs
    .filter(({ seq }) => kept.has(seq))
    .map(({ seq, handler, key }) => ({ seq, handler: toStored(handler), key: toStoredOrNull(key) }))
  const gone = seqs.length - kept.size
  if (wanted.length === 0) return { created: 0, gone }
  const json = JSON.stringify(wanted)
  if (replayId === 0) await trx.query(supersede, [json])
  const [row] = await trx.query<{ count: number }>(insert, [json, replayId])
  await wakeAll(trx)
  return { created: row?.count ?? 0, gone }
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
      SELECT 1 AS open FROM inbox.run p WHERE p.handler_id = w.handler AND p.replay_id = $2 AND p.key = w.key AND p.state < 5 LIMIT 1
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
