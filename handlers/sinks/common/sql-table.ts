import type { SinkItem } from 'onchain-inbox'
import { networkOf } from 'onchain-inbox/format'
import { eventSchemas, eventTypes, type EventType } from 'onchain-inbox/schema'
import { memberAt } from './kind.ts'

/** Content of a column: `number` keeps every digit, `real` is a number for arithmetic. */
export type ColumnKind = 'text' | 'number' | 'real' | 'boolean' | 'json' | 'time' | 'bytes'

/** A value to store. Numbers are source text, so that no digit is lost. */
export type Value = string | boolean | Uint8Array | null

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
  /** Null: the item has no such value, or one of another type. The raw bytes keep it. */
  readonly valueOf: (item: SinkItem) => Value
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

/** Values in the order of the table's columns. */
export interface Row {
  readonly table: Table
  readonly values: readonly Value[]
}

/** SQL that differs between databases. */
export interface SqlDialect {
  readonly types: Readonly<Record<ColumnKind, string>>
  /** Constraint of the unique column. */
  readonly unique: string
  /** Definitions of columns that the database fills in. */
  readonly generated: readonly string[]
  /** The nth parameter of a statement, from 1. */
  readonly parameter: (n: number) => string
}

const eventColumns: readonly Column[] = [
  { name: 'event_id', kind: 'text', valueOf: ({ event }) => toText(event.uid) },
  { name: 'event_type', kind: 'text', valueOf: ({ event }) => toText(event.type) },
  { name: 'created_at', kind: 'time', valueOf: ({ event }) => event.created_at },
  { name: 'network', kind: 'text', valueOf: ({ event }) => toText(networkOf(event)) },
  { name: 'key', kind: 'text', valueOf: ({ key }) => toText(key) },
  { name: 'raw', kind: 'bytes', valueOf: ({ event }) => event.raw },
]

const bodyColumn: Column = {
  name: 'body',
  kind: 'json',
  valueOf: ({ event }) => new TextDecoder().decode(event.raw),
}

const itemColumns: readonly Column[] = [
  { name: 'idempotency_key', kind: 'text', valueOf: ({ idempotencyKey }) => toText(idempotencyKey) },
  { name: 'event_id', kind: 'text', valueOf: ({ event }) => toText(event.uid) },
  { name: 'key', kind: 'text', valueOf: ({ key }) => toText(key) },
  { name: 'payload', kind: 'json', valueOf: ({ payload }) => toJsonText(payload) },
]

const kinds: Readonly<Record<string, ColumnKind>> = {
  string: 'text',
  enum: 'text',
  number: 'number',
  boolean: 'boolean',
}

/** Without exact decimals, a number has two columns: `<name>` for arithmetic, and `<name>_exact` as the sender wrote it. */
interface TableOptions {
  readonly prefix: string
  readonly hasDecimals: boolean
}

/** One table per documented event type, `<prefix>other` for other types, `<prefix>items` for enqueued items. */
export function createTables({ prefix, hasDecimals }: TableOptions) {
  const eventTable = (name: string, columns: readonly Column[]): Table => {
    const required = ['event_id', 'event_type', 'raw']
    return { name: prefix + name, id: 'event_id', columns: [...eventColumns, ...columns], required }
  }
  const byType = new Map<string, Table>(
    eventTypes.map((type) => [type, eventTable(type.replaceAll('.', '_'), dataColumns(type, hasDecimals))]),
  )
  const other = eventTable('other', [bodyColumn])
  const id = 'idempotency_key'
  const items: Table = { name: `${prefix}items`, id, columns: itemColumns, required: [id, 'event_id'] }
  return {
    all: [...byType.values(), other, items],
    toRow(item: SinkItem): Row {
      const table = item.payload === undefined ? (byType.get(item.event.type) ?? other) : items
      return { table, values: table.columns.map((column) => column.valueOf(item)) }
    },
  }
}

/** The fields of `data` as columns, except `network`. Fields that are not text, number or boolean are JSON. */
function dataColumns(type: EventType, hasDecimals: boolean): Column[] {
  const fields = Object.entries(eventSchemas[type].shape.data.shape).filter(([name]) => name !== 'network')
  return fields.flatMap(([name, field]) => {
    const kind = kinds[field.type] ?? 'json'
    const valueOf: Column['valueOf'] = ({ event }) => dataValue(event, name, kind)
    if (kind !== 'number' || hasDecimals) return [{ name, kind, valueOf }]
    return [
      { name, kind: 'real' as const, valueOf },
      { name: `${name}_exact`, kind, valueOf },
    ]
  })
}

function dataValue(event: SinkItem['event'], name: string, kind: ColumnKind): Value {
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

/** The row with its required columns only, for values that the database can't store. */
export function toBareRow({ table, values }: Row): Row {
  return {
    table,
    values: table.columns.map(({ name }, at) => (table.required.includes(name) ? (values[at] ?? null) : null)),
  }
}

/** The last row of each id, by table: one statement can't write a row twice. */
export function byTable(rows: readonly Row[]): Map<Table, Row[]> {
  const idOf = ({ table, values }: Row) => values[table.columns.findIndex(({ name }) => name === table.id)]
  const last = new Map(rows.map((row) => [`${row.table.name} ${String(idOf(row))}`, row]))
  return Map.groupBy(last.values(), ({ table }) => table)
}

/** Statements that create a table, or its columns that are missing. `existing`: names of its columns; empty without a table. */
export function toDefinitions(
  { name, id, columns, required }: Table,
  existing: ReadonlySet<string>,
  { types, unique, generated }: SqlDialect,
): string[] {
  const define = (column: Column) => `${quote(column.name)} ${types[column.kind]}`
  if (existing.size > 0) {
    const missing = columns.filter((column) => !existing.has(column.name))
    return missing.map((column) => `ALTER TABLE ${quote(name)} ADD COLUMN ${define(column)}`)
  }
  const constraintOf = (column: string) => (column === id ? unique : required.includes(column) ? 'NOT NULL' : '')
  const defined = columns.map((column) => `${define(column)} ${constraintOf(column.name)}`)
  return [`CREATE TABLE ${quote(name)} (${[...defined, ...generated].join(', ')})`]
}

/** Inserts `count` rows. A repeat updates the row, which fills columns added since. */
export function toInsert(
  { name, id, columns }: Table,
  count: number,
  { parameter }: Pick<SqlDialect, 'parameter'>,
): string {
  const names = columns.map((column) => quote(column.name))
  const updates = names.filter((column) => column !== quote(id)).map((column) => `${column} = excluded.${column}`)
  const rows = Array.from({ length: count }, (_, row) => {
    return `(${names.map((_name, at) => parameter(row * names.length + at + 1)).join(', ')})`
  })
  return `INSERT INTO ${quote(name)} (${names.join(', ')}) VALUES ${rows.join(', ')}
    ON CONFLICT (${quote(id)}) DO UPDATE SET ${updates.join(', ')}`
}

function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`
}

export interface SqlStoreOptions {
  readonly url: string
  readonly tablePrefix: string
  readonly statementTimeoutMs: number
  readonly connections: number
}

export interface SqlStore {
  /** Writes the rows of all items in one transaction, durably. Replaces rows of the same id. */
  put(items: readonly SinkItem[], signal: AbortSignal): Promise<void>
  close(): void | Promise<void>
}
