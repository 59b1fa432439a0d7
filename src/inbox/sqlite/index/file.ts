import Sqlite, { type Database } from 'better-sqlite3'
import { existsSync, realpathSync, rmSync } from 'node:fs'
import { messageOf } from '../../../base/errors.ts'
import { classifyFailure } from '../failure.ts'
import { indexTables, indexVersion } from './schema.ts'

/** Beside the database itself, not beside a link to it. The database is there. */
export function indexFileOf(databaseFile: string): string {
  return `${realpathSync(databaseFile)}-index`
}

/** The file goes first: of what would be left of it without its log nobody could tell that something is missing. */
export function throwAwayIndex(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
}

export interface OpenedIndex {
  readonly index: Database
  /** Why what was there was thrown away; null: it was not, or nothing was there. */
  readonly reason: string | null
}

/**
 * Opens the one writing connection to an index, and makes a new one of what is damaged, of another version, or of another database.
 * Throws what keeps it from being written.
 */
export function openIndex(file: string, db: Database): OpenedIndex {
  const isThere = existsSync(file)
  if (!isThere) throwAwayIndex(file)
  let index: Database | undefined
  let reason: string | null = null
  try {
    index = connect(file)
    reason = isThere ? flawOf(index, db) : null
    if (reason === null) return { index: withTables(index), reason }
  } catch (error) {
    const failure = classifyFailure(error)
    if (failure !== 'fatal' && failure !== 'bug') {
      index?.close()
      throw error
    }
    reason = `it is damaged: ${messageOf(error)}`
  }
  index?.close()
  throwAwayIndex(file)
  return { index: withTables(connect(file)), reason }
}

/**
 * NORMAL: the log is fsync'd once per checkpoint, which is rare. OFF would save that, and a power cut could leave a damaged file of
 * which nobody knows that it finds too little; this way it loses its last batches at most, and indexes them again.
 */
function connect(file: string): Database {
  const index = new Sqlite(file, { timeout: 1_000 })
  try {
    index.pragma('auto_vacuum = INCREMENTAL')
    index.pragma('journal_mode = WAL')
    index.pragma('synchronous = NORMAL')
    index.pragma('wal_autocheckpoint = 2000')
    index.pragma('journal_size_limit = 16777216')
    index.pragma('trusted_schema = OFF')
    index.pragma('cache_size = -8192')
    return index
  } catch (error) {
    index.close()
    throw error
  }
}

/** An index in memory, for an inbox without threads. */
export function openMemoryIndex(): Database {
  return withTables(new Sqlite(':memory:'))
}

function withTables(index: Database): Database {
  const hasTables = index.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'meta'`).get() !== undefined
  if (hasTables) return index
  index.transaction(() => {
    for (const table of indexTables) index.exec(table)
    index.prepare(`INSERT INTO meta (name, value) VALUES ('version', ?), ('seq', 0)`).run(indexVersion)
  })()
  return index
}

/** Why an index cannot be used, or null. The whole of its structure is looked at: its thread has the time. */
function flawOf(index: Database, db: Database): string | null {
  const tables = index.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all()
  if (tables.length === 0) return null
  if (!tables.includes('meta')) return 'it is of something else'
  const meta = readMeta(index)
  if (meta.get('version') !== indexVersion) {
    return `it is of version ${String(meta.get('version'))}, and this program makes version ${indexVersion}`
  }
  // The full-text tables themselves hold nothing: what is in them is in tables beside them.
  const stored = tables.filter((name) => !/^word_\d+$/.test(name) && !name.startsWith('sqlite_'))
  for (const name of stored) {
    const result = String(index.pragma(`quick_check("${name}")`, { simple: true }))
    if (result !== 'ok') return `it is damaged: ${result}`
  }
  return isOf(meta, db) ? null : 'it is of another database, or of a later state of this one'
}

export function readMeta(index: Database): ReadonlyMap<string, unknown> {
  const rows = index.prepare<[], { name: string; value: unknown }>('SELECT name, value FROM meta').all()
  return new Map(rows.map(({ name, value }) => [name, value]))
}

/** A database that was restored from a backup has no event where the index ends, or another one. */
function isOf(meta: ReadonlyMap<string, unknown>, db: Database): boolean {
  if (meta.get('seq') === 0) return true
  const idAt = db.prepare<[unknown], string>('SELECT id FROM event WHERE seq = ?').pluck()
  return idAt.get(meta.get('first_seq')) === meta.get('first_id') && idAt.get(meta.get('seq')) === meta.get('last_id')
}
