import { InboxError } from '../base/errors.ts'
import { internalTypePrefix, type HandlerRoute } from './port.ts'

/** Gives the routes that match an event type, in the order they were registered; none matches twice. */
export type RouteTable = (type: string) => readonly HandlerRoute[]

// Types come from outside, so both the number of cached types and the length of each are bounded.
const maxCachedTypes = 1024
const maxCachedTypeLength = 128

/**
 * Builds the lookup from event type to routes. Of several routes of a name, the last one that matches counts. A pattern is a type, a prefix such as `wallet.*` (every type that begins
 * with `wallet.`), or `*` (every type but those of this program's own events, which begin with `inbox.`).
 */
export function createRouteTable(routes: readonly HandlerRoute[]): RouteTable {
  const compiled = routes.map((route) => ({ route, matches: createMatcher(route.types) }))
  const cache = new Map<string, readonly HandlerRoute[]>()

  return (type) => {
    const known = cache.get(type)
    if (known) return known
    const matching = compiled.filter(({ matches }) => matches(type)).map(({ route }) => route)
    const found = matching.filter(({ name }, index) => matching.findLastIndex((route) => route.name === name) === index)
    if (type.length <= maxCachedTypeLength) {
      if (cache.size >= maxCachedTypes) cache.clear()
      cache.set(type, found)
    }
    return found
  }
}

const everyType = ['*', `${internalTypePrefix}*`]

/**
 * The patterns of the types that a handler takes; without a name, or as long as no handlers are registered, those of every
 * type. Throws `not_found` where no handler of that name is registered.
 */
export function patternsOf(
  handler: string | undefined,
  routes: readonly HandlerRoute[] | undefined,
): readonly string[] {
  if (handler === undefined || routes === undefined) return everyType
  const named = routes.filter(({ name }) => name === handler)
  if (named.length > 0) return named.flatMap(({ types }) => types)
  const names = [...new Set(routes.map(({ name }) => name))].join(', ') || 'none, for none is loaded'
  throw new InboxError('not_found', `there is no handler ${JSON.stringify(handler)}: expected one of ${names}`)
}

/** Whether a type is among those that patterns stand for. `*` does not stand for this program's own types: they are named. */
export function createMatcher(patterns: readonly string[]): (type: string) => boolean {
  const takesAll = patterns.includes('*')
  const exact = new Set(patterns)
  const prefixes = patterns.filter((pattern) => pattern.endsWith('.*')).map((pattern) => pattern.slice(0, -1))
  return (type) =>
    (takesAll && !type.startsWith(internalTypePrefix)) ||
    exact.has(type) ||
    prefixes.some((prefix) => type.startsWith(prefix))
}
