import type { Rows } from './database.ts'
import { wakeAll } from './run-acts.ts'
import { state } from './progress.ts'
import { toStoredOrNull } from './text.ts'

/** A run to be created of an event that is stored already. */
export interface NewRun {
  readonly seq: number
  readonly handler: string
  readonly key: string | null
  /** Whether it supersedes those of its key that are not running, unless they are of newer events: then they supersede it. Only of live ones. */
  readonly latest: boolean
}

export interface CreatedRuns {
  readonly created: number
  /** Events that got none, because their bodies are gone. */
  readonly gone: number
}

/**
 * Creates runs of a generation in the order in which they stand, each behind the open ones of its key; to be called in a transaction
 * that is alone in the database. `replayId` 0: live ones, of which an event has one of a handler at the most.
 */
export async function createRuns(trx: Rows, replayId: number, runs: readonly NewRun[]): Promise<CreatedRuns> {
  const seqs = [...new Set(runs.map(({ seq }) => seq))]
  if (seqs.length === 0) return { created: 0, gone: 0 }
  const bodies = await trx.query<{ seq: number }>(`SELECT seq FROM inbox.body WHERE seq = ANY ($1::bigint[])`, [seqs])
  const kept = new Set(bodies.map(({ seq }) => seq))
  const isThere = replayId === 0 ? await liveRunsOf(trx, seqs) : () => false
  const wanted = runs
    .filter((run) => kept.has(run.seq) && !isThere(run))
    .map((run) => ({ ...run, key: toStoredOrNull(run.key) }))
  const gone = seqs.length - kept.size
  if (wanted.length === 0) return { created: 0, gone }
  const json = JSON.stringify(wanted)
  if (wanted.some(({ latest }) => latest)) await trx.query(supersede, [json])
  const [row] = await trx.query<{ count: number }>(insert, [json, replayId])
  await wakeAll(trx)
  return { created: row?.count ?? 0, gone }
}

/** A backfill may come by events that had their runs already. */
async function liveRunsOf(trx: Rows, seqs: readonly number[]): Promise<(run: NewRun) => boolean> {
  const rows = await trx.query<{ seq: number; handler: string }>(
    `SELECT r.event_seq AS seq, h.name AS handler FROM inbox.run r JOIN inbox.handler h ON h.id = r.handler_id
     WHERE r.event_seq = ANY ($1::bigint[]) AND r.replay_id = 0`,
    [seqs],
  )
  const there = new Set(rows.map(({ seq, handler }) => `${seq} ${handler}`))
  return ({ seq, handler }) => there.has(`${seq} ${handler}`)
}

const rowType = `(seq bigint, handler text, key text, latest boolean)`

/** SQL: whether a live run of the key in `w` is open for a newer event: where a backfill looks back, newer ones may have theirs. Looked up for each, by the limit. */
const isBehind = (handlerId: string) => `coalesce((
  SELECT true FROM inbox.run n
  WHERE n.handler_id = ${handlerId} AND n.replay_id = 0 AND n.key = w.key AND n.state < 5 AND n.event_seq > w.seq LIMIT 1
), false)`

const supersede = `
  SELECT inbox.supersede(h.id, w.key, inbox.now_ms()) FROM (
    SELECT r.handler, r.key, max(r.seq) AS seq FROM json_to_recordset($1::json) AS r${rowType}
    WHERE r.latest AND r.key IS NOT NULL GROUP BY r.handler, r.key
  ) w JOIN inbox.handler h ON h.name = w.handler WHERE NOT ${isBehind('h.id')}`

const insert = `
  WITH wanted AS MATERIALIZED (
    SELECT h.id AS handler, g.seq, g.key, g.latest, g.place,
      row_number() OVER (PARTITION BY h.id, g.key ORDER BY g.place) AS nth,
      row_number() OVER (PARTITION BY h.id, g.key ORDER BY g.place DESC) AS from_end
    FROM (SELECT r.*, row_number() OVER () AS place FROM json_to_recordset($1::json) AS r${rowType}) g
    JOIN inbox.handler h ON h.name = g.handler
  ), placed AS MATERIALIZED (
    SELECT w.*, CASE
        WHEN w.key IS NULL THEN ${state.ready}
        WHEN w.latest AND (w.from_end > 1 OR ${isBehind('w.handler')}) THEN ${state.superseded}
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
