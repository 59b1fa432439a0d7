import { enoughReady, mostAhead, mostBehind } from '../jobs.ts'

/**
 * SQL: one row of `open` and `ready`, as `Ahead` has them, of the runs of a generation by the handlers `h` for which a condition holds.
 * `replayId` is an expression. Both counts go along an index; it is counted far only where hardly anything is ready.
 */
export function aheadOf({ handlers, replayId }: AheadQuery): string {
  return `SELECT coalesce(sum(o.count), 0)::integer AS open, coalesce(sum(y.count), 0)::integer AS ready
    FROM inbox.handler h CROSS JOIN LATERAL (
      SELECT count(*) AS count FROM (
        SELECT 1 FROM inbox.run r
        WHERE r.state = 1 AND r.state >= 1 AND r.state <= 2 AND r.handler_id = h.id AND r.replay_id = ${replayId}
        ORDER BY r.state, r.handler_id, r.replay_id, r.run_at, r.id LIMIT ${enoughReady}
      ) few
    ) y CROSS JOIN LATERAL (
      SELECT CASE WHEN y.count < ${enoughReady} THEN ${openCount(replayId, mostBehind)} ELSE ${openCount(replayId, mostAhead)} END AS count
    ) o WHERE ${handlers}`
}

interface AheadQuery {
  readonly handlers: string
  readonly replayId: string
}

/** SQL: how many runs of a generation by the handler `h` have not ended, dead letters aside; counted up to `most`. */
export function openCount(replayId: string, most: number): string {
  return `(SELECT count(*) FROM (
    SELECT 1 FROM inbox.run r WHERE r.handler_id = h.id AND r.replay_id = ${replayId} AND r.state < 5 AND r.state < 4
    ORDER BY r.handler_id, r.replay_id, r.key, r.id LIMIT ${most}
  ) few)`
}
