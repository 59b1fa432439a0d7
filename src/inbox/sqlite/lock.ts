import Sqlite, { type Database } from 'better-sqlite3'
import { randomInt } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'
import { makeFolder } from '../../base/files.ts'
import { classifyFailure, toOpenError } from './failure.ts'

export interface DatabaseLock {
  /** Real path of the database file, with symbolic links resolved. */
  readonly file: string
  release(): void
}

/**
 * Locks a database file for one process. The lock is a write lock on an empty SQLite file next to it, so the operating system releases it
 * when the process dies. Throws `database_in_use`, or an error for a folder that can't be written.
 */
export function lockDatabase(path: string): DatabaseLock {
  const file = realFile(path)
  const holderFile = `${file}.pid`
  const lockFile = `${file}.lock`
  let lock: Database | undefined
  try {
    lock = new Sqlite(lockFile, { timeout: 0 })
    lock.exec('BEGIN IMMEDIATE')
  } catch (error) {
    lock?.close()
    if (isNoLockFile(lockFile, error)) {
      const reason = `${lockFile} is not a lock file of onchain-inbox: ${messageOf(error)}`
      const advice = `Stop every process that uses ${file}, then delete the lock file: it contains no data`
      throw new InboxError('config_invalid', `${reason}. ${advice}`, { cause: error })
    }
    if (classifyFailure(error) !== 'busy') throw toOpenError(file, error)
    throw new InboxError(
      'database_in_use',
      `${file} is in use by ${describeHolder(holderFile)}. Only one process can serve a SQLite file: stop the other process, ` +
        `or set another INBOX_DATABASE_URL.`,
    )
  }
  try {
    writeFileSync(holderFile, `${process.pid}\n`)
  } catch {
    // Only the error message of a second process uses this file, so a full disk must not prevent the start.
  }
  return {
    file,
    release() {
      lock.close()
    },
  }
}

/**
 * Excludes a second process that opens the file by another hard link, where it finds another lock file and another -wal. All processes in
 * WAL mode share SQLite's own lock on the file. So a file with several names is locked exclusively for a moment, which fails while another
 * process has it open, and gets a random number. Call the returned check with the new connection, once it shares the lock: it throws if
 * another process has changed the number in between.
 */
export function claimLinked(file: string): (db: Database) => void {
  const { nlink, size } = statSync(file, { throwIfNoEntry: false }) ?? { nlink: 0, size: 0 }
  if (nlink < 2 || size === 0) return () => {}
  const inUse = new InboxError(
    'database_in_use',
    `${file} has ${nlink} names (hard links), and another process has it open. Only one process can serve a SQLite file: stop the other ` +
      `process, or set another INBOX_DATABASE_URL.`,
  )
  const claim = randomInt(1, 2 ** 31)
  const exclusive = new Sqlite(file, { timeout: 0 })
  try {
    exclusive.pragma('locking_mode = EXCLUSIVE')
    exclusive.pragma(`user_version = ${claim}`)
  } catch (error) {
    throw classifyFailure(error) === 'busy' ? inUse : error
  } finally {
    exclusive.close()
  }
  return (db) => {
    if (db.pragma('user_version', { simple: true }) !== claim) throw inUse
  }
}

/** The real path of a file. Creates its folder if needed. */
function realFile(file: string): string {
  try {
    makeFolder(dirname(file))
    return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file))
  } catch (error) {
    throw toOpenError(file, error)
  }
}

/** True if the lock file is not an SQLite database, or is a folder. */
function isNoLockFile(lockFile: string, error: unknown): boolean {
  return classifyFailure(error) === 'fatal' || statSync(lockFile, { throwIfNoEntry: false })?.isDirectory() === true
}

function describeHolder(holderFile: string): string {
  try {
    const pid = readFileSync(holderFile, 'utf8').trim()
    return /^\d+$/.test(pid) ? `process ${pid}` : 'another process'
  } catch {
    return 'another process'
  }
}
