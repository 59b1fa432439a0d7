import Sqlite from 'better-sqlite3'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'

/**
 * Consequence of a failed transaction.
 *   busy   another connection holds the write lock: nothing was written, try again
 *   full   no disk space: nothing was written; works again once space is freed
 *   failed a read or write failed before the commit point: nothing was committed; may work again
 *   fatal  the commit is in doubt (a failed fsync) or the file is damaged: no 2xx may follow, the process must restart
 *   bug    not a database error
 */
export type Failure = 'busy' | 'full' | 'failed' | 'fatal' | 'bug'

const fatalCodes = new Set([
  'SQLITE_IOERR_FSYNC',
  'SQLITE_IOERR_DIR_FSYNC',
  'SQLITE_IOERR_TRUNCATE',
  'SQLITE_IOERR_CORRUPTFS',
  'SQLITE_IOERR_DATA',
  'SQLITE_NOTADB',
  'SQLITE_READONLY_DBMOVED',
])

export function classifyFailure(thrown: unknown): Failure {
  if (!(thrown instanceof Sqlite.SqliteError)) return 'bug'
  const { code } = thrown
  if (fatalCodes.has(code) || code.startsWith('SQLITE_CORRUPT')) return 'fatal'
  if (code === 'SQLITE_FULL') return 'full'
  if (code.startsWith('SQLITE_BUSY')) return 'busy'
  if (code.startsWith('SQLITE_IOERR') || code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY')) {
    return 'failed'
  }
  return code === 'SQLITE_NOMEM' ? 'failed' : 'bug'
}

/** The error that callers get for a failed transaction. */
export function toStoreError(failure: Exclude<Failure, 'bug'>, cause: unknown): InboxError {
  const code = cause instanceof Sqlite.SqliteError ? cause.code : 'unknown'
  switch (failure) {
    case 'full':
      return new InboxError('store_full', 'the database disk is full; deliveries resume once space is freed', {
        cause,
      })
    case 'fatal':
      return new InboxError(
        'store_unavailable',
        `a database failure leaves the last commit in doubt (${code}); restart the process: it reopens and checks the file`,
        { cause },
      )
    case 'busy':
    case 'failed':
      return new InboxError('store_unavailable', `writing to the database fails (${code})`, { cause })
  }
}

/** The error for a database file that can't be opened. */
export function toOpenError(file: string, cause: unknown): InboxError {
  if (cause instanceof InboxError) return cause
  const failure = classifyFailure(cause)
  const text = cause instanceof Sqlite.SqliteError ? `${messageOf(cause)} (${cause.code})` : messageOf(cause)
  if (failure === 'full') {
    return new InboxError('store_full', `${file} cannot be opened: its disk is full (${text})`, { cause })
  }
  if (failure === 'busy') {
    return new InboxError(
      'store_unavailable',
      `${file} cannot be opened: another program has locked it (${text}). Only one process may write to the file`,
      { cause },
    )
  }
  const mistake = mistakeInPath(file, cause)
  if (mistake !== undefined) {
    const message = `the database ${file} cannot be used: ${mistake}`
    return new InboxError('config_invalid', message, { cause })
  }
  const isDamage = failure === 'fatal' || failure === 'bug'
  if (isDamage && cause instanceof Sqlite.SqliteError && !cause.code.startsWith('SQLITE_IOERR')) {
    return new InboxError(
      'database_corrupt',
      `${file} is damaged, or not an SQLite database: ${text}. Restore a backup. To start with an empty database, move the file and its ` +
        `-wal away, and have the sender replay`,
      { cause },
    )
  }
  return new InboxError(
    'store_unavailable',
    `${file} cannot be opened: ${text}. Its folder must be on a local disk and writable by this user`,
    { cause },
  )
}

/**
 * Codes of an unusable path: missing permission, a file where a folder is needed, or a place such as /proc without folders (ENOENT). EROFS
 * is not among them: a read-only disk may become writable again.
 */
const pathErrors: ReadonlySet<unknown> = new Set(['EACCES', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EPERM'])

/** Describes a mistake that an operator has to fix before a retry can succeed; undefined if there is none. */
function mistakeInPath(file: string, cause: unknown): string | undefined {
  if (existsSync(file) && statSync(file).isDirectory()) return 'it is a folder; give the path of a file in it'
  const error = cause instanceof Sqlite.SqliteError ? accessError(file) : cause
  if (!(error instanceof Error && 'code' in error && pathErrors.has(error.code))) return undefined
  return `${error.message}; make it writable by this user, or choose another path`
}

function accessError(file: string): unknown {
  try {
    accessSync(dirname(file), constants.W_OK | constants.X_OK)
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    return error
  }
}
