import type { NetworkId } from '../../../schema/index.ts'
import type { Operation } from '../../../schema/rest/operations.ts'
import { pageLimits } from '../../../schema/rest/parameters.ts'
import { z } from 'zod'
import { type RequestPart, type Problem, invalidRequest, problemsOf } from './error.ts'
import { parseAddress } from '../world/addresses.ts'

type Values = Readonly<Record<string, unknown>>

/** Validated input of a request, with canonical addresses. `body` and `network` are null if it has none. */
export type Input = ReturnType<ReturnType<typeof createInputReader>>

interface RawInput {
  readonly params: Values
  /** Request target with its query. */
  readonly target: string
  readonly body: Values | null
}

/** Members that hold an address of the request's network. */
const addressNames = ['address', 'token'] as const

/**
 * Returns a function that validates requests of one operation. It throws `invalid_request` with every problem of path,
 * query or body, including addresses of another network family (A11), and URIError for broken percent-encoding.
 */
export function createInputReader(operation: Operation, settings: RestSettings) {
  const read = (schema: z.ZodObject, values: Values, part: RequestPart): Values => {
    const result = schema.safeParse(values)
    const misspelt = part === 'body' ? misspeltMembers(schema, values) : []
    const problems = [...misspelt, ...(result.success ? [] : problemsOf(result.error, values, part))]
    if (result.success && problems.length === 0) return result.data
    throw invalidRequest(problems)
  }

  const readQuery = (target: string): Values => {
    const values = parseQuery(target)
    return read(operation.query, settings.limit === 'clamp' ? withLimitInBounds(values) : values, 'query')
  }

  return (raw: RawInput) => {
    const params = read(operation.params, raw.params, 'path')
    const query = readQuery(raw.target)
    const body = operation.body === null ? null : read(operation.body, raw.body ?? {}, 'body')
    const network = (body?.['network'] ?? query['network'] ?? null) as NetworkId | null
    if (network === null) return { params, query, body, network }
    const canonical = (values: Values) => withCanonicalAddresses(values, network, settings)
    return { params: canonical(params), query: canonical(query), body: body && canonical(body), network }
  }
}

/** A57: clamps whole numbers to the allowed range. */
function withLimitInBounds(values: Values): Values {
  const { limit } = values
  if (typeof limit !== 'string' || !/^-?\d+$/.test(limit)) return values
  return { ...values, limit: String(Math.min(pageLimits.max, Math.max(pageLimits.min, Number(limit)))) }
}

function withCanonicalAddresses(values: Values, network: NetworkId, { strictChecksum }: RestSettings): Values {
  const canonical: Record<string, unknown> = { ...values }
  for (const name of addressNames) {
    const text = values[name]
    if (typeof text !== 'string') continue
    const parsed = parseAddress(network, text, { strictChecksum })
    if (!parsed.ok) throw invalidRequest([{ path: name, message: parsed.problem }])
    canonical[name] = parsed.address
  }
  return canonical
}

/**
 * Members that differ from a schema member in case only. Other unknown members are ignored (R125). Ignoring these would
 * be dangerous: with `Secret` misspelt, another secret would sign.
 */
function misspeltMembers(schema: z.ZodObject, values: Readonly<Record<string, unknown>>): readonly Problem[] {
  const schemaNames = new Map(Object.keys(schema.shape).map((name) => [name.toLowerCase(), name]))
  return Object.keys(values).flatMap((name) => {
    const schemaName = schemaNames.get(name.toLowerCase())
    if (schemaName === undefined || schemaName === name) return []
    return [{ path: name, message: `expected the name ${schemaName}: names are case-sensitive` }]
  })
}

/** Parses the query of a request target. Throws `invalid_request` for a repeated parameter, URIError for malformed percent-encoding. */
export function parseQuery(target: string): Readonly<Record<string, string>> {
  const [query = ''] = /\?.*/s.exec(target) ?? []
  // URLSearchParams accepts malformed encoding.
  decodeURIComponent(query)
  const values = Object.create(null) as Record<string, string>
  for (const [name, value] of new URLSearchParams(query)) {
    if (name in values) throw invalidRequest([{ path: name, message: 'expected only once' }])
    values[name] = value
  }
  return values
}

/** Behaviour that the service's description leaves open, as settings with defaults. */
export const restSettingsSchema = z.strictObject({
  /** A1: adds `latency_ms` to the meta of pages. */
  latencyOnLists: z.boolean().default(true),
  /** A9: requires the EIP-55 checksum of EVM addresses in mixed case. */
  strictChecksum: z.boolean().default(false),
  /** A18: value of `Retry-After` while a network is in maintenance, in seconds. */
  maintenanceRetryAfterS: z.int().min(1).max(86_400).default(60),
  /** A18: minimum delay of responses about a degraded network, in milliseconds of real time. */
  degradedMinMs: z.int().min(0).max(60_000).default(300),
  /** A18: maximum of that delay. */
  degradedMaxMs: z.int().min(0).max(60_000).default(2_000),
  /** A21: `shuffled` mixes the trades within each page, for clients that must not rely on order (R55). */
  tradesOrder: z.enum(['newest', 'shuffled']).default('newest'),
  /** A57: handling of a whole-number `limit` below 1 or above 100: an error, or the nearest allowed value. */
  limit: z.enum(['refuse', 'clamp']).default('refuse'),
  /** A61: omits `next_cursor` on the last page instead of returning null. */
  omitNextCursor: z.boolean().default(false),
  /** A62: deprecation date of v1 for the headers `Deprecation` and `Sunset`; null = not deprecated. */
  v1DeprecatedOn: z.iso.date().nullable().default(null),
})

export type RestSettings = z.output<typeof restSettingsSchema>

/** Every setting at its default. */
export const defaultRestSettings: RestSettings = Object.freeze(restSettingsSchema.parse({}))
