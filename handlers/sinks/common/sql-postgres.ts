import type { Pool, PoolClient } from 'pg'
import {
  insertInto,
  lastOfEach,
  quote,
  toBareRow,
  type ColumnKind,
  type Row,
  type SqlStore,
  type SqlStoreOptions,
  type Table,
} from './sql-table.ts'

const types: Readonly<Record<ColumnKind, string>> = {
  text: 'text',
  number: 'numeric',
  boolean: 'boolean',
  json: 'jsonb',
  time: 'timestamptz',
  bytes: 'bytea',
}

const connectMs = 10_000
/** Added to the server's statement timeout for the client's own. */
const answerMs = 5_000
/** PostgreSQL accepts at most 65,535 parameters. */
const rowsAtOnce = 500

/** Tables in a PostgreSQL database. Missing tables and columns are created on opening. */
export async function openPostgresStore(options: SqlStoreOptions): Promise<SqlStore> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections,
    application_name: 'onchain-inbox',
    connectionTimeoutMillis: connectMs,
    query_timeout: options.statementTimeoutMs + answerMs,
    allowExitOnIdle: true,
  })
  // Without listeners the loss of an idle connection would end the thread.
  pool.on('connect', (client) => client.on('error', () => {})).on('error', () => {})
  const begin = `BEGIN; SET LOCAL statement_timeout = ${options.statementTimeoutMs}`

  async function inTransaction(work: (client: PoolClient) => Promise<void>, signal?: AbortSignal): Promise<void> {
    const client = await pool.connect()
    // Closing the connection ends its statement.
    const leave = () => void client.end().catch(() => {})
    signal?.addEventListener('abort', leave, { once: true })
    try {
      signal?.throwIfAborted()
      await client.query(begin)
      await work(client)
      await client.query('COMMIT')
    } catch (error) {
      // The server rolls back when the connection closes.
      client.release(true)
      throw error
    } finally {
      signal?.removeEventListener('abort', leave)
    }
    client.release()
  }

  try {
    await createMissing(pool, options.tables, inTransaction)
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    async put(rows, signal) {
      try {
        await inTransaction((client) => putTogether(client, lastOfEach(rows)), signal)
      } catch (error) {
        if (!isOfData(error)) throw error
        await inTransaction((client) => putEach(client, rows), signal)
      }
    },
    close: () => pool.end(),
  }
}

/** Runs no DDL if nothing is missing, so that a role without CREATE suffices then. */
async function createMissing(
  pool: Pool,
  tables: readonly Table[],
  inTransaction: (work: (client: PoolClient) => Promise<void>) => Promise<void>,
): Promise<void> {
  if ((await missing(pool, tables)).length === 0) return
  await inTransaction(async (client) => {
    // One replica at a time.
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('onchain-inbox sql sink'))`)
    await client.query((await missing(client, tables)).join(';\n'))
  })
}

/** Statements that create missing tables and columns. */
async function missing(client: Pick<Pool | PoolClient, 'query'>, tables: readonly Table[]): Promise<string[]> {
  const { rows } = await client.query<{ table_name: string; column_name: string }>(
    `SELECT table_name, column_name FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = ANY($1)`,
    [tables.map(({ name }) => name)],
  )
  return tables.flatMap((table) => {
    const existing = new Set(rows.flatMap((row) => (row.table_name === table.name ? [row.column_name] : [])))
    if (existing.size === 0) return [createTable(table)]
    const added = table.columns.filter(({ name }) => !existing.has(name))
    return added.map(
      ({ name, kind }) => `ALTER TABLE ${quote(table.name)} ADD COLUMN IF NOT EXISTS ${quote(name)} ${types[kind]}`,
    )
  })
}

function createTable({ name, id, columns, required }: Table): string {
  const defined = columns.map((column) => {
    const rule = column.name === id ? ' PRIMARY KEY' : required.includes(column.name) ? ' NOT NULL' : ''
    return `${quote(column.name)} ${types[column.kind]}${rule}`
  })
  const own = ['seq bigint GENERATED ALWAYS AS IDENTITY', 'stored_at timestamptz NOT NULL DEFAULT now()']
  return `CREATE TABLE IF NOT EXISTS ${quote(name)} (${[...defined, ...own].join(', ')})`
}

async function putTogether(client: PoolClient, rows: readonly Row[]): Promise<void> {
  for (const [table, ofTable] of Map.groupBy(rows, (row) => row.table)) {
    for (let from = 0; from < ofTable.length; from += rowsAtOnce) {
      await insert(client, table, ofTable.slice(from, from + rowsAtOnce))
    }
  }
}

/** Inserts rows one by one. If a value is out of range, only the bytes of that event are stored. */
async function putEach(client: PoolClient, rows: readonly Row[]): Promise<void> {
  for (const row of rows) {
    await client.query('SAVEPOINT before_row')
    try {
      await insert(client, row.table, [row])
    } catch (error) {
      if (!isOfData(error)) throw error
      await client.query('ROLLBACK TO SAVEPOINT before_row')
      await insert(client, row.table, [toBareRow(row)])
    }
  }
}

async function insert(client: PoolClient, table: Table, rows: readonly Row[]): Promise<void> {
  const { length } = table.columns
  const places = rows.map((_, row) => `(${table.columns.map((_column, at) => `$${row * length + at + 1}`).join(', ')})`)
  const names = table.columns.map(({ name }) => name)
  await client.query(
    insertInto(table, names, places.join(', ')),
    rows.flatMap(({ values }) => values),
  )
}

/** Classes 22 (data exception) and 54 (limit exceeded): a retry would fail, too. */
function isOfData(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(?:22|54)\w{3}$/.test(String(error.code))
}
