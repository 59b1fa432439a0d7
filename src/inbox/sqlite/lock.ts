import Sqlite, { type Database } from 'better-sqlite3'
import { randomInt } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'
import { makeFolder } from '../../base/files.ts'
import { classifyFailure, toOpenError } from './failure.ts'

export interface DatabaseLock {
  /** The database file by its one name: without symbolic links, through which it has others. */
  readonly file: string
  release(): void
}

/**
 * Makes sure that one process at a time works on a database file. The lock is a write lock on an empty SQLite file beside
 * it, so the operating system ends it with the process, however that dies. Throws `database_in_use`, or what keeps the
 * folder from being written.
 */
export function lockDatabase(given: string): DatabaseLock {
  const file = realFile(given)
  const holderFile = `${file}.pid`
  const lockFile = `${file}.lock`
  let lock: Database | undefined
  try {
    lock = new Sqlite(lockFile, { timeout: 0 })
    lock.exec('BEGIN IMMEDIATE')
  } catch (error) {
    lock?.close()
    if (isForeign(lockFile, error)) {
      const reason = `${lockFile} is not a lock file of onchain-inbox: ${messageOf(error)}`
      const advice = `Stop every process that uses ${file}, then delete it: a lock file holds no data`
      throw new InboxError('config_invalid', `${reason}. ${advice}`, { cause: error })
    }
    if (classifyFailure(error) !== 'busy') throw toOpenError(file, error)
    throw new InboxError(
      'database_in_use',
      `${file} is in use by ${describeHolder(holderFile)}. One process serves a SQLite file at a time: stop that one, ` +
        `or give this one another INBOX_DATABASE_URL.`,
    )
  }
  try {
    writeFileSync(holderFile, `${process.pid}\n`)
  } catch {
    // Only the message of the next one needs it: a full disk here must not keep this one from starting.
  }
  return {
    file,
    release() {
      lock.close()
    },
  }
}

/**
 * Keeps out a second process that opens the file by another hard link: there it finds another lock file and another -wal. SQLite's lock
 * on the file itself has no name, and every process in WAL mode shares it. A file with several names is locked exclusively for a moment,
 * which fails while another process has it open, and a random number is written into it. The check that is returned is for the new
 * connection, once that shares the lock: if it reads another number, another process claimed the file in between.
 */
export function claimLinked(file: string): (db: Database) => void {
  const { nlink, size } = statSync(file, { throwIfNoEntry: false }) ?? { nlink: 0, size: 0 }
  if (nlink < 2 || size === 0) return () => {}
  const inUse = new InboxError(
    'database_in_use',
    `${file} has ${nlink} names (hard links), and another process has it open under one of them. One process serves a SQLite ` +
      `file at a time: stop that one, or give this one another INBOX_DATABASE_URL.`,
  )
  const claim = randomInt(1, 2 ** 31)
  const alone = new Sqlite(file, { timeout: 0 })
  try {
    alone.pragma('locking_mode = EXCLUSIVE')
    alone.pragma(`user_version = ${claim}`)
  } catch (error) {
    throw classifyFailure(error) === 'busy' ? inUse : error
  } finally {
    alone.close()
  }
  return (db) => {
    if (db.pragma('user_version', { simple: true }) !== claim) throw inUse
  }
}

/** Makes the folder, too, where it is not there. */
function realFile(file: string): string {
  try {
    makeFolder(dirname(file))
    return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file))
  } catch (error) {
    throw toOpenError(file, error)
  }
}

/** True if the lock file holds something else than an SQLite database, or is a folder. */
function isForeign(lockFile: string, error: unknown): boolean {
  return classifyFailure(error) === 'fatal' || statSync(lockFile, { throwIfNoEntry: false })?.isDirectory() === true
}

function describeHolder(holderFile: string): string {
  try {
    const pid = readFileSync(holderFile, 'utf8').trim()
    return /^\d+$/.test(pid) ? `the process ${pid}` : 'another process'
  } catch {
    return 'another process'
  }
}
