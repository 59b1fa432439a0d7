import { z } from 'zod'

/** The network identifiers of the service. Fields that name a network stay open strings: more may come. */
export const networkIds = ['ethereum', 'bnb', 'solana', 'polygon', 'base', 'avalanche', 'arbitrum'] as const
export type NetworkId = (typeof networkIds)[number]

const isWellFormed = (text: string): boolean => text.isWellFormed()
const illFormed = 'expected well-formed Unicode, received a lone surrogate'

// RFC 3339 in UTC with a date that exists; second 60 only where a leap second can be.
const date = z.regexes.date.source.slice(1, -1)
const timeOfDay = '(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d|23:59:60)'
const utcTimestamp = new RegExp(`^${date}[Tt]${timeOfDay}(?:\\.\\d{1,9})?(?:[Zz]|[+-]00:00)$`)

const envelopeFields = {
  id: z
    .string()
    .min(1)
    .max(255)
    .refine(isWellFormed, illFormed)
    .describe(
      'Idempotency key: the same id is the same event, however often it is delivered. The sender writes `evt_` and an ' +
        'opaque rest; a reader relies on nothing but well-formed Unicode of 1 to 255 characters.',
    ),
  type: z
    .string()
    .min(1)
    .max(255)
    .refine(isWellFormed, illFormed)
    .describe('Event type. New types may come at any time.'),
  created_at: z
    .string()
    .regex(utcTimestamp, 'expected an RFC 3339 UTC time such as 2026-01-31T12:00:00.000Z')
    .describe('When the event was created: RFC 3339, UTC, 0 to 9 fraction digits.')
    .meta({ format: 'date-time' }),
}

/** The envelope of every delivery, of known and unknown types (R92, A4). Unknown members are kept (R125). */
export const envelopeSchema = z.looseObject({
  ...envelopeFields,
  data: z.looseObject({}).describe('Event-specific fields.'),
})

/** The schema of a whole event: the envelope with a literal type and the `data` of that type (R92). */
export function toEventSchema<const T extends string, D extends z.ZodObject>(type: T, meaning: string, data: D) {
  return z.looseObject({ ...envelopeFields, type: z.literal(type), data }).meta({ title: type, description: meaning })
}
