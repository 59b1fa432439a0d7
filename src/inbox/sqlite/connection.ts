import Sqlite, { type Database } from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError } from '../../base/errors.ts'
import { fsyncPath } from '../../base/files.ts'
import type { OnUpgrade } from '../types.ts'
import { claimLinked } from './lock.ts'
import { migrate, migrations, refuseNewer, type NumberedMigration } from './migrate.ts'

const pageCacheKib = 16 * 1024
/** What is looked through again and again, such as the index of dead letters, is to stay there. */
const readerCacheKib = 32 * 1024
/** A checkpoint holds up the commit that causes it, so it is rarer than one commit in a hundred. At 4 KiB a page, 32 MiB. */
const pagesPerCheckpoint = 8_000
const walLimitBytes = 64 * 1024 * 1024

/** Durability of a commit: the numbers of `PRAGMA synchronous`. Anything but `full` is for showing what it loses. */
export type Synchronous = 'full' | 'normal'

export interface WriterConnectionOptions {
  readonly synchronous?: Synchronous
  /** The schema to bring the file to; default: this program's. */
  readonly known?: readonly NumberedMigration[]
  readonly onUpgrade?: OnUpgrade | undefined
}

/**
 * Opens the one writing connection, upgrades the schema, and checks what a 2xx depends on: WAL mode, `synchronous` read back
 * as FULL once a table exists (on an empty file it always reads FULL), and a start-up checkpoint, so that what an earlier
 * process wrote without an fsync is durable before a duplicate of it is acknowledged.
 */
export async function openWriterConnection(file: string, options: WriterConnectionOptions = {}): Promise<Database> {
  const { synchronous = 'full', known = migrations, onUpgrade } = options
  if (existsSync(file)) refuseUntouched(file, known)
  const checkClaim = claimLinked(file)
  const db = new Sqlite(file, { timeout: 0 })
  try {
    refuseNewer(db, file, known)
    // Of a new file only: so that pruned space can be given back bit by bit.
    db.pragma('auto_vacuum = INCREMENTAL')
    db.pragma('journal_mode = WAL')
    checkClaim(db)
    db.pragma(`synchronous = ${synchronous}`)
    db.pragma(`journal_size_limit = ${walLimitBytes}`)
    db.pragma(`wal_autocheckpoint = ${pagesPerCheckpoint}`)
    db.pragma('trusted_schema = OFF')
    db.pragma('cell_size_check = ON')
    db.pragma(`cache_size = -${pageCacheKib}`)
    await migrate(db, file, known, onUpgrade)
    if (file !== ':memory:') {
      checkDurability(db, synchronous)
      // A foreign reader can keep the checkpoint from doing anything: the log itself must be durable, then nothing is lost.
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

/** A read-only connection to a file that the writer has opened already. */
export function openReaderConnection(file: string): Database {
  const db = new Sqlite(file, { readonly: true, timeout: 1_000 })
  db.pragma('trusted_schema = OFF')
  db.pragma('cell_size_check = ON')
  db.pragma(`cache_size = -${readerCacheKib}`)
  return db
}

/** `PRAGMA synchronous` as the connection has it: 2 is FULL, 1 is NORMAL. */
export function readSynchronous(db: Database): number {
  return Number(db.pragma('synchronous', { simple: true }))
}

/**
 * Closing a writing connection can change the file, so a newer one is recognised through one that cannot. Everything else
 * that is wrong is for the writing connection to mend or to report: a kill in the first moments of a file leaves a journal
 * that only it can roll back.
 */
function refuseUntouched(file: string, known: readonly NumberedMigration[]): void {
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

function checkDurability(db: Database, wanted: Synchronous): void {
  const mode = db.pragma('journal_mode', { simple: true })
  const level = readSynchronous(db)
  if (mode === 'wal' && level === (wanted === 'full' ? 2 : 1)) return
  throw new InboxError(
    'not_durable',
    `the database runs with journal_mode=${String(mode)} and synchronous=${level}, expected wal and 2 (FULL): an ` +
      `acknowledged event could be lost in a power cut. Use a local disk that supports WAL (no network file system).`,
  )
}
