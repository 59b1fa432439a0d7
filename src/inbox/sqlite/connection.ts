import Sqlite, { type Database } from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError } from '../../base/errors.ts'
import { fsyncPath } from '../../base/files.ts'
import type { OnUpgrade } from '../types.ts'
import { claimLinked } from './lock.ts'
import { migrate, refuseNewer } from './migrate.ts'
import { migrations, type Migration } from './migrations.ts'

const pageCacheKib = 8 * 1024
/** Large enough for data that is scanned often, such as the index of dead letters. */
const readerCacheKib = 32 * 1024
/** 32 MiB at 4 KiB per page. A checkpoint delays the commit that triggers it, so fewer than one commit in a hundred does. */
const pagesPerCheckpoint = 8_000
const walLimitBytes = 64 * 1024 * 1024

export interface WriterConnectionOptions {
  /** The migrations to apply. Default: all. */
  readonly known?: readonly Migration[]
  readonly onUpgrade?: OnUpgrade | undefined
}

/**
 * Opens the only writing connection, upgrades the schema, and checks the conditions of a 2xx response: WAL mode, and `synchronous` read
 * back as FULL. It always reads FULL before the first table exists. A checkpoint at the start makes writes of an earlier process durable
 * that were not fsync'd, before a duplicate of them is acknowledged.
 */
export async function openWriterConnection(file: string, options: WriterConnectionOptions = {}): Promise<Database> {
  const { known = migrations, onUpgrade } = options
  if (existsSync(file)) refuseNewerReadOnly(file, known)
  const checkClaim = claimLinked(file)
  const db = new Sqlite(file, { timeout: 0 })
  try {
    refuseNewer(db, file, known)
    // Takes effect in new files only. Pruned space can be returned to the disk in small steps.
    db.pragma('auto_vacuum = INCREMENTAL')
    db.pragma('journal_mode = WAL')
    checkClaim(db)
    db.pragma('synchronous = FULL')
    db.pragma(`journal_size_limit = ${walLimitBytes}`)
    db.pragma(`wal_autocheckpoint = ${pagesPerCheckpoint}`)
    db.pragma('trusted_schema = OFF')
    db.pragma('cell_size_check = ON')
    db.pragma(`cache_size = -${pageCacheKib}`)
    await migrate(db, file, known, onUpgrade)
    if (file !== ':memory:') {
      checkDurability(db)
      // Another reader can block the checkpoint. The -wal itself must be durable, so that nothing is lost then.
      if (existsSync(`${file}-wal`)) fsyncPath(`${file}-wal`)
      db.pragma('wal_checkpoint(TRUNCATE)')
      fsyncPath(dirname(file))
    }
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens a read-only connection to a file that the writer has opened. */
export function openReaderConnection(file: string): Database {
  const db = new Sqlite(file, { readonly: true, timeout: 1_000 })
  db.pragma('trusted_schema = OFF')
  db.pragma('cell_size_check = ON')
  db.pragma(`cache_size = -${readerCacheKib}`)
  return db
}

/** Stores values in the table `meta`; null removes one. */
export function writeMeta(db: Database, values: Readonly<Record<string, number | null>>): void {
  const put = db.prepare('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM meta WHERE name = ?')
  db.transaction(() => {
    for (const [name, value] of Object.entries(values)) {
      if (value === null) remove.run(name)
      else put.run(name, value)
    }
  })()
}

/** `PRAGMA synchronous` of the connection: 2 is FULL, 1 is NORMAL. */
export function readSynchronous(db: Database): number {
  return Number(db.pragma('synchronous', { simple: true }))
}

/**
 * Throws `database_newer` through a read-only connection, because closing a writing one can change the file. Ignores all other errors: the
 * writing connection reports or repairs them. Only it can roll back the journal of a process killed while creating the file.
 */
function refuseNewerReadOnly(file: string, known: readonly Migration[]): void {
  let db: Database | undefined
  try {
    db = new Sqlite(file, { readonly: true, timeout: 0 })
    refuseNewer(db, file, known)
  } catch (error) {
    if (error instanceof InboxError) throw error
  } finally {
    db?.close()
  }
}

function checkDurability(db: Database): void {
  const mode = db.pragma('journal_mode', { simple: true })
  const level = readSynchronous(db)
  if (mode === 'wal' && level === 2) return
  throw new InboxError(
    'not_durable',
    `the database must run with journal_mode=wal and synchronous=2 (got ${String(mode)} and ${level}), or a power cut could lose ` +
      `acknowledged events. Use a local disk that supports WAL, not a network file system.`,
  )
}
