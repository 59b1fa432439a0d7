import { z } from 'zod'
import { InboxError } from '../errors.ts'
import { eventStatuses } from '../inbox/port.ts'
import { safeText } from '../log.ts'

// Each description ends the sentence "…, expected" for the one whose request is refused.

const length = 'of 1 to 255 characters'
const words = z.string().min(1).max(255)
const text = (what: string) => z.exactOptional(words).describe(`${what} ${length}`)

// EVM addresses are stored in lower case, everything else as it came.
const address = z
  .exactOptional(words.transform((value) => (/^0x[0-9a-fA-F]{40}$/.test(value) ? value.toLowerCase() : value)))
  .describe(`an address ${length}`)

const limit = (usual: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .prefault(String(usual))
    .describe(`a whole number from 1 to ${most}`)

const cursor = z.exactOptional(z.string().min(1).max(300)).describe('the next_cursor of the page before, unchanged')

/** A time as requests give it; comes out as milliseconds since 1970. */
const timeText = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()])
  .transform((value) => Date.parse(value))
  .refine(Number.isFinite)
const timeWords = 'a time in ISO 8601 with its offset, for example 2026-01-31T14:03:22Z, or a date'
const time = z.exactOptional(timeText).describe(timeWords)
export const neededTime = timeText.describe(timeWords)

/** Routes that take no parameters. */
export const noParameters = z.strictObject({})

/** `GET events`. Times are given in ISO 8601. */
export const eventParameters = z.strictObject({
  type: text('an event type'),
  network: text('a network'),
  address,
  status: z.exactOptional(z.enum(eventStatuses)).describe(`one of ${eventStatuses.join(', ')}`),
  q: z.exactOptional(words.regex(/\S/)).describe(`words that all stand in the body, ${length}`),
  from: time,
  to: time,
  limit: limit(50, 200),
  cursor,
})

/** Lists without filters. */
export const pageParameters = z.strictObject({ limit: limit(50, 200), cursor })

const deadFilter = {
  handler: text('the name of a handler'),
  type: text('an event type'),
}
const group = text('the group of an error, as dead-letters/groups gives it,')

export const deadGroupParameters = z.strictObject(deadFilter)
export const deadParameters = z.strictObject({ ...deadFilter, group, limit: limit(50, 200), cursor })

const reasonCode = words.describe(`the reason for which bodies are in quarantine ${length}`)
export const quarantineParameters = z.strictObject({
  reason: z.exactOptional(reasonCode).describe(reasonCode.description ?? ''),
  limit: limit(50, 200),
  cursor,
})

export const conflictParameters = z.strictObject({
  digest: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('the digest of the other body, 64 hex digits in lower case, as the list gives it'),
})

const activityWindows = ['hour', 'day'] as const
export const activityParameters = z.strictObject({
  window: z.enum(activityWindows).prefault('hour').describe('hour or day'),
})

/** Which dead letters, which bodies in quarantine: filters in the bodies of acts. Something has to be given. */
export const deadFilterBody = z
  .strictObject({ ...deadFilter, group })
  .refine((filter) => Object.keys(filter).length > 0)
  .meta({ minProperties: 1 })
export const quarantineFilterBody = z.strictObject({ reason: reasonCode })

/** Checks query parameters. Throws `bad_request` that says of each what came and what was expected. */
export function parseParameters<S extends z.ZodObject>(
  schema: S,
  given: Readonly<Record<string, unknown>>,
): z.output<S> {
  const result = schema.safeParse({ ...given })
  if (result.success) return result.data
  const problems = result.error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const known = Object.keys(schema.shape).join(', ') || 'none'
      return issue.keys.map((name) => `${safeText(name, 80)} is no parameter here, expected ${known}`)
    }
    const name = String(issue.path[0])
    const { description = 'another value' } = z.globalRegistry.get(schema.shape[name] as z.ZodType) ?? {}
    return [`${name}: got ${safeText(JSON.stringify(given[name]) ?? 'nothing', 80)}, expected ${description}`]
  })
  throw new InboxError('bad_request', [...new Set(problems)].join('; '))
}
