import { networkIds } from '../../schema/names.ts'
import type { Route } from '../../schema/rest/routes.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import type { Query } from './api.ts'

/** A request without credentials. */
export interface ApiRequest {
  readonly method: Route['method']
  /** Path below the version prefix, encoded. */
  readonly path: string
  /** Query with its question mark; empty without one (R49). */
  readonly query: string
  /** JSON text, or null (R50). */
  readonly body: string | null
  readonly data: Route['data'] | 'any'
}

type Arguments = Readonly<Record<string, unknown>>

/**
 * Puts the arguments of an operation into its path, its query, or the body of POST and PATCH. Omits undefined ones.
 *
 * @throws InboxError `usage` for arguments that can't be sent, and for an unknown network (R4)
 */
export function toRequest({ method, path, data }: Route, args: Arguments): ApiRequest {
  const rest = new Map(Object.entries(args).filter(([, value]) => value !== undefined))
  if (rest.has('network')) requireNetwork(rest.get('network'))
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name)
    rest.delete(name)
    return toSegment(name, value)
  })
  const hasBody = method === 'post' || method === 'patch'
  const others = Object.fromEntries(rest)
  return { method, path: filled, query: hasBody ? '' : toQuery(others), body: hasBody ? toJson(others) : null, data }
}

/** A GET of any path, with or without the version prefix (R6). */
export function toGetRequest(path: string, query: Query): ApiRequest {
  const [first, ...segments] = path.replace(/^\/v1(?=\/)/, '').split('/')
  if (first !== '' || segments.length === 0 || /[?#]/.test(path)) {
    throw unusable('path', 'expected a path such as /trending, its query as second argument', path)
  }
  const encoded = segments.map((segment) => toSegment('path', segment))
  return { method: 'get', path: `/${encoded.join('/')}`, query: toQuery(query), body: null, data: 'any' }
}

function requireNetwork(value: unknown): void {
  if (!networkIds.some((id) => id === value))
    throw unusable('network', `expected one of ${networkIds.join(', ')}`, value)
}

/** Encodes one part of a path. URLs resolve `.` and `..` even if they are encoded. */
function toSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..' || !value.isWellFormed()) {
    throw unusable(name, 'expected text for one path segment', value)
  }
  return encodeURIComponent(value)
}

function toQuery(query: Arguments): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return []
    return [`${encodeURIComponent(name)}=${encodeURIComponent(toText(name, value))}`]
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

function toText(name: string, value: unknown): string {
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return String(value)
  if (typeof value === 'string' && value.isWellFormed()) return value
  throw unusable(name, 'expected text, a number, true or false', value)
}

function toJson(members: Arguments): string {
  try {
    return JSON.stringify(members)
  } catch (error) {
    throw new InboxError('usage', 'arguments must be valid JSON values', { cause: error })
  }
}

function unusable(name: string, expected: string, value: unknown): InboxError {
  const received = typeof value === 'string' ? JSON.stringify(safeText(value, 80)) : typeof value
  return new InboxError('usage', `${name}: ${expected}, received ${received}`)
}
