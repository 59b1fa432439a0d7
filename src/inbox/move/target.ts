import { InboxError } from '../../base/errors.ts'
import { createDatabase, type Rows } from '../postgres/database.ts'
import { openSchema } from '../postgres/migrate.ts'
import { setMeta } from '../postgres/records.ts'
import { isRecent } from '../postgres/replicas.ts'
import { toStoredJson } from '../postgres/text.ts'
import { describeDatabase } from '../../base/database-url.ts'
import { moveMarks } from '../sqlite/moved.ts'
import type { Counts, MovedTable, Row, FileColumn, Value } from './moved-file.ts'

/** A replica without a heartbeat for longer has stopped. */
const silentSeconds = 30
/** A table may have millions of rows. */
const statementMs = 30 * 60_000
/** Shared tables whose rows are not copied: migration tables, and `meta`, of which `settle` stores some. */
const notCopied: ReadonlySet<string> = new Set(['kysely_migration', 'kysely_migration_lock', 'meta'])

/** Reading a large table of the file takes time. */
const idleMs = 5 * 60_000

export type Target = Awaited<ReturnType<typeof openTarget>>
export type TargetRows = ReturnType<typeof createTargetRows>

/** Opens a PostgreSQL database. Creates the schema of an empty one. Throws like `openSchema`. */
export async function openTarget(url: string) {
  await openSchema(url, 'refuse')
  const name = describeDatabase(url)
  const db = createDatabase({ url, connections: 1, statementMs, idleMs, applicationName: 'onchain-inbox move' })

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
    /** The id of the move that filled the database; null: none did. */
    async moveId(): Promise<number | null> {
      const text = `SELECT i.value FROM inbox.meta i, inbox.meta m WHERE i.name = $1 AND m.name = $2`
      const [row] = await db.query<{ value: number }>(text, [moveMarks.id, moveMarks.movedAt])
      return row?.value ?? null
    },
    refuseUsed: (tables: readonly MovedTable[]) => refuseUsed(db, name, tables),
    /**
     * Runs `work` in one transaction. Until it ends, replicas can't join. If it throws, the database stays empty. `work` may be called more
     * than once.
     */
    fill: <T>(tables: readonly MovedTable[], work: (rows: TargetRows) => Promise<T>): Promise<T> =>
      db.exclusively(async (trx) => {
        await trx.query('LOCK TABLE inbox.replica IN SHARE ROW EXCLUSIVE MODE')
        await refuseUsed(trx, name, tables)
        return work(createTargetRows(trx, name))
      }),
    close: () => db.close(),
  }
}

/** Throws `database_in_use` while replicas serve the database, and `usage` if it contains rows. */
async function refuseUsed(db: Rows, name: string, tables: readonly MovedTable[]): Promise<void> {
  const alive = await valueOf<number>(
    db,
    `SELECT count(*) AS value FROM inbox.replica WHERE ${isRecent(String(silentSeconds * 1_000))}`,
  )
  if (alive) {
    throw new InboxError(
      'database_in_use',
      `${name} is served by ${alive} replica${alive === 1 ? '' : 's'} (heartbeat within ${silentSeconds} s): stop them before the move`,
    )
  }
  const filled: string[] = []
  for (const table of tables) {
    if (await valueOf<boolean>(db, `SELECT EXISTS (SELECT 1 FROM inbox."${table.name}") AS value`))
      filled.push(table.name)
  }
  if (filled.length > 0)
    throw new InboxError('usage', notEmptyMessage(name, `it contains other rows (${filled.join(', ')})`))
}

async function valueOf<T>(db: Rows, text: string): Promise<T | undefined> {
  const [row] = await db.query<{ value: T }>(text)
  return row?.value
}

/** The rows of the target, within the transaction of a move. */
function createTargetRows(trx: Rows, name: string) {
  return {
    name,
    count: async (table: string) => (await valueOf<number>(trx, `SELECT count(*) AS value FROM inbox."${table}"`)) ?? 0,
    /** Returns the stored rows in the same order, with the values that the file has, but bytes as their SHA-256 in hex. */
    async insert(table: MovedTable, rows: readonly Row[]): Promise<readonly Row[]> {
      const columns = Object.keys(table.columns)
        .map((column) => `"${column}"`)
        .join(', ')
      const stored = Object.entries(table.columns).map(([column, type]) => {
        if (type === 'bytea') return `encode(sha256("${column}"), 'hex') AS "${column}"`
        return type === 'boolean' ? `"${column}"::integer` : `"${column}"`
      })
      return trx.query<Row>(
        `INSERT INTO inbox."${table.name}" (${columns}) OVERRIDING SYSTEM VALUE
         SELECT ${columns} FROM json_populate_recordset(NULL::inbox."${table.name}", $1) RETURNING ${stored.join(', ')}`,
        [toStoredJson(rows.map(bytesToHex))],
      )
    },
    /** Sets all counters and sequences to the highest numbers of the file, and replaces the rows of `meta` that belong to the inbox. */
    async settle(
      tables: readonly MovedTable[],
      { lastSeq, lastRunId, bodyBytes }: Counts,
      meta: readonly { readonly name: string; readonly value: number }[],
    ): Promise<void> {
      await trx.query('UPDATE inbox.counter SET last_seq = $1, body_bytes = $2', [lastSeq, bodyBytes])
      await trx.query(`SELECT setval('inbox.run_id', greatest($1::bigint, 1), $1::bigint > 0)`, [lastRunId])
      for (const { name: table, identity } of tables) {
        if (identity === null) continue
        await trx.query(
          `SELECT setval(pg_get_serial_sequence('inbox.${table}', '${identity}'), greatest(max("${identity}"), 1), max("${identity}") > 0)
           FROM inbox."${table}"`,
        )
      }
      await trx.query(`DELETE FROM inbox.meta WHERE name <> 'oldest_program' AND NOT starts_with(name, 'functions:')`)
      for (const row of meta) await setMeta(trx, row.name, row.value)
      // Without statistics, the planner assumes that the tables are empty.
      await trx.query(`ANALYZE ${tables.map((table) => `inbox."${table.name}"`).join(', ')}`)
    },
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
