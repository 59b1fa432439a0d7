import { createOperatorActs, type ActOptions, type OperatorActs } from './acts.ts'
import { createLiveActs, type LiveActs } from './acts/upkeep.ts'
import { createEventViews, createGroupViews, type EventViews, type GroupViews } from './views/events.ts'
import { createHealthViews, type HealthViews } from './views/health.ts'
import { createLiveViews, type LiveSources, type LiveViews } from './views/live.ts'

export type { Query } from './views/events.ts'

/** What commands do with events, be it by the admin API or with a file. Everything is checked: `bad_request`, `not_found`. */
export interface EventAccess extends OperatorActs, EventViews, HealthViews {}

/** What the admin API does. */
export interface AdminAccess extends EventAccess, GroupViews, LiveViews, LiveActs {}

/** All that is optional is missing where a command opens a file itself. */
export interface AccessOptions extends ActOptions, LiveSources {
  readonly inbox: ActOptions['inbox']
}

/** The same over an inbox in this process. */
export function createEventAccess(options: AccessOptions): AdminAccess {
  const { inbox, reconciler } = options
  return {
    ...createOperatorActs(options),
    ...createEventViews(inbox),
    ...createHealthViews(options),
    ...createGroupViews(inbox),
    ...createLiveViews(options),
    ...createLiveActs(inbox, reconciler),
  }
}
