import { z } from 'zod'
import { envelopeSchema } from './envelope.ts'

/** `data` of the events that an inbox creates itself. They are not among the service's documented types. */
const warningData = z.looseObject({
  /** Stable, such as `ack_slow`. */
  code: z.string(),
  /** The affected handler, sink or similar; empty for warnings about the whole inbox. May contain untrusted text. */
  subject: z.string(),
  level: z.enum(['critical', 'warning', 'info']),
  title: z.string(),
  /** Meaning and remedy; lines end with `\n`. */
  text: z.string(),
  /** ISO 8601 */
  since: z.iso.datetime(),
  /** Page of the console, such as `/dead-letters`. */
  href: z.string().nullable(),
  /** URL of the page `href`, if the URL of the console is known. */
  url: z.url().optional(),
  /** The affected replica of a cluster; absent if the warning is about all replicas. */
  replica: z.string().optional(),
})

const internalEvent = <T extends string>(type: T) => envelopeSchema.extend({ type: z.literal(type), data: warningData })

/** The events that an inbox creates: a warning begins or ends. */
export const internalEventSchemas = {
  'inbox.warning': internalEvent('inbox.warning'),
  'inbox.resolved': internalEvent('inbox.resolved'),
} as const

export type InternalEventType = keyof typeof internalEventSchemas
export const internalEventTypes = Object.keys(internalEventSchemas) as readonly InternalEventType[]
export type InternalEventData = z.output<typeof warningData>
