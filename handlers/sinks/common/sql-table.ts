import type { SinkItem } from 'onchain-inbox'
import { eventSchemas, eventTypes, type EventType } from 'onchain-inbox/schema'
import { memberAt } from './kind.ts'
import { networkOf } from 'onchain-inbox/format'

/** Content of a column. Each adapter maps it to a column type. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'json' | 'time' | 'bytes'

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
}

export interface Table {
  readonly name: string
  /** The unique column. */
  readonly id: string
  /** All written columns, `id` included. */
  readonly columns: readonly Column[]
  /** Columns that are never null. */
  readonly required: readonly string[]
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
  /** Table of an event type. Undocumented types share one. */
  ofType(type: string): Table
  /** Items enqueued by handlers. */
  readonly items: Table
}

/** One table per documented event type (R93–R102), `<prefix>other` for other types, `<prefix>items` for enqueued items. */
export function createTables(prefix: string): Tables {
  const byType = new Map<string, Table>(
    eventTypes.map((type) => [type, eventTable(prefix + type.replaceAll('.', '_'), dataColumns(type))]),
  )
  const other = eventTable(`${prefix}other`, [{ name: 'body', kind: 'json' }])
  const items = {
    name: `${prefix}items`,
    id: 'idempotency_key',
    columns: itemColumns,
    required: ['idempotency_key', 'event_id'],
  }
  return { all: [...byType.values(), other, items], ofType: (type) => byType.get(type) ?? other, items }
}

function eventTable(name: string, columns: readonly Column[]): Table {
  const required = ['event_id', 'event_type', 'raw']
  return { name, id: 'event_id', columns: [...eventColumns, ...columns], required }
}

const kinds: Readonly<Record<string, ColumnKind>> = {
  string: 'text',
  enum: 'text',
  number: 'number',
  boolean: 'boolean',
}

/** The fields of `data` as columns, except `network`. Fields that are not text, number or boolean are JSON. */
function dataColumns(type: EventType): Column[] {
  const fields = Object.entries(eventSchemas[type].shape.data.shape)
  return fields
    .filter(([name]) => name !== 'network')
    .map(([name, field]) => ({ name, kind: kinds[field.type] ?? 'json' }))
}

/** Numbers are source text, so that no digit is lost. */
export type Value = string | boolean | Uint8Array | null

export interface Row {
  readonly table: Table
  /** Values in the order of the table's columns. */
  readonly values: readonly Value[]
}

/** Converts an item to a row. A missing field, or one of another type, is null; the raw bytes keep it. */
export function toRow(item: SinkItem, tables: Tables): Row {
  if (item.payload !== undefined) return toItemRow(item, tables.items)
  const table = tables.ofType(item.event.type)
  return { table, values: table.columns.map((column) => eventValue(item, column)) }
}

/** The row with its required columns only, for values that the database can't store. */
export function toBareRow({ table, values }: Row): Row {
  return {
    table,
    values: table.columns.map(({ name }, at) => (table.required.includes(name) ? (values[at] ?? null) : null)),
  }
}

/** The last row of each id: one statement can't write a row twice. */
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

/** Replaces NUL and lone surrogates, which PostgreSQL can't store. */
function toJsonText(payload: unknown): string {
  return JSON.stringify(payload).replaceAll(/\\(?:u(?:0000|d[89a-f]..)|.)/g, (escape) =>
    escape.length > 2 ? '\uFFFD' : escape,
  )
}

/** Replaces NUL, which PostgreSQL can't store, by U+FFFD. */
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
  /** Writes all rows in one transaction, durably. Replaces rows of the same id. */
  put(rows: readonly Row[], signal: AbortSignal): Promise<void>
  close(): void | Promise<void>
}

/** A repeat updates the row, which fills columns added since. */
export function insertInto({ name, id }: Table, columns: readonly string[], places: string): string {
  const names = columns.map(quote)
  const updates = names.filter((column) => column !== quote(id)).map((column) => `${column} = excluded.${column}`)
  return `INSERT INTO ${quote(name)} (${names.join(', ')}) VALUES ${places}
    ON CONFLICT (${quote(id)}) DO UPDATE SET ${updates.join(', ')}`
}

export function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`
}
