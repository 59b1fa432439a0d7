import { InboxError } from '../base/errors.ts'
import { internalTypePrefix, type HandlerRoute } from './port.ts'

/** Returns the routes that match an event type, in registration order, without repeats. */
export type RouteTable = (type: string) => readonly HandlerRoute[]

// The sender chooses the types, so the cache bounds both their number and their length.
const maxCachedTypes = 1024
const maxCachedTypeLength = 128

/**
 * Builds the lookup from event type to routes. If several routes share a name, the last matching one wins. A pattern is a type, a prefix
 * such as `wallet.*` (all types that start with `wallet.`), or `*` (all types except the inbox's own, which start with `inbox.`).
 */
export function createRouteTable(routes: readonly HandlerRoute[]): RouteTable {
  const compiled = routes.map((route) => ({ route, matches: createMatcher(route.types) }))
  const cache = new Map<string, readonly HandlerRoute[]>()

  return (type) => {
    const cached = cache.get(type)
    if (cached) return cached
    const matching = compiled.filter(({ matches }) => matches(type)).map(({ route }) => route)
    const distinct = matching.filter(
      ({ name }, index) => matching.findLastIndex((route) => route.name === name) === index,
    )
    if (type.length <= maxCachedTypeLength) {
      if (cache.size >= maxCachedTypes) cache.clear()
      cache.set(type, distinct)
    }
    return distinct
  }
}

const everyType = ['*', `${internalTypePrefix}*`]

/**
 * The type patterns of a handler. Returns patterns that match every type if no handler is named, or before handlers are registered.
 * Throws `not_found` for a handler that is not registered.
 */
export function patternsOf(
  handler: string | undefined,
  routes: readonly HandlerRoute[] | undefined,
): readonly string[] {
  if (handler === undefined || routes === undefined) return everyType
  const named = routes.filter(({ name }) => name === handler)
  if (named.length > 0) return named.flatMap(({ types }) => types)
  const names = [...new Set(routes.map(({ name }) => name))].join(', ') || 'none, as none is loaded'
  throw new InboxError('not_found', `there is no handler ${JSON.stringify(handler)}: expected one of ${names}`)
}

/** Returns a test of whether patterns match a type. `*` excludes the inbox's own types: they have to be named. */
export function createMatcher(patterns: readonly string[]): (type: string) => boolean {
  const takesAll = patterns.includes('*')
  const exact = new Set(patterns)
  const prefixes = patterns.filter((pattern) => pattern.endsWith('.*')).map((pattern) => pattern.slice(0, -1))
  return (type) =>
    (takesAll && !type.startsWith(internalTypePrefix)) ||
    exact.has(type) ||
    prefixes.some((prefix) => type.startsWith(prefix))
}
