import type { EventRows } from './event-rows.ts'

/** A list of events as it was left. */
interface Trail {
  /** Where it is, with its filters. */
  readonly place: string
  readonly list: EventRows
  /** How far it was scrolled, in pixels. */
  readonly offset: number
}

let trail: Trail | null = null

/** Keeps the list that was looked at last: for who comes back to it, and for what is beside an event; null forgets it. */
export function keepTrail(next: Trail | null): void {
  trail = next
}

/** The list at a place as it was left, if it was the last one. */
export function trailAt(place: string): Trail | null {
  return trail?.place === place ? trail : null
}

/** Where the last list is. */
export function trailPlace(): string {
  return trail?.place ?? '/events'
}

/** What is beside an event in the last list, if it is in that list; null: nothing is. */
export function besides(id: string): {
  readonly isKnown: boolean
  readonly newer: string | null
  readonly older: string | null
} {
  const rows = trail?.list.rows ?? []
  const index = rows.findIndex((row) => row.id === id)
  if (index < 0) return { isKnown: false, newer: null, older: null }
  return { isKnown: true, newer: rows[index - 1]?.id ?? null, older: rows[index + 1]?.id ?? null }
}

export function eventHref(id: string): string {
  return `#/events/${encodeURIComponent(id)}`
}
