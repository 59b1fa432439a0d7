import { replayStates, type ReplayFilter, type ReplayRecord, type ReplayState } from '../port.ts'
import { mostAhead } from '../jobs.ts'
import { fromStored } from './text.ts'

/** The numbers that `replay.state` holds. */
export const replayCodes = Object.fromEntries(replayStates.map((name, index) => [name, index])) as Readonly<
  Record<ReplayState, number>
>

export interface ReplayRow {
  readonly id: number
  /** JSON */
  readonly filter: string
  readonly perSecond: number | null
  readonly newKeys: boolean
  readonly state: number
  readonly createdAt: number
  readonly endedAt: number | null
  readonly nextSeq: number
  readonly lastSeq: number
  readonly events: number
  readonly runs: number
  readonly skipped: number
}

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

export function toReplayRecord({ nextSeq, state, filter, ...row }: ReplayRow, openRuns: number): ReplayRecord {
  return {
    ...row,
    filter: JSON.parse(fromStored(filter)) as ReplayFilter,
    state: replayStates[state] ?? 'done',
    scannedSeq: Math.min(nextSeq - 1, row.lastSeq),
    openRuns,
  }
}
