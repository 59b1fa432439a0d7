import type { Condition, Operand, RouteFilter, Tests } from '../config/sinks/routes.ts'
import { foldAddress } from '../base/fold-address.ts'
import { defaultSource } from '../inbox/port.ts'
import { createMatcher } from '../inbox/routes.ts'
import type { AnyEvent } from '../../schema/index.ts'
import { networkOf } from './format.ts'

/** Event types that any of the routes may take. */
export function typesOf(routes: readonly RouteFilter[]): string[] {
  return [...new Set(routes.flatMap(({ types }) => types))]
}

/** Names of sources whose events any of the routes may take. */
export function sourcesOf(routes: readonly RouteFilter[]): string[] {
  return [...new Set(routes.map(({ source = defaultSource }) => source))]
}

/** Returns a function that checks whether any route takes an event; undefined if type and source alone decide. Pure. */
export function toMatch(routes: readonly RouteFilter[]): ((event: RoutedEvent) => boolean) | undefined {
  const isByType = routes.every(({ networks, where }) => networks === undefined && where.length === 0)
  if (isByType && sourcesOf(routes).length <= 1) return undefined
  const matching = routes.map((route) => ({ ...route, isOfType: createMatcher(route.types) }))
  return (event) => matching.some((route) => takes(route, event))
}

type RoutedEvent = AnyEvent & { readonly source: string }

type CompiledRoute = Pick<RouteFilter, 'source' | 'networks' | 'where'> & {
  readonly isOfType: (type: string) => boolean
}

function takes({ isOfType, source = defaultSource, networks, where }: CompiledRoute, event: RoutedEvent): boolean {
  if (source !== '*' && source !== event.source) return false
  if (!isOfType(event.type)) return false
  if (networks !== undefined && !networks.includes(networkOf(event) ?? '')) return false
  return where.every((condition) => holds(condition, event))
}

function holds({ path, tests }: Condition, event: AnyEvent): boolean {
  const value = valueAt(event, path)
  return (Object.keys(tests) as (keyof Tests)[]).every((name) => passes(name, tests, value))
}

function passes(name: keyof Tests, tests: Tests, value: unknown): boolean {
  switch (name) {
    case 'eq':
      return isSame(value, tests.eq)
    case 'ne':
      return !isSame(value, tests.ne)
    case 'in':
      return tests.in?.some((operand) => isSame(value, operand)) ?? true
    case 'exists':
      return (value !== undefined) === tests.exists
    case 'gt':
      return compare(value, tests.gt) > 0
    case 'gte':
      return compare(value, tests.gte) >= 0
    case 'lt':
      return compare(value, tests.lt) < 0
    case 'lte':
      return compare(value, tests.lte) <= 0
  }
}

/** EVM addresses are compared case-insensitively. */
function isSame(value: unknown, operand: Operand | undefined): boolean {
  if (value === operand) return true
  if (typeof value !== 'string' || typeof operand !== 'string') return false
  return foldAddress(value) === foldAddress(operand)
}

/** Compares two numbers or two strings. NaN for other types: neither more nor less. */
function compare(value: unknown, bound: number | string | undefined): number {
  if (typeof value === 'number' && typeof bound === 'number') return value - bound
  if (typeof value === 'string' && typeof bound === 'string') return value < bound ? -1 : value > bound ? 1 : 0
  return NaN
}

/** Value at a path; reads own properties only. */
function valueAt(event: AnyEvent, path: string): unknown {
  let value: unknown = event
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
  }
  return value
}
