import { eventStatuses, runStates, type EventStatus } from '../../port.ts'
import { deriveEventStatus, type RunProgress } from '../../status.ts'

/** All kinds of runs that there are to a status, by `state * 4 + (tried: 2) + (of a replay: 1)`; and which status each shows. */
const shapes: readonly RunProgress[] = runStates.flatMap((name) =>
  [0, 1].flatMap((attempt) => [null, 1].map((replay) => ({ state: name, attempt, replay }))),
)
const shown = shapes.map((shape) => deriveEventStatus([shape]))
/** Each outweighs those behind it: so says `deriveEventStatus` of one run of each. */
const strongestFirst = [...new Set(shown)].toSorted((a, b) => {
  const pair = shapes.filter((_, index) => index === shown.indexOf(a) || index === shown.indexOf(b))
  return deriveEventStatus(pair) === a ? -1 : 1
})

const rankOf = shown.map((status) => strongestFirst.indexOf(status))
const codes = strongestFirst.map(codeOf)

/**
 * The status of an event `e`, as SQL: its index in `eventStatuses`. Of an event that was pruned it is written there; else it follows
 * from its runs, which are found by the index of their event.
 */
export const statusOfEvent = `coalesce(e.final_status, ('{${codes.join()}}'::smallint[])[1 + coalesce((
  SELECT min(('{${rankOf.join()}}'::smallint[])[1 + r.state * 4 + (r.attempt > 0)::integer * 2 + (r.replay_id > 0)::integer])
  FROM inbox.run r WHERE r.event_seq = e.seq), ${strongestFirst.indexOf('unhandled')})])`

/** What `event.final_status` holds of a status. */
function codeOf(status: EventStatus): number {
  return eventStatuses.indexOf(status)
}

/** The status that a number stands for. */
export function statusOfCode(code: number): EventStatus {
  return eventStatuses[code] ?? 'done'
}
