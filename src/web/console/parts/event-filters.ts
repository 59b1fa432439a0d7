import { queryOf } from '../../ui/query-of.ts'

/** What the list of events is filtered by, as the address of the page has it: empty texts filter nothing. */
export interface EventFilters {
  readonly type: string
  readonly network: string
  readonly address: string
  readonly status: string
  /** Words that all stand in the body. */
  readonly q: string
  /** A span back from now, one of `spans`; goes before `from` and `to`. */
  readonly last: string
  /** ISO 8601 in UTC. */
  readonly from: string
  readonly to: string
}

export const noFilters: EventFilters = {
  type: '',
  network: '',
  address: '',
  status: '',
  q: '',
  last: '',
  from: '',
  to: '',
}
const names = Object.keys(noFilters) as (keyof EventFilters)[]

const hourMs = 3_600_000
/** Names of spans, with how long they are in milliseconds. */
export const spans: Readonly<Record<string, number>> = { hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs }

/** The filters in the query of the page's address. */
export function filtersOf(query: URLSearchParams): EventFilters {
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? ''])) as Record<keyof EventFilters, string>
}

/** The place of the list with these filters. */
export function placeOf(filters: EventFilters): string {
  return `/events${queryOf({ ...filters })}`
}

/** Whether anything is filtered by. */
export function isFiltered(filters: EventFilters): boolean {
  return names.some((name) => filters[name] !== '')
}

/** What the API is asked with; `now` in milliseconds since 1970. */
export function apiPathOf(
  filters: EventFilters,
  now: number,
  page: { readonly limit: number; readonly cursor?: string },
) {
  const { last, ...rest } = filters
  const span = Object.hasOwn(spans, last) ? spans[last] : undefined
  const times = span === undefined ? {} : { from: new Date(now - span).toISOString(), to: '' }
  return `/events${queryOf({ ...rest, ...times, ...page })}`
}
