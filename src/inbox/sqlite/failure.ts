import Sqlite from 'better-sqlite3'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'

/**
 * What a failed transaction means.
 *   busy   another connection holds the write lock: nothing was written, try again
 *   full   no space: nothing was written, works again once there is
 *   failed a read or write failed before the commit point: nothing was committed, may work again
 *   fatal  the commit is indeterminate (a failed fsync) or the file is damaged: no 2xx may follow, start anew
 *   bug    not an error of the database
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

/** The error that callers see for a failed transaction. */
export function toStoreError(failure: Exclude<Failure, 'bug'>, cause: unknown): InboxError {
  const code = cause instanceof Sqlite.SqliteError ? cause.code : 'unknown'
  switch (failure) {
    case 'full':
      return new InboxError(
        'store_full',
        'the disk of the database is full; it recovers by itself once there is space',
        {
          cause,
        },
      )
    case 'fatal':
      return new InboxError(
        'store_unavailable',
        `the database failed in a way that leaves the last commit in doubt (${code}); start the process again: it ` +
          `reopens and checks the file`,
        { cause },
      )
    case 'busy':
    case 'failed':
      return new InboxError('store_unavailable', `the database cannot be written at the moment (${code})`, { cause })
  }
}

/** The error for a database file that could not be opened. */
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
      `${file} cannot be opened: another program holds a lock on it (${text}). Let no other program write to the live file`,
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
      `${file} is damaged, or no SQLite database: ${text}. Restore a backup; or, to begin with an empty one, move it away ` +
        `together with its -wal file and have the sender replay`,
      { cause },
    )
  }
  return new InboxError(
    'store_unavailable',
    `${file} cannot be opened: ${text}. Its folder must be on a local disk and writable for this user`,
    { cause },
  )
}

/**
 * No right to write, a file in the place of a folder, a place such as /proc where no folder can be made (ENOENT). A disk that is
 * mounted for reading only may be mounted again for writing.
 */
const mistakes: ReadonlySet<unknown> = new Set(['EACCES', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EPERM'])

/** What a person must mend before trying again can help. */
function mistakeInPath(file: string, cause: unknown): string | undefined {
  if (existsSync(file) && statSync(file).isDirectory()) return 'it is a folder; name a file in it'
  const error = cause instanceof Sqlite.SqliteError ? refusedAccess(file) : cause
  if (!(error instanceof Error && 'code' in error && mistakes.has(error.code))) return undefined
  return `${error.message}; let this user write there, or name another place`
}

function refusedAccess(file: string): unknown {
  try {
    accessSync(dirname(file), constants.W_OK | constants.X_OK)
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    return error
  }
}
