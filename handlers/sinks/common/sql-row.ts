import type { SinkItem } from 'onchain-inbox'
import type { Column, Table, Tables } from './sql-table.ts'

/** Numbers are their source text: no digit is lost on the way to the database. */
export type Value = string | boolean | Uint8Array | null

export interface Row {
  readonly table: Table
  /** One for each column of the table, in that order. */
  readonly values: readonly Value[]
}

/** An item as a row. A field that is missing, or of another type than its column, is null: the bytes have it in any case. */
export function toRow(item: SinkItem, tables: Tables): Row {
  if (item.payload !== undefined) return toItemRow(item, tables.items)
  const table = tables.ofType(item.event.type)
  return { table, values: table.columns.map((column) => eventValue(item, column)) }
}

/** The same row with nothing in it that a database could refuse: for events whose values it cannot hold. */
export function toBareRow({ table, values }: Row): Row {
  return {
    table,
    values: table.columns.map(({ name }, at) => (table.certain.includes(name) ? (values[at] ?? null) : null)),
  }
}

/** Of rows with the same id the last one: one statement cannot write a row twice. */
export function lastOfEach(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [`${row.table.name} ${String(idOf(row))}`, row])).values()]
}

function idOf({ table, values }: Row): Value | undefined {
  return values[table.columns.findIndex(({ name }) => name === table.id)]
}

function toItemRow({ idempotencyKey, event, key, payload }: SinkItem, table: Table): Row {
  const values = [toText(idempotencyKey), toText(event.id), toText(key), toJsonText(payload)]
  return { table, values }
}

function eventValue({ event, key }: SinkItem, { name, kind }: Column): Value {
  switch (name) {
    case 'event_id':
      return toText(event.id)
    case 'event_type':
      return toText(event.type)
    case 'created_at':
      return event.created_at
    case 'network':
      return networkOf(event)
    case 'key':
      return toText(key)
    case 'raw':
      return event.raw
    case 'body':
      return new TextDecoder().decode(event.raw)
    default:
      return dataValue(event, name, kind)
  }
}

/** The event of a launch platform names none: it is on Solana (R102). */
function networkOf(event: SinkItem['event']): string | null {
  const network = memberOf(event.data, 'network')
  if (typeof network === 'string') return toText(network)
  return event.type === 'pump.graduation' ? 'solana' : null
}

function dataValue(event: SinkItem['event'], name: string, kind: Column['kind']): Value {
  const value = memberOf(event.data, name)
  if (value === undefined || value === null) return null
  if (kind === 'number') return typeof value === 'number' ? (event.exact(`data.${name}`) ?? null) : null
  if (kind === 'text') return typeof value === 'string' ? toText(value) : null
  if (kind === 'boolean') return typeof value === 'boolean' ? value : null
  return JSON.stringify(value)
}

function memberOf(data: unknown, name: string): unknown {
  return typeof data === 'object' && data !== null && Object.hasOwn(data, name) ? Reflect.get(data, name) : undefined
}

/** There are no bytes beside it that would have what Postgres cannot hold: a NUL, or half a character. */
function toJsonText(payload: unknown): string {
  return JSON.stringify(payload).replaceAll(/\\(?:u(?:0000|d[89a-f]..)|.)/g, (escape) =>
    escape.length > 2 ? '\uFFFD' : escape,
  )
}

/** Text as databases hold it: a NUL, which Postgres cannot, becomes the sign for what cannot be shown. */
function toText<T extends string | null>(text: T): T {
  return (text?.replaceAll('\0', '\uFFFD') ?? null) as T
}
