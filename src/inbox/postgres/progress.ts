import { runStates, type EventStatus, type RunState } from '../port.ts'
import { statusOf, type ProgressRow as RunRow } from '../status.ts'
import type { Rows } from './database.ts'

/** Values of `run.state`. */
export const state = Object.fromEntries(runStates.map((name, index) => [name, index])) as Readonly<
  Record<RunState, number>
>

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
  const found = await rows.query<ProgressRow>(
    `SELECT r.id, u.seq, r.state, r.attempt, r.replay_id AS "replayId" FROM unnest($1::bigint[]) u(seq) CROSS JOIN LATERAL (
       SELECT o.id, o.state, o.attempt, o.replay_id FROM inbox.run o WHERE o.event_seq = u.seq OFFSET 0
     ) r ORDER BY r.id`,
    [seqs],
  )
  const bySeq = Map.groupBy(found, ({ seq }) => seq)
  return new Map(
    seqs.map((seq) => {
      const runs = bySeq.get(seq) ?? []
      const isOpen = runs.some((run) => run.state <= state.dead)
      return [seq, { status: statusOf(null, runs), isOpen, runIds: runs.map(({ id }) => id) }]
    }),
  )
}
