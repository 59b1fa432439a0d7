import type { Clock } from '../../base/clock.ts'
import { createConflicts, createLists, createReplayCount } from './lists.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createEventDetail } from './event-detail.ts'
import { createEvents } from './events.ts'
import { createQuarantine } from './quarantine.ts'
import { createStats } from './stats.ts'
import { createTallies } from './tallies.ts'
import type { ViewStore } from './tables.ts'

/** The reads of the port, shared by both stores. */
export type Views = ReturnType<typeof createViews>

/**
 * The read side of a store. Lists read a bounded number of rows by an index, so they stay fast in large stores. Filters of dead letters
 * may read the whole index of these. Large counts are cached. Two statements of a query may see different states.
 */
export function createViews(store: ViewStore, clock: Pick<Clock, 'now'>) {
  return {
    ...createEvents(store),
    ...createEventDetail(store, clock),
    ...createTallies(store),
    ...createDeadLetters(store),
    ...createConflicts(store),
    ...createQuarantine(store),
    ...createLists(store),
    ...createReplayCount(store),
    ...createStats(store, clock),
  }
}
