import { z } from 'zod'
import { InboxError } from '../errors.ts'
import { mostReplayIds } from '../inbox/port.ts'
import { safeText } from '../log.ts'
import { deadFilterBody, eventParameters, neededTime, quarantineFilterBody } from './parameters.ts'

/** The bodies of requests, each described by what it is expected to be. */
const runIds = z.array(z.int().min(1)).min(1).max(10_000)
const ids = z.array(z.string().min(1).max(300)).min(1).max(1_000)
const reason = z.string().trim().min(1).max(500)
const all = z.literal(true)
const dryRun = z.boolean().default(false).describe('true: only count, and change nothing')

export const signInBody = z
  .strictObject({ token: z.string().min(1).max(1_024) })
  .describe('{"token": "…"} with the admin token, or that of viewers')

const whichDead =
  '{"run_ids": [1, 2]} with the numbers of runs, {"all": true}, or {"filter": {"handler", "type", "group"}}'

export const requeueBody = z
  .union([
    z.strictObject({ run_ids: runIds, dryRun }),
    z.strictObject({ all, dryRun }),
    z.strictObject({ filter: deadFilterBody, dryRun }),
  ])
  .describe(`${whichDead} with at least one of these; and, if wanted, "dryRun": true`)

export const dropDeadBody = z
  .union([
    z.strictObject({ run_ids: runIds, reason, dryRun }),
    z.strictObject({ all, reason, dryRun }),
    z.strictObject({ filter: deadFilterBody, reason, dryRun }),
  ])
  .describe(`${whichDead} with at least one of these; each with "reason": "…"; and, if wanted, "dryRun": true`)

export const handlerBody = z
  .strictObject({ concurrency: z.int().min(1).max(10_000).nullable() })
  .describe('{"concurrency": 4}, a whole number from 1 to 10000, or null for what the handler says itself')

export const dropHandlerBody = z.strictObject({ reason }).describe('{"reason": "…"} of 1 to 500 characters')

const whichQuarantined = '{"ids": ["sha256:…"]}, {"all": true} or {"filter": {"reason": "not_json"}}'

export const quarantineBody = z
  .union([
    z.strictObject({ ids, dryRun }),
    z.strictObject({ all, dryRun }),
    z.strictObject({ filter: quarantineFilterBody, dryRun }),
  ])
  .describe(`${whichQuarantined}; and, if wanted, "dryRun": true`)

export const dropQuarantineBody = z
  .union([
    z.strictObject({ ids, reason, dryRun }),
    z.strictObject({ all, reason, dryRun }),
    z.strictObject({ filter: quarantineFilterBody, reason, dryRun }),
  ])
  .describe(`${whichQuarantined}; each with "reason": "…"; and, if wanted, "dryRun": true`)

export const reconcileBody = z
  .strictObject({ from: neededTime, to: neededTime })
  .describe('{"from": "2026-01-31T14:00:00Z", "to": "2026-01-31T16:00:00Z"}')

export const pruneBody = z
  .strictObject({
    older_than_days: z.number().min(0).max(36_500).nullable().default(null),
    max_bytes: z.int().min(1).nullable().default(null),
  })
  .refine(({ older_than_days, max_bytes }) => older_than_days !== null || max_bytes !== null)
  .meta({ minProperties: 1 })
  .describe('{"older_than_days": 30}, {"max_bytes": 20000000000}, or both')

export const beginSubscriptionBody = z
  .strictObject({
    digest: z.string().regex(/^[0-9a-f]{64}$/),
    url: z.url().max(2_048),
    events: z.array(z.string().min(1).max(255)).min(1).max(1_000),
    secret_label: z.string().min(1).max(32),
    replaces: z.int().min(1).nullable(),
  })
  .describe('{"digest": "…", "url": "https://…", "events": ["*"], "secret_label": "main", "replaces": null}')

export const endSubscriptionBody = z
  .strictObject({ state: z.enum(['registered', 'failed']), answer: z.string().max(65_536).nullable() })
  .describe('{"state": "registered" or "failed", "answer": text or null}')

const { type, network, address, status, from, to } = eventParameters.shape

export const replayBody = z
  .strictObject({
    ids: z
      .exactOptional(z.array(z.string().min(1).max(300)).min(1).max(mostReplayIds))
      .describe(`a list of 1 to ${mostReplayIds} ids of events`),
    type,
    network,
    address,
    status,
    from,
    to,
    handler: z.exactOptional(z.string().min(1).max(100)).describe('the name of a handler'),
    dryRun: z.boolean().default(false),
    per_second: z
      .number()
      .positive()
      .max(100_000)
      .nullable()
      .default(null)
      .describe('a number of runs per second above 0, at most 100000'),
    new_keys: z.boolean().default(false),
  })
  .describe(
    'a filter of at least one of ids (a list of at most 1000), type, network, address, status, from, to (ISO 8601), handler; ' +
      'and, if wanted, dryRun, per_second (a number), new_keys',
  )

/** Checks the body of a request. Throws `bad_request` that says what is expected, of the field that is wrong if it has words of its own. */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const [name] = issue?.path ?? []
  const field = schema instanceof z.ZodObject && typeof name === 'string' ? schema.shape[name] : undefined
  const expected = field && z.globalRegistry.get(field as z.ZodType)?.description
  if (expected !== undefined) {
    const came = JSON.stringify((body as Readonly<Record<string, unknown>>)[name as string]) ?? 'nothing'
    throw new InboxError('bad_request', `${name as string}: got ${safeText(came, 80)}, expected ${expected}`)
  }
  const place = issue?.path.join('.') ?? ''
  const what = place === '' ? 'the body' : safeText(place, 80)
  throw new InboxError(
    'bad_request',
    `${what} cannot be used: got ${describeKind(valueAt(body, issue?.path ?? []))}, expected ${schema.description}`,
  )
}

/** What stands at a place of a body; undefined where there is nothing. */
function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key],
    body,
  )
}

/** What a body is, without anything that is in it but names: one may hold what is secret. */
function describeKind(body: unknown): string {
  if (body === undefined) return 'nothing'
  if (body === null) return 'null'
  if (Array.isArray(body)) return 'a list'
  if (typeof body !== 'object') return `a ${typeof body}`
  const names = Object.keys(body)
  if (names.length === 0) return 'an object without fields'
  return `an object with ${safeText(names.slice(0, 10).join(', '), 200)}`
}
