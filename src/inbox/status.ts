import { eventStatuses, runStates, type EventStatus, type RunRecord } from './port.ts'

/** The fields of a run that the event's status depends on. */
export type RunProgress = Pick<RunRecord, 'state' | 'attempt' | 'replay'>

const precedence = [
  'running',
  'retrying',
  'pending',
  'held',
  'dead',
  'dropped',
  'done',
  'expired',
  'superseded',
] as const

/**
 * The status of an event, derived from its runs. Without runs, or with unmatched ones only, it is `unhandled`. Otherwise it is the first
 * of these that any run has:
 *
 *   running > retrying > pending > held > dead > dropped > done > expired > superseded
 *
 * So an open run outweighs ended ones, and one dead letter or dropped run outweighs all runs that are done. A dropped run of a replay is
 * ignored: it would only have repeated an earlier run.
 */
export function deriveEventStatus(runs: Iterable<RunProgress>): EventStatus {
  const present = new Set(Array.from(runs, statusOfRun))
  return precedence.find((status) => present.has(status)) ?? 'unhandled'
}

/** The columns of a run that the event's status depends on. */
export interface ProgressRow {
  readonly state: number
  readonly attempt: number
  /** 0 for a live run. */
  readonly replayId: number
}

export function toProgress({ state, attempt, replayId }: ProgressRow): RunProgress {
  return { state: runStates[state] ?? 'done', attempt, replay: replayId === 0 ? null : replayId }
}

/** `finalStatus`: the stored status of a pruned event, whose runs are deleted; null for other events. */
export function statusOf(finalStatus: number | null, runs: readonly ProgressRow[]): EventStatus {
  return finalStatus === null ? deriveEventStatus(runs.map(toProgress)) : (eventStatuses[finalStatus] ?? 'done')
}

/** A ready run is `retrying` if it was tried before, else `pending`. A crash suspect is `retrying`. */
function statusOfRun({ state, attempt, replay }: RunProgress): EventStatus {
  if (state === 'waiting') return 'pending'
  if (state === 'ready') return attempt > 0 ? 'retrying' : 'pending'
  if (state === 'suspect') return 'retrying'
  return state === 'unmatched' || (state === 'dropped' && replay !== null) ? 'unhandled' : state
}
