import Sqlite, { type Database } from 'better-sqlite3'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { deliveryTables } from './delivery-store.ts'
import { stateTables } from './saved-states-file.ts'
import { InboxError, messageOf } from '../../base/errors.ts'

/** Version of the tables, and of the rules of the world in them. */
const format = 4
/** Marks a database as one of this program: "oiem". */
const applicationId = 0x6f69656d

const tables = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE act (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
  ${stateTables}
  ${deliveryTables}
`

/**
 * Opens the file, or makes it, readable by its owner only and locked against every other process. A commit is on the disk
 * before the call returns. A file of something else is left as it is.
 *
 * @throws InboxError `database_in_use`, `database_newer`, `database_older`, `database_corrupt` or `config_invalid`
 */
export function openDatabase(file: string): Database {
  makeOwnersOnly(file)
  const db = new Sqlite(file, { timeout: 0 })
  try {
    // Before the first look at the file: so the lock is taken with it, and ends with the process, however that dies.
    db.pragma('locking_mode = EXCLUSIVE')
    const isNew = checkFormat(db, file)
    // Before the log: so the file itself tells what it is from its first commit on.
    if (isNew)
      db.exec(
        `BEGIN IMMEDIATE; ${tables} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${format}; COMMIT`,
      )
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    db.pragma('trusted_schema = OFF')
    db.exec('BEGIN IMMEDIATE; COMMIT')
    return db
  } catch (error) {
    db.close()
    throw toOpenError(file, error)
  }
}

/** Whether the file is empty. Throws if it is not of this format. */
function checkFormat(db: Database, file: string): boolean {
  const found = Number(db.pragma('user_version', { simple: true }))
  if (found > format) {
    throw new InboxError(
      'database_newer',
      `${file} was written by a newer version: it has format ${found}, this program knows ${format}. Run the newer ` +
        `version, or give another file`,
    )
  }
  if (found > 0 && found < format) {
    throw new InboxError(
      'database_older',
      `${file} was written by an earlier version, whose world has another form. Delete it, or give another file, to start anew`,
    )
  }
  return found === 0
}

function makeOwnersOnly(file: string): void {
  try {
    if (existsSync(file)) refuseForeign(file)
    else makeEmpty(file)
    chmodSync(file, 0o600)
  } catch (error) {
    if (error instanceof InboxError) throw error
    throw new InboxError('config_invalid', `${file} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

/** Its folder is made as well, but none above that: a path that is mistyped is no wish for a tree of folders. */
function makeEmpty(file: string): void {
  const folder = dirname(file)
  if (!existsSync(folder)) {
    const parent = dirname(folder)
    if (!existsSync(parent)) {
      throw new InboxError('config_invalid', `${file} cannot be made: there is no folder ${parent}; make it first`)
    }
    mkdirSync(folder)
  }
  closeSync(openSync(file, 'a', 0o600))
}

const magic = 'SQLite format 3\0'
const headerBytes = 100
const applicationIdAt = 68

/** Looks at the first bytes alone: to open a database means to change it, where it was left open. */
function refuseForeign(file: string): void {
  const stats = statSync(file)
  if (!stats.isFile()) throw new InboxError('config_invalid', `${file} is no regular file; give another`)
  if (stats.size === 0) return
  const header = Buffer.alloc(headerBytes)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, header, 0, headerBytes, 0)
  } finally {
    closeSync(handle)
  }
  if (header.toString('latin1', 0, magic.length) !== magic) {
    throw new InboxError('database_corrupt', `${file} is no data file of the emulator; give another file`)
  }
  if (header.readUInt32BE(applicationIdAt) !== applicationId) {
    throw new InboxError('config_invalid', `${file} is a database of something else; give another file`)
  }
}

function toOpenError(file: string, cause: unknown): unknown {
  if (!(cause instanceof Sqlite.SqliteError)) return cause
  if (cause.code.startsWith('SQLITE_BUSY')) {
    return new InboxError(
      'database_in_use',
      `${file} is in use by another process. One emulator works on a data file at a time: stop that one, or give another file`,
      { cause },
    )
  }
  const what = cause.code === 'SQLITE_NOTADB' ? 'is no data file of the emulator' : 'cannot be used'
  return new InboxError('database_corrupt', `${file} ${what}: ${cause.message} (${cause.code}); give another file`, {
    cause,
  })
}
