import { InboxError } from '../../base/errors.ts'
import { createDatabase, type Rows } from '../postgres/database.ts'
import { openSchema } from '../postgres/migrate.ts'
import { setMeta } from '../postgres/records.ts'
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

/** Reading a large table of the file takes time. */
const idleMs = 5 * 60_000
/** Rows of `meta` about the move, in the target. */
export const moveMarks = { id: 'move_id', movedAt: 'moved_at' } as const

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
        return work(createTargetRows(trx))
      }),
    close: () => db.close(),
  }
}

/** Throws `database_in_use` while replicas serve the database, and `usage` if it contains rows. */
async function refuseUsed(db: Rows, name: string, tables: readonly MovedTable[]): Promise<void> {
  const alive = await valueOf<number>(
    db,
    `SELECT count(*) AS value FROM inbox.replica WHERE beat_at > clock_timestamp() - interval '${silentSeconds} seconds'`,
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
function createTargetRows(trx: Rows) {
  return {
    /** The key of the last row; null: there is none. */
    async highest(table: MovedTable): Promise<Key | null> {
      const order = table.key.map((column) => `"${column}" DESC`).join(', ')
      const [row] = await trx.query<Row>(
        `SELECT ${quoted(table.key)} FROM inbox."${table.name}" ORDER BY ${order} LIMIT 1`,
      )
      return row === undefined ? null : keyOf(table, row)
    },
    count: async (table: MovedTable) =>
      (await valueOf<number>(trx, `SELECT count(*) AS value FROM inbox."${table.name}"`)) ?? 0,
    async insert(table: MovedTable, rows: readonly Row[]): Promise<void> {
      const columns = quoted(Object.keys(table.columns))
      await trx.query(
        `INSERT INTO inbox."${table.name}" (${columns}) OVERRIDING SYSTEM VALUE
         SELECT ${columns} FROM json_populate_recordset(NULL::inbox."${table.name}", $1)`,
        [toStoredJson(rows.map(bytesToHex))],
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
      return trx.query<Row>(
        `SELECT ${columns.join(', ')} FROM inbox."${table.name}" ${condition} ORDER BY ${quoted(table.key)} LIMIT ${limit}`,
        after ?? [],
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
    async counts(): Promise<Counts> {
      const [row] = await trx.query<Counts>(
        `SELECT c.last_seq AS "lastSeq", CASE WHEN r.is_called THEN r.last_value ELSE 0 END AS "lastRunId", c.body_bytes AS "bodyBytes"
         FROM inbox.counter c, inbox.run_id r`,
      )
      return row ?? { lastSeq: 0, lastRunId: 0, bodyBytes: 0 }
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
