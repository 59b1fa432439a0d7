import type { EventStatus, RunRecord } from './port.ts'

/** What the status of an event is derived from. */
export type RunProgress = Pick<RunRecord, 'state' | 'attempt'>

type DerivedStatus = Extract<EventStatus, 'running' | 'retrying' | 'pending' | 'dead' | 'done'>

const precedence: readonly DerivedStatus[] = ['running', 'retrying', 'pending', 'dead', 'done']

/**
 * The status of an event, from its runs. Without runs it is `unhandled`; otherwise the first of these that any run shows:
 *
 *   running > retrying > pending > dead > done
 *
 * So whatever still moves outweighs what has ended, and one dead letter outweighs any number of runs that are done.
 */
export function deriveEventStatus(runs: Iterable<RunProgress>): EventStatus {
  const shown = new Set<DerivedStatus>()
  for (const run of runs) shown.add(statusOfRun(run))
  return precedence.find((status) => shown.has(status)) ?? 'unhandled'
}

/** A ready run that was tried before is `retrying`, and so is a suspect; one never tried is `pending`. */
function statusOfRun({ state, attempt }: RunProgress): DerivedStatus {
  switch (state) {
    case 'waiting':
      return 'pending'
    case 'ready':
      return attempt > 0 ? 'retrying' : 'pending'
    case 'suspect':
      return 'retrying'
    case 'running':
    case 'done':
    case 'dead':
      return state
  }
}
