import { namesOf } from '../../ui/names.ts'
import type { EventSummaryJson } from '../contract.ts'

export const eventStatuses = namesOf<EventSummaryJson['status']>({
  pending: 1,
  running: 1,
  retrying: 1,
  held: 1,
  done: 1,
  dead: 1,
  expired: 1,
  superseded: 1,
  dropped: 1,
  unhandled: 1,
})
