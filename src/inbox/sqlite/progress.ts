import { runStates, type EventStatus } from '../port.ts'
import { deriveEventStatus } from '../status.ts'

/** What the status of an event follows from, as the file has it of each run. */
export interface ProgressRow {
  readonly state: number
  readonly attempt: number
  readonly replayId: number
}

export function statusOfRuns(rows: readonly ProgressRow[]): EventStatus {
  return deriveEventStatus(
    rows.map(({ state, attempt, replayId }) => ({
      state: runStates[state] ?? 'done',
      attempt,
      replay: replayId === 0 ? null : replayId,
    })),
  )
}
