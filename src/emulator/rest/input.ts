import type { NetworkId } from '../../../schema/index.ts'
import type { Operation } from '../../../schema/rest/operations.ts'
import { pageLimits } from '../../../schema/rest/parameters.ts'
import type { z } from 'zod'
import { invalidRequest, type Problem } from './error.ts'
import { problemsOf, type Place } from './problems.ts'
import { parseQuery } from './query.ts'
import type { RestSettings } from './settings.ts'
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
