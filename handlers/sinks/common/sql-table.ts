import type { SinkItem } from 'onchain-inbox'
import { eventSchemas, eventTypes, type EventType } from 'onchain-inbox/schema'
import { memberAt } from './kind.ts'
import { networkOf } from 'onchain-inbox/format'

/** What a column holds; each database has types of its own for it. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'json' | 'time' | 'bytes'

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
}

export interface Table {
  readonly name: string
  /** What a row is known by: one row for each value. */
  readonly id: string
  /** All columns that are written, that of `id` among them. */
  readonly columns: readonly Column[]
  /** Those of them that every row has, whatever the event holds. */
  readonly certain: readonly string[]
}

const eventColumns: readonly Column[] = [
  { name: 'event_id', kind: 'text' },
  { name: 'event_type', kind: 'text' },
  { name: 'created_at', kind: 'time' },
  { name: 'network', kind: 'text' },
  { name: 'key', kind: 'text' },
  { name: 'raw', kind: 'bytes' },
]

const itemColumns: readonly Column[] = [
  { name: 'idempotency_key', kind: 'text' },
  { name: 'event_id', kind: 'text' },
  { name: 'key', kind: 'text' },
  { name: 'payload', kind: 'json' },
]

export interface Tables {
  readonly all: readonly Table[]
  /** The table of an event type: one of its own if the type is documented. */
  ofType(type: string): Table
  /** What handlers enqueued. */
  readonly items: Table
}

/** One table for each documented event type (R93–R102), `<prefix>other` for all other types, `<prefix>items` for what handlers enqueue. */
export function createTables(prefix: string): Tables {
  const byType = new Map<string, Table>(
    eventTypes.map((type) => [type, eventTable(prefix + type.replaceAll('.', '_'), dataColumns(type))]),
  )
  const other = eventTable(`${prefix}other`, [{ name: 'body', kind: 'json' }])
  const items = {
    name: `${prefix}items`,
    id: 'idempotency_key',
    columns: itemColumns,
    certain: ['idempotency_key', 'event_id'],
  }
  return { all: [...byType.values(), other, items], ofType: (type) => byType.get(type) ?? other, items }
}

function eventTable(name: string, columns: readonly Column[]): Table {
  const certain = ['event_id', 'event_type', 'raw']
  return { name, id: 'event_id', columns: [...eventColumns, ...columns], certain }
}

const kinds: Readonly<Record<string, ColumnKind>> = {
  string: 'text',
  enum: 'text',
  number: 'number',
  boolean: 'boolean',
}

/** The fields of `data` as columns. `network` is there already; a field that is neither text, number nor boolean is kept as JSON. */
function dataColumns(type: EventType): Column[] {
  const fields = Object.entries(eventSchemas[type].shape.data.shape)
  return fields
    .filter(([name]) => name !== 'network')
    .map(([name, field]) => ({ name, kind: kinds[field.type] ?? 'json' }))
}

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
      return toText(networkOf(event))
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

function dataValue(event: SinkItem['event'], name: string, kind: Column['kind']): Value {
  const value = memberAt(event.data, [name])
  if (value === undefined || value === null) return null
  if (kind === 'number') return typeof value === 'number' ? (event.exact(`data.${name}`) ?? null) : null
  if (kind === 'text') return typeof value === 'string' ? toText(value) : null
  if (kind === 'boolean') return typeof value === 'boolean' ? value : null
  return JSON.stringify(value)
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

export interface SqlStoreOptions {
  readonly url: string
  readonly tables: readonly Table[]
  readonly statementTimeoutMs: number
  readonly connections: number
}

export interface SqlStore {
  /** Writes all rows in one transaction; rows of the same id are replaced. Durable once it has resolved. */
  put(rows: readonly Row[], signal: AbortSignal): Promise<void>
  close(): void | Promise<void>
}

/** A repeat writes the same again, and fills columns that were added since. */
export function insertInto({ name, id }: Table, columns: readonly string[], places: string): string {
  const names = columns.map(quote)
  const updates = names.filter((column) => column !== quote(id)).map((column) => `${column} = excluded.${column}`)
  return `INSERT INTO ${quote(name)} (${names.join(', ')}) VALUES ${places}
    ON CONFLICT (${quote(id)}) DO UPDATE SET ${updates.join(', ')}`
}

export function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`
}
