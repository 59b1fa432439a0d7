import type { Database } from 'better-sqlite3'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  insertInto,
  quote,
  type Column,
  type ColumnKind,
  type Row,
  type SqlStore,
  type SqlStoreOptions,
  type Table,
  type Value,
} from './sql-table.ts'

const types: Readonly<Record<ColumnKind, string>> = {
  text: 'TEXT',
  number: 'REAL',
  boolean: 'INTEGER',
  json: 'TEXT',
  time: 'TEXT',
  bytes: 'BLOB',
}

/** Interval for trying again while another process writes. */
const pollMs = 20

/**
 * Tables in the SQLite file at path `url`. SQLite has no exact decimals, so a number has two columns: `<name>` for
 * arithmetic and `<name>_exact` as the sender wrote it. Missing tables and columns are created on opening.
 */
export async function openSqliteStore({ url, tables, statementTimeoutMs }: SqlStoreOptions): Promise<SqlStore> {
  const { default: Sqlite } = await import('better-sqlite3')
  await mkdir(dirname(url), { recursive: true })
  // No blocking wait for locks: it would stop other handlers of this thread.
  const db = new Sqlite(url, { timeout: 0 })
  const inserts = new Map<Table, (row: Row) => void>()

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

  function put(row: Row): void {
    let insert = inserts.get(row.table)
    if (insert === undefined) inserts.set(row.table, (insert = prepareInsert(db, row.table)))
    insert(row)
  }

  try {
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    await transact(() => tables.forEach((table) => createMissing(db, table)))
  } catch (error) {
    db.close()
    throw error
  }
  return {
    put: (rows, signal) => transact(() => rows.forEach(put), signal),
    close: () => void db.close(),
  }
}

/** Creates a table, or its missing columns. */
function createMissing(db: Database, table: Table): void {
  const existing = new Set(
    db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table.name),
  )
  if (existing.size === 0) {
    const defined = table.columns.flatMap((column) => definitionsOf(column, table))
    const stored = `stored_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`
    db.exec(
      `CREATE TABLE ${quote(table.name)} (seq INTEGER PRIMARY KEY AUTOINCREMENT, ${defined.join(', ')}, ${stored})`,
    )
    return
  }
  for (const column of table.columns) {
    for (const name of namesOf(column)) {
      if (existing.has(name)) continue
      const type = name === column.name ? types[column.kind] : 'TEXT'
      db.exec(`ALTER TABLE ${quote(table.name)} ADD COLUMN ${quote(name)} ${type}`)
    }
  }
}

function definitionsOf(column: Column, { id, required }: Table): string[] {
  const rule = `${required.includes(column.name) ? ' NOT NULL' : ''}${column.name === id ? ' UNIQUE' : ''}`
  const [name = '', ...exact] = namesOf(column)
  return [`${quote(name)} ${types[column.kind]}${rule}`, ...exact.map((other) => `${quote(other)} TEXT`)]
}

function namesOf({ name, kind }: Column): string[] {
  return kind === 'number' ? [name, `${name}_exact`] : [name]
}

function prepareInsert(db: Database, table: Table): (row: Row) => void {
  const names = table.columns.flatMap(namesOf)
  const statement = db.prepare<unknown[]>(insertInto(table, names, `(${names.map(() => '?').join(', ')})`))
  return ({ values }) => void statement.run(...table.columns.flatMap(({ kind }, at) => bound(values[at] ?? null, kind)))
}

/** Values to bind for one value: two for a number, else one. */
function bound(value: Value, kind: ColumnKind): unknown[] {
  if (kind === 'number') return [value === null ? null : Number(value), value]
  if (kind === 'time' && typeof value === 'string') return [sortable(value)]
  return [typeof value === 'boolean' ? Number(value) : value]
}

/** An RFC 3339 time in UTC with nine fraction digits, so that text order is time order. */
function sortable(time: string): string {
  const [, seconds = time, fraction = ''] = /^([^.Zz+]{19})(?:\.(\d+))?/.exec(time) ?? []
  return `${seconds.toUpperCase()}.${fraction.padEnd(9, '0')}Z`
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}
