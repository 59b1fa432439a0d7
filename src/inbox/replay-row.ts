import { replayStates, type ReplayFilter, type ReplayRecord } from './port.ts'

/** A replay as a table has it. `Flag`: what the store has for yes and no. */
export interface ReplayRow<Flag> {
  readonly id: number
  /** JSON */
  readonly filter: string
  readonly perSecond: number | null
  readonly newKeys: Flag
  /** The index of its name in `replayStates`. */
  readonly state: number
  readonly createdAt: number
  readonly endedAt: number | null
  readonly nextSeq: number
  readonly lastSeq: number
  readonly events: number
  readonly runs: number
  readonly skipped: number
}

/** What it shows: `openRuns` as they were counted, and the filter as it was given. */
export function toReplayRecord({ nextSeq, state, filter, ...row }: ReplayRow<boolean>, openRuns: number): ReplayRecord {
  return {
    ...row,
    filter: JSON.parse(filter) as ReplayFilter,
    state: replayStates[state] ?? 'done',
    scannedSeq: Math.min(nextSeq - 1, row.lastSeq),
    openRuns,
  }
}
