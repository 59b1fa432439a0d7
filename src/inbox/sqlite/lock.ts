import Sqlite from 'better-sqlite3'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InboxError } from '../../errors.ts'
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
  const lock = openLockFile(file)
  try {
    lock.exec('BEGIN IMMEDIATE')
  } catch (error) {
    lock.close()
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
      if (lock.open) lock.close()
    },
  }
}

/** Makes the folder, too, where it is not there. */
function realFile(file: string): string {
  try {
    mkdirSync(dirname(file), { recursive: true })
    return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file))
  } catch (error) {
    throw toOpenError(file, error)
  }
}

function openLockFile(file: string): Sqlite.Database {
  try {
    return new Sqlite(`${file}.lock`, { timeout: 0 })
  } catch (error) {
    throw toOpenError(file, error)
  }
}

function describeHolder(holderFile: string): string {
  try {
    const pid = readFileSync(holderFile, 'utf8').trim()
    return /^\d+$/.test(pid) ? `the process ${pid}` : 'another process'
  } catch {
    return 'another process'
  }
}
