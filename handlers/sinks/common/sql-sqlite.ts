import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  byTable,
  createTables,
  toDefinitions,
  toInsert,
  type ColumnKind,
  type SqlDialect,
  type SqlStore,
  type SqlStoreOptions,
  type Value,
} from './sql-table.ts'

const dialect: SqlDialect = {
  types: { text: 'TEXT', number: 'TEXT', real: 'REAL', boolean: 'INTEGER', json: 'TEXT', time: 'TEXT', bytes: 'BLOB' },
  unique: 'NOT NULL UNIQUE',
  generated: [
    'seq INTEGER PRIMARY KEY AUTOINCREMENT',
    `stored_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
  ],
  parameter: () => '?',
}

/** Interval for trying again while another process writes. */
const pollMs = 20

/** Tables in the SQLite file at path `url`. Missing tables and columns are created on opening. */
export async function openSqliteStore({ url, tablePrefix, statementTimeoutMs }: SqlStoreOptions): Promise<SqlStore> {
  const { default: Sqlite } = await import('better-sqlite3')
  const tables = createTables({ prefix: tablePrefix, hasDecimals: false })
  await mkdir(dirname(url), { recursive: true })
  // No blocking wait for locks: it would stop other handlers of this thread.
  const db = new Sqlite(url, { timeout: 0 })

  /** Runs `work` in a write transaction. Retries up to `statementTimeoutMs` while another process writes to the file. */
  async function transact(work: () => void, signal?: AbortSignal): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      try {
        db.transaction(work).immediate()
        return
      } catch (error) {
        if (!isBusy(error)) throw error
        if (waitedMs >= statementTimeoutMs) {
          throw new Error(`another process locked the database for ${statementTimeoutMs} ms`, { cause: error })
        }
      }
      await delay(pollMs, undefined, { signal })
    }
  }

  function createMissing(): void {
    const columnsOf = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck()
    for (const table of tables.all)
      for (const sql of toDefinitions(table, new Set(columnsOf.all(table.name)), dialect)) db.exec(sql)
  }

  try {
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    await transact(createMissing)
  } catch (error) {
    db.close()
    throw error
  }
  const inserts = new Map(tables.all.map((table) => [table, db.prepare<unknown[]>(toInsert(table, 1, dialect))]))
  return {
    async put(items, signal) {
      const rows = byTable(items.map((item) => tables.toRow(item)))
      await transact(() => {
        for (const { table, values } of [...rows.values()].flat()) {
          const bound = table.columns.map(({ kind }, at) => toParameter(values[at] ?? null, kind))
          inserts.get(table)?.run(...bound)
        }
      }, signal)
    },
    close: () => void db.close(),
  }
}

function toParameter(value: Value, kind: ColumnKind): unknown {
  if (kind === 'real') return value === null ? null : Number(value)
  if (kind === 'time' && typeof value === 'string') return toSortable(value)
  return typeof value === 'boolean' ? Number(value) : value
}

/** An RFC 3339 time in UTC with nine fraction digits, so that text order is time order. */
function toSortable(time: string): string {
  const [, seconds = time, fraction = ''] = /^([^.Zz+]{19})(?:\.(\d+))?/.exec(time) ?? []
  return `${seconds.toUpperCase()}.${fraction.padEnd(9, '0')}Z`
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}
