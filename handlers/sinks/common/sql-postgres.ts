import type { Pool, PoolClient } from 'pg'
import {
  byTable,
  createTables,
  toBareRow,
  toDefinitions,
  toInsert,
  type Row,
  type SqlDialect,
  type SqlStore,
  type SqlStoreOptions,
  type Table,
} from './sql-table.ts'

const dialect: SqlDialect = {
  types: {
    text: 'text',
    number: 'numeric',
    real: 'double precision',
    boolean: 'boolean',
    json: 'jsonb',
    time: 'timestamptz',
    bytes: 'bytea',
  },
  unique: 'PRIMARY KEY',
  generated: ['seq bigint GENERATED ALWAYS AS IDENTITY', 'stored_at timestamptz NOT NULL DEFAULT now()'],
  parameter: (n) => `$${n}`,
}

const connectMs = 10_000
/** Difference between the query timeout of the client and the statement timeout of the server. */
const responseMs = 5_000
/** PostgreSQL accepts at most 65,535 parameters. */
const rowsPerStatement = 500

/** Tables in a PostgreSQL database. Missing tables and columns are created on opening. */
export async function openPostgresStore(options: SqlStoreOptions): Promise<SqlStore> {
  const { default: pg } = await import('pg')
  const tables = createTables({ prefix: options.tablePrefix, hasDecimals: true })
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections,
    application_name: 'onchain-inbox',
    connectionTimeoutMillis: connectMs,
    query_timeout: options.statementTimeoutMs + responseMs,
    allowExitOnIdle: true,
  })
  // Without listeners the loss of an idle connection would end the thread.
  pool.on('connect', (client) => client.on('error', () => {})).on('error', () => {})

  async function transact(work: (client: PoolClient) => Promise<void>, signal?: AbortSignal): Promise<void> {
    const client = await pool.connect()
    // Closing the connection ends its statement.
    const disconnect = () => void client.end().catch(() => {})
    signal?.addEventListener('abort', disconnect, { once: true })
    try {
      signal?.throwIfAborted()
      await client.query(`BEGIN; SET LOCAL statement_timeout = ${options.statementTimeoutMs}`)
      await work(client)
      await client.query('COMMIT')
    } catch (error) {
      // The server rolls back when the connection closes.
      client.release(true)
      throw error
    } finally {
      signal?.removeEventListener('abort', disconnect)
    }
    client.release()
  }

  try {
    // No DDL if nothing is missing, so that a role without CREATE suffices then.
    if ((await missingIn(pool, tables.all)).length > 0) {
      await transact(async (client) => {
        // One replica at a time.
        await client.query(`SELECT pg_advisory_xact_lock(hashtext('onchain-inbox sql sink'))`)
        await client.query((await missingIn(client, tables.all)).join(';\n'))
      })
    }
  } catch (error) {
    await pool.end()
    throw error
  }

  async function put(rows: readonly Row[], signal: AbortSignal): Promise<void> {
    try {
      await transact((client) => insert(client, rows), signal)
    } catch (error) {
      if (!isDataError(error)) throw error
      const [row, ...others] = rows
      if (row === undefined) return
      // A value is out of range: of its event only the bytes are stored, of the others all values.
      if (others.length === 0) await transact((client) => insert(client, [toBareRow(row)]), signal)
      else for (const single of rows) await put([single], signal)
    }
  }

  return {
    put: (items, signal) =>
      put(
        items.map((item) => tables.toRow(item)),
        signal,
      ),
    close: () => pool.end(),
  }
}

/** Statements that create missing tables and columns. */
async function missingIn(client: Pick<Pool | PoolClient, 'query'>, tables: readonly Table[]): Promise<string[]> {
  const { rows } = await client.query<{ table_name: string; column_name: string }>(
    `SELECT table_name, column_name FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = ANY($1)`,
    [tables.map(({ name }) => name)],
  )
  const existing = Map.groupBy(rows, (row) => row.table_name)
  return tables.flatMap((table) => {
    const columns = (existing.get(table.name) ?? []).map((row) => row.column_name)
    return toDefinitions(table, new Set(columns), dialect)
  })
}

async function insert(client: PoolClient, rows: readonly Row[]): Promise<void> {
  for (const [table, tableRows] of byTable(rows)) {
    for (let from = 0; from < tableRows.length; from += rowsPerStatement) {
      const part = tableRows.slice(from, from + rowsPerStatement)
      const values = part.flatMap((row) => row.values)
      await client.query(toInsert(table, part.length, dialect), values)
    }
  }
}

/** Classes 22 (data exception) and 54 (limit exceeded): a retry would fail, too. */
function isDataError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(?:22|54)\w{3}$/.test(String(error.code))
}
