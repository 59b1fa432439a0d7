import { InboxError } from '../../base/errors.ts'
import { createDatabase } from '../postgres/database.ts'
import { openSchema } from '../postgres/migrate.ts'
import { moveMarks, setMeta } from '../postgres/records.ts'
import { toStoredJson } from '../postgres/text.ts'
import { describeDatabase } from '../../base/database-url.ts'
import {
  keyOf,
  quoted,
  type Counts,
  type Key,
  type MovedTable,
  type Row,
  type FileColumn,
  type Value,
} from './moved-file.ts'

/** A replica without a heartbeat for longer has stopped. */
const silentSeconds = 30
/** A table may have millions of rows. */
const statementMs = 30 * 60_000
/** Shared tables whose rows are not copied: migration tables, and `meta`, of which `settle` stores some. */
const notCopied: ReadonlySet<string> = new Set(['kysely_migration', 'kysely_migration_lock', 'meta'])

export type Target = Awaited<ReturnType<typeof openTarget>>

/** Opens a PostgreSQL database. Creates the schema of an empty one. Throws like `openSchema`. */
export async function openTarget(url: string) {
  await openSchema(url, 'refuse')
  const name = describeDatabase(url)
  const db = createDatabase({ url, connections: 1, statementMs, applicationName: 'onchain-inbox move' })

  async function valueOf<T>(text: string, values: readonly unknown[] = []): Promise<T | undefined> {
    const [row] = await db.query<{ value: T }>(text, values)
    return row?.value
  }

  const metaOf = (mark: string) => valueOf<number>('SELECT value FROM inbox.meta WHERE name = $1', [mark])

  return {
    /** Name for messages, without a password. */
    name,
    /** The tables that the file has too. */
    async tables(columns: readonly FileColumn[]): Promise<readonly MovedTable[]> {
      const catalogue = await db.query<{ table: string; name: string; type: string; isIdentity: boolean }>(
        `SELECT c.relname AS "table", a.attname AS name, format_type(a.atttypid, NULL) AS type, a.attidentity <> '' AS "isIdentity"
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'inbox'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
         ORDER BY c.relname, a.attnum`,
      )
      return [...Map.groupBy(columns, ({ table }) => table)].flatMap(([table, fileColumns]) => {
        const targetColumns = catalogue.filter((column) => column.table === table)
        if (targetColumns.length === 0 || notCopied.has(table)) return []
        const keyed = fileColumns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
        const identity = targetColumns.find(({ isIdentity }) => isIdentity)?.name ?? null
        const isByRowid = keyed.length === 0
        const key = isByRowid ? [identity ?? ''] : keyed.map((column) => column.name)
        const shared = targetColumns.filter(
          (column) => key.includes(column.name) || fileColumns.some(({ name }) => name === column.name),
        )
        const columns = Object.fromEntries(shared.map((column) => [column.name, column.type]))
        return [{ name: table, key, columns, identity, isByRowid }]
      })
    },
    /** The id of the move that filled the database (null: it is empty), and whether that is done. Throws `usage` for rows of something else. */
    async marks(tables: readonly MovedTable[]): Promise<{ readonly id: number | null; readonly isDone: boolean }> {
      const id = (await metaOf(moveMarks.id)) ?? null
      if (id !== null) return { id, isDone: (await metaOf(moveMarks.movingAt)) === undefined }
      const filled: string[] = []
      for (const table of tables) {
        if (await valueOf<boolean>(`SELECT EXISTS (SELECT 1 FROM inbox."${table.name}") AS value`))
          filled.push(table.name)
      }
      if (filled.length === 0) return { id, isDone: false }
      throw new InboxError('usage', notEmptyMessage(name, `it contains other rows (${filled.join(', ')})`))
    },
    /** Throws `database_in_use` while replicas serve the database. */
    async refuseServed(): Promise<void> {
      const alive = await valueOf<number>(
        `SELECT count(*) AS value FROM inbox.replica WHERE beat_at > now() - interval '${silentSeconds} seconds'`,
      )
      if (!alive) return
      throw new InboxError(
        'database_in_use',
        `${name} is served by ${alive} replica${alive === 1 ? '' : 's'} (heartbeat within ${silentSeconds} s): stop them before the move`,
      )
    },
    begin: (id: number, now: number) =>
      db.exclusively(async (trx) => {
        await trx.query(`DELETE FROM inbox.meta WHERE name <> 'oldest_program' AND NOT starts_with(name, 'functions:')`)
        await setMeta(trx, moveMarks.id, id)
        await setMeta(trx, moveMarks.movingAt, now)
      }),
    /** The key of the last row; null: there is none. */
    async highest(table: MovedTable): Promise<Key | null> {
      const order = table.key.map((column) => `"${column}" DESC`).join(', ')
      // In `exclusively`, which waits until the transaction of a killed call has ended.
      const [row] = await db.exclusively((trx) =>
        trx.query<Row>(`SELECT ${quoted(table.key)} FROM inbox."${table.name}" ORDER BY ${order} LIMIT 1`),
      )
      return row === undefined ? null : keyOf(table, row)
    },
    count: async (table: MovedTable) =>
      (await valueOf<number>(`SELECT count(*) AS value FROM inbox."${table.name}"`)) ?? 0,
    async insert(table: MovedTable, rows: readonly Row[]): Promise<void> {
      const columns = quoted(Object.keys(table.columns))
      await db.exclusively((trx) =>
        trx.query(
          `INSERT INTO inbox."${table.name}" (${columns}) OVERRIDING SYSTEM VALUE
           SELECT ${columns} FROM json_populate_recordset(NULL::inbox."${table.name}", $1)`,
          [toStoredJson(rows.map(bytesToHex))],
        ),
      )
    },
    /** The next rows after a key, as in the file, but bytes as their SHA-256 in hex. */
    async rows(table: MovedTable, after: Key | null, limit: number): Promise<readonly Row[]> {
      const columns = Object.entries(table.columns).map(([column, type]) => {
        if (type === 'bytea') return `encode(sha256("${column}"), 'hex') AS "${column}"`
        return type === 'boolean' ? `"${column}"::integer` : `"${column}"`
      })
      const placeholders = table.key.map((column, at) => `$${at + 1}::${table.columns[column]}`).join(', ')
      const condition = after === null ? '' : `WHERE (${quoted(table.key)}) > (${placeholders})`
      return db.query<Row>(
        `SELECT ${columns.join(', ')} FROM inbox."${table.name}" ${condition} ORDER BY ${quoted(table.key)} LIMIT ${limit}`,
        after ?? [],
      )
    },
    /** Sets all counters and sequences to the highest numbers of the file, and stores its rows of `meta`. */
    settle: (
      tables: readonly MovedTable[],
      { lastSeq, lastRunId, bodyBytes }: Counts,
      meta: readonly { readonly name: string; readonly value: number }[],
    ) =>
      db.exclusively(async (trx) => {
        await trx.query('UPDATE inbox.counter SET last_seq = $1, body_bytes = $2', [lastSeq, bodyBytes])
        await trx.query(`SELECT setval('inbox.run_id', greatest($1::bigint, 1), $1::bigint > 0)`, [lastRunId])
        for (const { name: table, identity } of tables) {
          if (identity === null) continue
          await trx.query(
            `SELECT setval(pg_get_serial_sequence('inbox.${table}', '${identity}'), greatest(max("${identity}"), 1), max("${identity}") > 0)
             FROM inbox."${table}"`,
          )
        }
        for (const row of meta) await setMeta(trx, row.name, row.value)
      }),
    async counts(): Promise<Counts> {
      const [row] = await db.query<Counts>(
        `SELECT c.last_seq AS "lastSeq", CASE WHEN r.is_called THEN r.last_value ELSE 0 END AS "lastRunId", c.body_bytes AS "bodyBytes"
         FROM inbox.counter c, inbox.run_id r`,
      )
      return row ?? { lastSeq: 0, lastRunId: 0, bodyBytes: 0 }
    },
    /** Opens the database for replicas. */
    async finish(tables: readonly MovedTable[], now: number): Promise<void> {
      // Without statistics, the planner assumes that the tables are empty.
      await db.query(`ANALYZE ${tables.map((table) => `inbox."${table.name}"`).join(', ')}`)
      await db.exclusively(async (trx) => {
        await trx.query('DELETE FROM inbox.meta WHERE name = $1', [moveMarks.movingAt])
        await setMeta(trx, moveMarks.movedAt, now)
      })
    },
    close: () => db.close(),
  }
}

/** The message for a database that can't be the target of a move. */
export function notEmptyMessage(name: string, reason: string): string {
  return (
    `${name} cannot be the target: ${reason}. Expected an empty database, or the one that an earlier move of this file used. Create another, ` +
    'or, if its data is not needed, run DROP SCHEMA inbox CASCADE'
  )
}

/** The row with its bytes as text that PostgreSQL reads as `bytea`. */
function bytesToHex(row: Row): Row {
  const hexOf = (value: Value) => (value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value)
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, hexOf(value)]))
}
