import { InboxError } from '../base/errors.ts'
import { defaultSource, internalTypePrefix, sourceOf, type HandlerRoute, type StoredEvent } from './port.ts'

/** The fields of an event that decide which handlers take it. */
export type RoutedEvent = Pick<StoredEvent, 'type' | 'secretLabel'>

/** Returns the routes that match an event, in registration order, without repeats. */
export type RouteTable = (event: RoutedEvent) => readonly HandlerRoute[]

/** The part of a route that selects events. */
export type Selection = Pick<HandlerRoute, 'types' | 'sources'>

// The sender chooses the types, so the cache bounds both their number and their length.
const maxCachedTypes = 1024
const maxCachedTypeLength = 128

/**
 * Builds the lookup from event to routes. If several routes share a name, the last matching one wins. A pattern is a type, a prefix
 * such as `wallet.*` (all types that start with `wallet.`), or `*` (all types except the inbox's own, which start with `inbox.`).
 */
export function createRouteTable(routes: readonly HandlerRoute[]): RouteTable {
  const compiled = routes.map((route) => ({ route, takes: createSelector([route]) }))
  const caches = new Map<string, Map<string, readonly HandlerRoute[]>>()

  return (event) => {
    const { type } = event
    const source = sourceOf(event)
    let cache = caches.get(source)
    if (cache === undefined) caches.set(source, (cache = new Map()))
    const cached = cache.get(type)
    if (cached) return cached
    const matching = compiled.filter(({ takes }) => takes(event)).map(({ route }) => route)
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

const everything: Selection = { types: ['*', `${internalTypePrefix}*`], sources: ['*'] }

/**
 * What a handler selects. Everything if no handler is named, or before handlers are registered. Throws `not_found` for a handler that is
 * not registered.
 */
export function selectionsOf(
  handler: string | undefined,
  routes: readonly HandlerRoute[] | undefined,
): readonly Selection[] {
  if (handler === undefined || routes === undefined) return [everything]
  const named = routes.filter(({ name }) => name === handler)
  if (named.length > 0) return named.map(({ types, sources }) => ({ types, sources }))
  const names = [...new Set(routes.map(({ name }) => name))].join(', ') || 'none, as none is loaded'
  throw new InboxError('not_found', `there is no handler ${JSON.stringify(handler)}: expected one of ${names}`)
}

/** Returns a test of whether any of the selections takes an event. */
export function createSelector(selections: readonly Selection[]): (event: RoutedEvent) => boolean {
  const tests = selections.map(({ types, sources = [defaultSource] }) => ({
    isOfType: createMatcher(types),
    isOfSource: (source: string) => sources.includes(source) || sources.includes('*'),
  }))
  return (event) => tests.some(({ isOfType, isOfSource }) => isOfSource(sourceOf(event)) && isOfType(event.type))
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
