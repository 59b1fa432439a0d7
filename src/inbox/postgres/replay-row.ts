import { replayStates, type ReplayRecord, type ReplayState } from '../port.ts'
import { mostAhead } from '../jobs.ts'
import { toReplayRecord as recordOf, type ReplayRow as StoredReplay } from '../replay-row.ts'
import { fromStored } from './text.ts'

/** The numbers that `replay.state` holds. */
export const replayCodes = Object.fromEntries(replayStates.map((name, index) => [name, index])) as Readonly<
  Record<ReplayState, number>
>

export type ReplayRow = StoredReplay<boolean>

/** Of `inbox.replay p`: a `ReplayRow`. */
export const replayColumns = `p.id, p.filter, p.per_second AS "perSecond", p.new_keys AS "newKeys", p.state, p.created_at AS "createdAt",
  p.ended_at AS "endedAt", p.next_seq AS "nextSeq", p.last_seq AS "lastSeq", p.events, p.runs, p.skipped`

/** How many runs of a generation have not ended, dead letters aside; counted up to some thousands, in the order of an index. `replayId`: an expression. */
export function openRunsOf(replayId: string): string {
  return `(SELECT coalesce(sum(o.count), 0)::integer FROM inbox.handler h CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (
      SELECT 1 FROM inbox.run r WHERE r.handler_id = h.id AND r.replay_id = ${replayId} AND r.state < 5 AND r.state < 4
      ORDER BY r.handler_id, r.replay_id, r.key, r.id LIMIT ${2 * mostAhead}
    ) few
  ) o)`
}

export function toReplayRecord(row: ReplayRow, openRuns: number): ReplayRecord {
  return recordOf({ ...row, filter: fromStored(row.filter) }, openRuns)
}
