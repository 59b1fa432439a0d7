import { InboxError } from '../../base/errors.ts'
import { createDatabase } from '../postgres/database.ts'
import { openSchema } from '../postgres/migrate.ts'
import { moveMarks } from '../postgres/moving.ts'
import { fromStored, toStored } from '../postgres/text.ts'
import { describeDatabase } from '../../base/database-url.ts'
import type { Counts, Source } from './source.ts'
import { keyOf, quoted, tables, type Key, type Kind, type MovedTable, type Row, type Value } from './tables.ts'

/** What a database holds of a move. */
export interface TargetMarks {
  /** Null: none; it is empty then. */
  readonly id: number | null
  /** Whether all is there, so that replicas may serve it. */
  readonly isDone: boolean
}

/** A PostgreSQL database that no replica serves meanwhile. */
export interface Target {
  /** For people: without a password. */
  readonly name: string
  /** Throws `usage` where there are rows of something else. */
  marks(): Promise<TargetMarks>
  /** Throws `database_in_use` while replicas serve it. */
  refuseServed(): Promise<void>
  begin(id: number, now: number): Promise<void>
  /** The key of the last row of a table; null: there is none. Rows come in order, so that all before it are there. */
  reached(table: MovedTable): Promise<Key | null>
  count(table: MovedTable): Promise<number>
  insert(table: MovedTable, rows: readonly Row[]): Promise<void>
  /** Rows between two keys, the second among them, as they were before; of bytes the SHA-256, in hexadecimal digits. */
  rows(table: MovedTable, after: Key, to: Key | null, limit: number): Promise<readonly Row[]>
  /** Has all counts go on behind those of the file. */
  settle(counts: Counts, meta: ReturnType<Source['meta']>): Promise<void>
  counts(): Promise<Counts>
  meta(names: readonly string[]): Promise<readonly Row[]>
  finish(now: number): Promise<void>
  close(): Promise<void>
}

/** A replica that was silent for longer serves no more. */
const silentSeconds = 30
/** Of the schema itself, or seen to elsewhere. */
const neverEmpty = ['counter', 'lane', 'meta', 'replica', 'kysely_migration', 'kysely_migration_lock']
/** A table may have millions of rows. */
const statementMs = 30 * 60_000

const sqlTypes: Readonly<Record<Kind, string>> = {
  integer: 'bigint',
  real: 'double precision',
  text: 'text',
  flag: 'boolean',
  bytes: 'bytea',
}

/** Opens a database, and gives an empty one its schema. Throws what `openSchema` throws. */
export async function openTarget(url: string): Promise<Target> {
  await openSchema(url, 'refuse')
  const name = describeDatabase(url)
  const db = createDatabase({ url, connections: 1, statementMs, applicationName: 'onchain-inbox move' })

  async function one<T>(text: string, values: readonly unknown[] = []): Promise<T | undefined> {
    const [row] = await db.query<{ value: T }>(text, values)
    return row?.value
  }

  const metaOf = (mark: string) => one<number>('SELECT value FROM inbox.meta WHERE name = $1', [mark])

  async function refuseServed(): Promise<void> {
    const alive = await one<number>(
      `SELECT count(*) AS value FROM inbox.replica WHERE beat_at > now() - interval '${silentSeconds} seconds'`,
    )
    if (!alive) return
    throw new InboxError(
      'database_in_use',
      `${name} is served by ${alive} replica${alive === 1 ? '' : 's'} that said so within ${silentSeconds} s: stop them before the move`,
    )
  }

  async function refuseFilled(): Promise<void> {
    const present = await db.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'inbox' AND tablename <> ALL ($1) ORDER BY tablename`,
      [neverEmpty],
    )
    const filled: string[] = []
    for (const table of present) {
      if (await one<boolean>(`SELECT EXISTS (SELECT 1 FROM inbox."${table.name}") AS value`)) filled.push(table.name)
    }
    if (filled.length > 0)
      throw new InboxError('usage', notEmpty(name, `it holds rows of its own (${filled.join(', ')})`))
  }

  return {
    name,
    refuseServed,
    async marks() {
      const id = (await metaOf(moveMarks.id)) ?? null
      if (id === null) await refuseFilled()
      return { id, isDone: id !== null && (await metaOf(moveMarks.movingAt)) === undefined }
    },
    begin: (id, now) =>
      db.alone(async (trx) => {
        await trx.query(`DELETE FROM inbox.meta WHERE name <> 'oldest_program' AND NOT starts_with(name, 'functions:')`)
        await trx.query('INSERT INTO inbox.meta (name, value) VALUES ($1, $2), ($3, $4)', [
          moveMarks.id,
          id,
          moveMarks.movingAt,
          now,
        ])
      }),
    async reached(table) {
      // Alone, as `insert`: what a process that was killed left under way is over then, one way or the other.
      const [row] = await db.alone((trx) =>
        trx.query<Row>(`SELECT ${quoted(table.key)} FROM inbox."${table.name}" ORDER BY ${descending(table)} LIMIT 1`),
      )
      return row === undefined ? null : keyOf(table, fromRow(table, row))
    },
    count: async (table) => (await one<number>(`SELECT count(*) AS value FROM inbox."${table.name}"`)) ?? 0,
    async insert(table, rows) {
      const { statement, values } = toInsert(table, rows)
      await db.alone((trx) => trx.query(statement, values))
    },
    async rows(table, after, to, limit) {
      const wanted = Object.entries(table.columns).map(([column, kind]) =>
        kind === 'bytes' ? `encode(sha256("${column}"), 'hex') AS "${column}"` : `"${column}"`,
      )
      const key = quoted(table.key)
      const places = (from: number) =>
        table.key.map((column, at) => `$${from + at}::${sqlTypes[table.columns[column] ?? 'text']}`).join(', ')
      const upTo = to === null ? '' : `AND (${key}) <= (${places(table.key.length + 1)})`
      const found = await db.query<Row>(
        `SELECT ${wanted.join(', ')} FROM inbox."${table.name}" WHERE (${key}) > (${places(1)}) ${upTo} ORDER BY ${key} LIMIT ${limit}`,
        [...after, ...(to ?? [])].map((value) => (typeof value === 'string' ? toStored(value) : value)),
      )
      return found.map((row) => fromRow(table, row))
    },
    settle: ({ lastSeq, lastRunId, bodyBytes }, meta) =>
      db.alone(async (trx) => {
        await trx.query('UPDATE inbox.counter SET last_seq = $1, body_bytes = $2', [lastSeq, bodyBytes])
        await trx.query(`SELECT setval('inbox.run_id', greatest($1::bigint, 1), $1::bigint > 0)`, [lastRunId])
        for (const { name: of, identity } of tables) {
          if (identity === undefined) continue
          await trx.query(
            `SELECT setval(pg_get_serial_sequence('inbox.${of}', '${identity}'), greatest(max("${identity}"), 1), max("${identity}") > 0)
             FROM inbox."${of}"`,
          )
        }
        for (const row of meta) {
          await trx.query(
            'INSERT INTO inbox.meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
            [row['name'], row['value']],
          )
        }
      }),
    async counts() {
      const [row] = await db.query<Counts>(
        `SELECT c.last_seq AS "lastSeq", c.body_bytes AS "bodyBytes", CASE WHEN r.is_called THEN r.last_value ELSE 0 END AS "lastRunId"
         FROM inbox.counter c, inbox.run_id r`,
      )
      return row ?? { lastSeq: 0, bodyBytes: 0, lastRunId: 0 }
    },
    meta: (names) =>
      db.query<Row>('SELECT name, value FROM inbox.meta WHERE name = ANY ($1) ORDER BY name COLLATE "C"', [names]),
    async finish(now) {
      // What the planner knows of tables that were filled all at once is that they are empty.
      await db.query(`ANALYZE ${tables.map((table) => `inbox."${table.name}"`).join(', ')}`)
      await db.alone(async (trx) => {
        await trx.query('DELETE FROM inbox.meta WHERE name = $1', [moveMarks.movingAt])
        await trx.query('INSERT INTO inbox.meta (name, value) VALUES ($1, $2)', [moveMarks.movedAt, now])
      })
    },
    close: () => db.close(),
  }
}

/** What to say of a database that cannot take a file. */
export function notEmpty(name: string, why: string): string {
  return (
    `${name} cannot take the file: ${why}. Expected an empty database, or the one that a move of this file began with; make another, ` +
    'or, if nothing in it is of worth, DROP SCHEMA inbox CASCADE'
  )
}

function descending({ key }: MovedTable): string {
  return key.map((column) => `"${column}" DESC`).join(', ')
}

/** One statement for all rows; bytes go beside the others, one behind the other. */
function toInsert(table: MovedTable, rows: readonly Row[]): { readonly statement: string; readonly values: unknown[] } {
  const columns = Object.entries(table.columns)
  const bytesColumn = columns.find(([, kind]) => kind === 'bytes')?.[0]
  const raws: Uint8Array[] = []
  let off = 0
  const given = rows.map((row) => {
    const plain: Record<string, Value> = {}
    for (const [column, kind] of columns) {
      const value = row[column] ?? null
      if (kind !== 'bytes') plain[column] = typeof value === 'string' ? toStored(value) : value
    }
    if (bytesColumn === undefined) return plain
    const raw = row[bytesColumn] as Uint8Array
    raws.push(raw)
    const place = { off, len: raw.length }
    off += raw.length
    return { ...plain, ...place }
  })
  const fields = columns.flatMap(([column, kind]) => (kind === 'bytes' ? [] : [`"${column}" ${sqlTypes[kind]}`]))
  if (bytesColumn !== undefined) fields.push('off integer', 'len integer')
  const values = columns.map(([column, kind]) =>
    kind === 'bytes' ? 'substring($2::bytea FROM r.off + 1 FOR r.len)' : `r."${column}"`,
  )
  return {
    statement: `INSERT INTO inbox."${table.name}" (${quoted(Object.keys(table.columns))}) OVERRIDING SYSTEM VALUE
      SELECT ${values.join(', ')} FROM json_to_recordset($1::json) AS r(${fields.join(', ')})`,
    values: bytesColumn === undefined ? [JSON.stringify(given)] : [JSON.stringify(given), Buffer.concat(raws)],
  }
}

function fromRow({ columns }: MovedTable, row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      columns[column] === 'text' && typeof value === 'string' ? fromStored(value) : value,
    ]),
  )
}
