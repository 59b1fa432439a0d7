import type { EventListJson, EventSummaryJson } from '../contract.ts'
import type { EventFilters } from './event-filters.ts'

type Rows = readonly EventSummaryJson[]

export const pageSize = 200
/** A list that only grew at its begin is cut to its first page from here on. */
const mostRows = 20_000

/** What is known of a list of events, newest first. */
export interface EventRows {
  readonly rows: Rows
  /** Of the next page; null: there is none. */
  readonly cursor: string | null
  /** When the server has looked so far back without filling the page; null: it filled it, or there is no more. */
  readonly lookedBackTo: string | null
  /** New ones that wait to be shown. */
  readonly fresh: Rows
  /** Whether more of them wait than are known. */
  readonly hasGap: boolean
}

/** The list after its first page. */
export function begun(page: EventListJson): EventRows {
  return { rows: page.data, ...endOf(page), fresh: [], hasGap: false }
}

/** The list with one more page at its end. */
export function continued(list: EventRows, page: EventListJson): EventRows {
  return { ...list, rows: merge(list.rows, page.data), ...endOf(page) }
}

/** The list with events that came; where it is held they wait. */
export function told(list: EventRows, events: Rows, isHeld: boolean): EventRows {
  if (events.length === 0) return list
  return isHeld ? { ...list, fresh: merge(list.fresh, events) } : { ...list, rows: merge(list.rows, events) }
}

/** The list with what waits. Where there is a gap that cannot be: it has to be asked for anew. */
export function shown(list: EventRows): EventRows {
  return { ...list, rows: merge(list.rows, list.fresh), fresh: [] }
}

/**
 * The list after its first page was asked for once more: states are new, and what came is there. Where nothing of what is known is in the
 * page, more came than it holds: it takes the place of all, or waits as a gap where the list is held.
 */
export function refreshed(list: EventRows, page: EventListJson, filters: EventFilters, isHeld: boolean): EventRows {
  const newest = list.rows[0]?.seq ?? 0
  const oldest = page.data.at(-1)?.seq ?? 0
  const hasGap = page.next_cursor !== null && newest > 0 && oldest > newest
  if (!isHeld && (hasGap || list.rows.length > mostRows)) return begun(page)
  const newer = page.data.filter(({ seq }) => seq > newest)
  const others = page.data.filter(({ seq }) => seq <= newest)
  if (isHeld) return { ...list, rows: merge(list.rows, others), fresh: merge(list.fresh, newer), hasGap }
  const rows = filters.status === '' ? list.rows : withoutLeft(list.rows, page)
  return { ...list, rows: merge(rows, page.data), fresh: [], hasGap: false }
}

/** Whether an event that the stream tells of is of the list; words can only be looked for by the server. */
export function isOf(filters: EventFilters, event: EventSummaryJson): boolean {
  const { type, network, address, status, q, to } = filters
  return (
    q === '' &&
    to === '' &&
    (type === '' || event.type === type) &&
    (network === '' || event.network === network) &&
    (address === '' || event.address?.toLowerCase() === address.toLowerCase()) &&
    (status === '' || event.status === status)
  )
}

/** Those that are in another state than the one that is filtered by go. */
function withoutLeft(rows: Rows, page: EventListJson): Rows {
  const oldest = page.next_cursor === null ? 0 : (page.data.at(-1)?.seq ?? Infinity)
  const found = new Set(page.data.map(({ seq }) => seq))
  return rows.filter(({ seq }) => seq < oldest || found.has(seq))
}

function merge(rows: Rows, others: Rows): Rows {
  if (others.length === 0) return rows
  const bySeq = new Map([...rows, ...others].map((row) => [row.seq, row]))
  return [...bySeq.values()].toSorted((a, b) => b.seq - a.seq)
}

function endOf(page: EventListJson): Pick<EventRows, 'cursor' | 'lookedBackTo'> {
  const isShort = page.next_cursor !== null && page.data.length < pageSize
  return { cursor: page.next_cursor, lookedBackTo: isShort ? page.searched_to : null }
}
