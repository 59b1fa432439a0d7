import Sqlite from 'better-sqlite3'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError } from '../../errors.ts'
import { classifyFailure, toOpenError } from './failure.ts'

/**
 * Makes sure that one process at a time works on a database file. The lock is a write lock on an empty SQLite file beside
 * it, so the operating system ends it with the process, however that dies. Throws `database_in_use`, or what keeps the
 * folder from being written.
 */
export function lockDatabase(file: string): { release(): void } {
  const lockFile = `${file}.lock`
  const holderFile = `${file}.pid`
  const lock = openLockFile(file, lockFile)
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
    release() {
      if (lock.open) lock.close()
    },
  }
}

function openLockFile(file: string, lockFile: string): Sqlite.Database {
  try {
    mkdirSync(dirname(file), { recursive: true })
    return new Sqlite(lockFile, { timeout: 0 })
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
