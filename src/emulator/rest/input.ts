import type { NetworkId } from '../../../schema/index.ts'
import type { Operation } from '../../../schema/rest/operations.ts'
import { pageLimits } from '../../../schema/rest/parameters.ts'
import { z } from 'zod'
import { type Place, type Problem, invalidRequest, problemsOf } from './error.ts'
import { parseAddress } from '../world/addresses.ts'

type Values = Readonly<Record<string, unknown>>

/** What a request carries, as the schemas of its operation give it, addresses in their canonical form. */
export interface Input {
  readonly params: Values
  readonly query: Values
  /** Null for operations without a body. */
  readonly body: Values | null
  /** The network that the request is about, if it is about one. */
  readonly network: NetworkId | null
}

interface RawInput {
  readonly params: Values
  /** The target of the request, with its query. */
  readonly target: string
  readonly body: Values | null
}

/** Members that hold an address of the network that comes with them. */
const addressNames = ['address', 'token'] as const

/**
 * Reads requests of one operation. Throws `invalid_request` with every place of the path, the query, or the body that is
 * not as expected; addresses of another network family are among these (A11).
 */
export function createInputReader(operation: Operation, settings: RestSettings): (raw: RawInput) => Input {
  const read = (schema: z.ZodObject, given: Values, place: Place): Values => {
    const result = schema.safeParse(given)
    const misspelt = place === 'body' ? misspeltMembers(schema, given) : []
    const problems = [...misspelt, ...(result.success ? [] : problemsOf(result.error, given, place))]
    if (result.success && problems.length === 0) return result.data
    throw invalidRequest(problems)
  }

  const readQuery = (target: string): Values => {
    const parsed = parseQuery(target)
    if (!parsed.ok) throw invalidRequest([{ path: parsed.parameter, message: parsed.problem }])
    return read(operation.query, settings.limit === 'clamp' ? withLimitInBounds(parsed.values) : parsed.values, 'query')
  }

  return (raw) => {
    const params = read(operation.params, raw.params, 'path')
    const query = readQuery(raw.target)
    const body = operation.body === null ? null : read(operation.body, raw.body ?? {}, 'body')
    const network = (body?.['network'] ?? query['network'] ?? null) as NetworkId | null
    if (network === null) return { params, query, body, network }
    const canonical = (values: Values) => withCanonicalAddresses(values, network, settings)
    return { params: canonical(params), query: canonical(query), body: body && canonical(body), network }
  }
}

/** A57: whole numbers out of bounds become the nearest that is allowed. */
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
 * Members that differ from one of the schema in case only. Others that nobody documented are ignored (R125); these are a slip
 * of the pen, and to ignore a `Secret` would sign with another.
 */
function misspeltMembers(schema: z.ZodObject, given: Readonly<Record<string, unknown>>): readonly Problem[] {
  const rightNames = new Map(Object.keys(schema.shape).map((name) => [name.toLowerCase(), name]))
  return Object.keys(given).flatMap((name) => {
    const right = rightNames.get(name.toLowerCase())
    if (right === undefined || right === name) return []
    return [{ path: name, message: `expected the name ${right}: names are case-sensitive` }]
  })
}

/** What a query string says; or what is wrong with it, for people. */
export type ParsedQuery =
  | { readonly ok: true; readonly values: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly parameter: string; readonly problem: string }

const none: ParsedQuery = { ok: true, values: Object.freeze({}) }

/** The parameters of a request target. A parameter that is given twice, or is not well-formed percent-encoding, is a problem. */
export function parseQuery(target: string): ParsedQuery {
  const start = target.indexOf('?')
  if (start < 0 || start === target.length - 1) return none
  const values = Object.create(null) as Record<string, string>
  for (const pair of target.slice(start + 1).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    if (name === null || value === null) {
      return { ok: false, parameter: name ?? pair, problem: 'expected well-formed percent-encoding of UTF-8' }
    }
    if (name in values) return { ok: false, parameter: name, problem: 'expected it once, it is given more than once' }
    values[name] = value
  }
  return { ok: true, values }
}

const special = /[%+]/

function decode(text: string): string | null {
  if (!special.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}

/** The choices of the REST service where its description is silent: each a named setting with its default. */
export const restSettingsSchema = z.strictObject({
  /** A1: whether the meta of a page has `latency_ms` beside the members of a page. */
  latencyOnLists: z.boolean().default(true),
  /** A9: whether an EVM address in mixed case must have its EIP-55 checksum. */
  strictChecksum: z.boolean().default(false),
  /** A18: what `Retry-After` says while a network is in maintenance, in seconds. */
  maintenanceRetryAfterS: z.int().min(1).max(86_400).default(60),
  /** A18: by how much answers of a degraded network are late at least, in milliseconds of real time. */
  degradedMinMs: z.int().min(0).max(60_000).default(300),
  /** A18: and at most. */
  degradedMaxMs: z.int().min(0).max(60_000).default(2_000),
  /** A21: `shuffled` mixes the trades within each page, for clients that must not rely on their order (R55). */
  tradesOrder: z.enum(['newest', 'shuffled']).default('newest'),
  /** A57: what becomes of a whole-numbered `limit` below 1 or above 100: an error, or the nearest that is allowed. */
  limit: z.enum(['refuse', 'clamp']).default('refuse'),
  /** A61: leaves `next_cursor` out on the last page instead of giving null. */
  omitNextCursor: z.boolean().default(false),
  /** A62: since when v1 is said to be deprecated, by the headers `Deprecation` and `Sunset`; null = it is not. */
  v1DeprecatedOn: z.iso.date().nullable().default(null),
})

export type RestSettings = z.output<typeof restSettingsSchema>

/** Every setting at its default. */
export const defaultRestSettings: RestSettings = Object.freeze(restSettingsSchema.parse({}))
