import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { maxErrorGroup } from '../inbox/error-group.ts'
import { eventStatuses } from '../inbox/port.ts'
import { foldAddress } from '../base/fold-address.ts'
import { safeText } from '../base/log.ts'

/** Unchecked parameters by name. */
export type Query = Readonly<Record<string, unknown>>

// Parts of requests. Error messages read: `<name>: got <value>, expected <description>`.

const length = 'of 1 to 255 characters'
export const words = z.string().min(1).max(255)
export const text = (what: string) => z.exactOptional(words).describe(`${what} ${length}`)

// EVM addresses are stored in lower case, others unchanged.
const address = z.exactOptional(words.transform(foldAddress)).describe(`an address ${length}`)

/** A time in a request; parsed to milliseconds since 1970. */
const timeText = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()])
  .transform((value) => Date.parse(value))
  .refine(Number.isFinite)
const timeWords = 'a time in ISO 8601 with its offset, for example 2026-01-31T14:03:22Z, or a date'
export const neededTime = timeText.describe(timeWords)
const time = z.exactOptional(timeText).describe(timeWords)

export const errorGroup = z
  .exactOptional(z.string().min(1).max(maxErrorGroup))
  .describe(`an error group, from dead-letters/groups, of 1 to ${maxErrorGroup} characters`)

/** Filters of events. */
export const eventFilter = {
  source: text('`default` or the name of a source'),
  type: text('an event type'),
  network: text('a network'),
  address,
  status: z.exactOptional(z.enum(eventStatuses)).describe(`one of ${eventStatuses.join(', ')}`),
  from: time,
  to: time,
}

/** Filters of the list of events. */
export const eventQuery = {
  ...eventFilter,
  handler: text('the name of a handler that has a run of the event,'),
  group: errorGroup,
  q: z.exactOptional(words.regex(/\S/)).describe('words that the body must contain, 1 to 255 characters'),
}

export const noParameters = z.strictObject({})

/** Parameters of every list. */
export const page = {
  limit: z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(200))
    .prefault('50')
    .describe('a whole number from 1 to 200'),
  cursor: z.exactOptional(z.string().min(1).max(300)).describe('the next_cursor of the previous page'),
}
export const pageParameters = z.strictObject(page)

export const reason = z.string().trim().min(1).max(500)
const dryRun = z.boolean().default(false).describe('true: only count')

const all = z.literal(true)

/**
 * Body of an action on many items, selected by a list, `all` or a filter. `selections` describes the three. Irreversible
 * actions take a reason.
 */
export function bulkBody<L extends z.ZodRawShape, F extends z.ZodType, R extends { reason?: typeof reason }>(
  selections: string,
  list: L,
  filter: F,
  more: R,
) {
  const common = { ...more, dryRun }
  return z
    .union([
      z.strictObject({ ...list, ...common }),
      z.strictObject({ all, ...common }),
      z.strictObject({ filter, ...common }),
    ])
    .describe(`${selections};${more.reason === undefined ? '' : ' each with "reason": "…";'} optionally "dryRun": true`)
}

/** Checks query parameters. Throws `bad_request` with each invalid parameter, its value and the rule. */
export function parseParameters<S extends z.ZodObject>(schema: S, parameters: Query): z.output<S> {
  const result = schema.safeParse({ ...parameters })
  if (result.success) return result.data
  const problems = result.error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const known = Object.keys(schema.shape).join(', ') || 'none'
      return issue.keys.map((name) => `${safeText(name, 80)}: unknown parameter, expected ${known}`)
    }
    const name = String(issue.path[0])
    const { description = 'another value' } = z.globalRegistry.get(schema.shape[name] as z.ZodType) ?? {}
    return [`${name}: got ${safeText(JSON.stringify(parameters[name]) ?? 'nothing', 80)}, expected ${description}`]
  })
  throw new InboxError('bad_request', [...new Set(problems)].join('; '))
}

/** Checks a body. Throws `bad_request` with the rule of the invalid field, or else of the body. */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const [name] = issue?.path ?? []
  const field = schema instanceof z.ZodObject && typeof name === 'string' ? schema.shape[name] : undefined
  const expected = field && z.globalRegistry.get(field as z.ZodType)?.description
  if (expected !== undefined) {
    const value = JSON.stringify((body as Readonly<Record<string, unknown>>)[name as string]) ?? 'nothing'
    throw new InboxError('bad_request', `${name as string}: got ${safeText(value, 80)}, expected ${expected}`)
  }
  const place = issue?.path.join('.') ?? ''
  const what = place === '' ? 'the body' : safeText(place, 80)
  throw new InboxError(
    'bad_request',
    `${what} is invalid: got ${describeKind(valueAt(body, issue?.path ?? []))}, expected ${schema.description}`,
  )
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key],
    body,
  )
}

/** Describes a value without its content, which may be secret. */
function describeKind(body: unknown): string {
  if (body === undefined) return 'nothing'
  if (body === null) return 'null'
  if (Array.isArray(body)) return 'a list'
  if (typeof body !== 'object') return `a ${typeof body}`
  const names = Object.keys(body)
  if (names.length === 0) return 'an object without fields'
  return `an object with ${safeText(names.slice(0, 10).join(', '), 200)}`
}
