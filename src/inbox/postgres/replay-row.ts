import { replayStates, type ReplayRecord, type ReplayState } from '../port.ts'
import { mostBehind } from '../jobs.ts'
import { toReplayRecord as recordOf, type ReplayRow as StoredReplay } from '../replay-row.ts'
import { openCount } from './ahead.ts'
import { fromStored } from './text.ts'

/** The numbers that `replay.state` holds. */
export const replayCodes = Object.fromEntries(replayStates.map((name, index) => [name, index])) as Readonly<
  Record<ReplayState, number>
>

export type ReplayRow = StoredReplay<boolean>

/** Of `inbox.replay p`: a `ReplayRow`. */
export const replayColumns = `p.id, p.filter, p.per_second AS "perSecond", p.new_keys AS "newKeys", p.state, p.created_at AS "createdAt",
  p.ended_at AS "endedAt", p.next_seq AS "nextSeq", p.last_seq AS "lastSeq", p.events, p.runs, p.skipped`

/** SQL: how many runs of a generation have not ended, dead letters aside. `replayId`: an expression. */
export function openRunsOf(replayId: string): string {
  return `(SELECT coalesce(sum(${openCount(replayId, 2 * mostBehind)}), 0)::integer FROM inbox.handler h)`
}

export function toReplayRecord(row: ReplayRow, openRuns: number): ReplayRecord {
  return recordOf({ ...row, filter: fromStored(row.filter) }, openRuns)
}
