import { eventStatuses, runStates, type EventStatus, type RunRecord } from './port.ts'

/** What the status of an event is derived from. */
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
type DerivedStatus = (typeof precedence)[number]

/**
 * The status of an event, from its runs. Without runs that a handler wanted it is `unhandled`; otherwise the first of these
 * that any run shows:
 *
 *   running > retrying > pending > held > dead > dropped > done > expired > superseded
 *
 * So whatever still moves outweighs what has ended, and one run that was given up, or that an operator dropped,
 * outweighs any number of runs that are done. A dropped run of a replay counts for nothing: it was to be a repeat.
 */
export function deriveEventStatus(runs: Iterable<RunProgress>): EventStatus {
  const shown = new Set<DerivedStatus | 'unhandled'>()
  for (const run of runs) shown.add(statusOfRun(run))
  return precedence.find((status) => shown.has(status)) ?? 'unhandled'
}

/** The columns of a run that the status of its event follows from. */
export interface ProgressRow {
  readonly state: number
  readonly attempt: number
  readonly replayId: number
}

export function toProgress({ state, attempt, replayId }: ProgressRow): RunProgress {
  return { state: runStates[state] ?? 'done', attempt, replay: replayId === 0 ? null : replayId }
}

/** `finalStatus`: of a pruned event, whose runs are gone; else null. */
export function statusOf(finalStatus: number | null, runs: readonly ProgressRow[]): EventStatus {
  return finalStatus === null ? deriveEventStatus(runs.map(toProgress)) : (eventStatuses[finalStatus] ?? 'done')
}

/** A ready run that was tried before is `retrying`, and so is a suspect; one never tried is `pending`. */
function statusOfRun({ state, attempt, replay }: RunProgress): DerivedStatus | 'unhandled' {
  switch (state) {
    case 'waiting':
      return 'pending'
    case 'ready':
      return attempt > 0 ? 'retrying' : 'pending'
    case 'suspect':
      return 'retrying'
    case 'dropped':
      return replay === null ? 'dropped' : 'unhandled'
    case 'unmatched':
      return 'unhandled'
    case 'running':
    case 'held':
    case 'dead':
    case 'done':
    case 'expired':
    case 'superseded':
      return state
  }
}
