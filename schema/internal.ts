import { z } from 'zod'
import { envelopeSchema } from './envelope.ts'

/** What the own events of an inbox say of a warning. They are none of the service's documented types. */
const warningData = z.looseObject({
  /** Stable, such as `ack_slow`. */
  code: z.string(),
  /** What it is about where there may be several; else empty. May hold text from outside. */
  subject: z.string(),
  level: z.enum(['critical', 'warning', 'info']),
  title: z.string(),
  /** What it means, and what to do; lines are broken by `\n`. */
  text: z.string(),
  /** ISO 8601 */
  since: z.iso.datetime(),
  /** Where in the console it is shown, such as `/dead-letters`. */
  href: z.string().nullable(),
  /** The same as a URL, where the inbox knows that of its console. */
  url: z.url().optional(),
  /** The process that it is about, where several share the inbox and it is not about all of them. */
  replica: z.string().optional(),
})

const internalEvent = <T extends string>(type: T) => envelopeSchema.extend({ type: z.literal(type), data: warningData })

/** The schema of each type of event that an inbox makes itself: a warning begins, or one is over. */
export const internalEventSchemas = {
  'inbox.warning': internalEvent('inbox.warning'),
  'inbox.resolved': internalEvent('inbox.resolved'),
} as const

export type InternalEventType = keyof typeof internalEventSchemas
export const internalEventTypes = Object.keys(internalEventSchemas) as readonly InternalEventType[]
export type InternalEventData = z.output<typeof warningData>
