import type { EventQuery, EventSummary } from '../../port.ts'
import { partsOfKey } from '../../replay-filter.ts'
import { fromStored, fromStoredOrNull, toStored } from '../text.ts'
import { codeOf, statusOfCode, statusOfEvent } from './status.ts'

/** An event as the tables have it. `status`: its index in `eventStatuses`. */
export interface EventRow {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly createdAt: string
  readonly receivedAt: number
  readonly key: string | null
  readonly status: number
}

/** Takes a value for a statement; gives its name there: `$1`, `$2` … */
export type Parameter = (value: unknown) => string

export type EventFilter = {
  readonly [F in 'type' | 'network' | 'address' | 'status' | 'from' | 'to']?: EventQuery[F] | undefined
}

/**
 * One statement reads so many rows at the most, each with a look into another index: it is over in a moment, and cheap enough for
 * PostgreSQL not to compile it first, which would take longer.
 */
export const rowsPerStatement = 4_000

/** The columns of an `EventRow` of event `e`. */
export const eventColumns = `e.seq, e.id, e.type, e.created_at AS "createdAt", e.received_at AS "receivedAt", e.key,
  ${statusOfEvent} AS status`

/** Makes a text with values: `parameter` is to be called for each. */
export function compose(make: (parameter: Parameter) => string): { readonly text: string; readonly values: unknown[] } {
  const values: unknown[] = []
  const text = make((value) => `$${values.push(value)}`)
  return { text, values }
}

/** What a filter says of an event `e`, as conditions. */
export function conditionsOf(filter: EventFilter, parameter: Parameter): string[] {
  const { type, network, address, status, from, to } = filter
  const conditions: string[] = []
  if (type !== undefined) conditions.push(`e.type = ${parameter(toStored(type))}`)
  // As `partsOfKey` has it.
  if (network !== undefined || address !== undefined) conditions.push(`strpos(e.key, ':') > 0`)
  if (network !== undefined) conditions.push(`split_part(e.key, ':', 1) = ${parameter(toStored(network))}`)
  if (address !== undefined) {
    conditions.push(`substr(e.key, strpos(e.key, ':') + 1) = ${parameter(toStored(address))}`)
  }
  if (from !== undefined) conditions.push(`e.received_at >= ${parameter(Math.ceil(from))}::bigint`)
  if (to !== undefined) conditions.push(`e.received_at < ${parameter(Math.ceil(to))}::bigint`)
  if (status !== undefined) conditions.push(`${statusOfEvent} = ${parameter(codeOf(status))}::smallint`)
  return conditions
}

export function toSummary(row: EventRow): EventSummary {
  const { seq, id, type, createdAt, receivedAt, key, status } = row
  return {
    seq,
    id: fromStored(id),
    type: fromStored(type),
    createdAt: fromStored(createdAt),
    receivedAt,
    ...partsOfKey(fromStoredOrNull(key)),
    status: statusOfCode(status),
  }
}
