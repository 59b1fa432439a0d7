import { z } from 'zod'
import { count } from './common.ts'
import { eventSummary } from './events.ts'
import { overview } from './health.ts'

/** What goes by `GET stream`, at most once a second each, and only where something changed. */
export const streamKinds = ['events', 'overview', 'changed'] as const
export type StreamKind = (typeof streamKinds)[number]

/** Events that came since the last of these, newest first, at most 50; `skipped`: how many more there were. */
export const eventsTold = z.object({ data: z.array(eventSummary), skipped: count })
export const overviewTold = overview
/** Of which lists something changed, so that a page asks again. */
export const changedTold = z.object({
  what: z.array(z.enum(['handlers', 'dead-letters', 'quarantine', 'replays', 'rejects', 'health', 'audit'])),
})

export type EventsToldJson = z.output<typeof eventsTold>
export type ChangedToldJson = z.output<typeof changedTold>
