import { z } from 'zod'
import { assumed } from './fields.ts'

const isWellFormed = (text: string): boolean => text.isWellFormed()
const illFormed = 'expected well-formed Unicode, received a lone surrogate'

// RFC 3339 in UTC with a date that exists; second 60 only where a leap second can be.
const date = z.regexes.date.source.slice(1, -1)
const timeOfDay = '(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d|23:59:60)'
const utcTimestamp = new RegExp(`^${date}[Tt]${timeOfDay}(?:\\.\\d{1,9})?(?:[Zz]|[+-]00:00)$`)

const envelopeFields = {
  id: assumed(
    z
      .string()
      .min(1)
      .max(255)
      .refine(isWellFormed, illFormed)
      .describe(
        'Idempotency key: all deliveries of an event carry the same id. The sender writes `evt_` and an opaque rest; ' +
          'readers rely on well-formed Unicode of 1 to 255 characters only.',
      ),
    'A40',
  ),
  type: z
    .string()
    .min(1)
    .max(255)
    .refine(isWellFormed, illFormed)
    .describe('Event type. New types may come at any time.'),
  created_at: assumed(
    z
      .string()
      .regex(utcTimestamp, 'expected an RFC 3339 UTC time such as 2026-01-31T12:00:00.000Z')
      .describe('When the event was created: RFC 3339, UTC, 0 to 9 fraction digits.')
      .meta({ format: 'date-time' }),
    'A4',
  ),
}

/** The envelope of every delivery, of known and unknown types (R92, A4). Unknown members are kept (R125). */
export const envelopeSchema = z.looseObject({
  ...envelopeFields,
  data: z.looseObject({}).describe('Event-specific fields.'),
})

/** The schema of a whole event: the envelope with a literal type and the `data` of that type (R92). */
export function toEventSchema<const T extends string, D extends z.ZodRawShape>(
  type: T,
  meaning: string,
  fields: D,
  example: { readonly [F in keyof D]: unknown },
  assumptions: readonly string[] = [],
) {
  const created_at = '2026-01-31T14:03:22.123Z'
  return z.looseObject({ ...envelopeFields, type: z.literal(type), data: z.looseObject(fields) }).meta({
    title: type,
    description: meaning,
    examples: [{ id: 'evt_01kg9v6w4q7a2m5b8c3d6e9f2g', type, created_at, data: example }],
    ...(assumptions.length > 0 && { 'x-assumption': assumptions }),
  })
}
