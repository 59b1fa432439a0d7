import { eventSchemas, eventTypes, type EventType } from 'onchain-inbox/schema'

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
