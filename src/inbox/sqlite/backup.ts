import Sqlite, { type Database } from 'better-sqlite3'
import { chmodSync, constants, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'
import { fsyncPath } from '../../base/files.ts'
import { openReaderConnection } from './connection.ts'
import { lockDatabase } from './lock.ts'
import { migrations, refuseNewer } from './migrate.ts'

/** What a backup was found to hold. */
export interface BackupReport {
  readonly file: string
  /** Events, and the highest accept-sequence number: equal if none is missing. */
  readonly events: number
  readonly lastSeq: number
  readonly openRuns: number
  readonly deadLetters: number
  /** When something was last written before it was made; null if nothing ever was: milliseconds since 1970. */
  readonly seenAt: number | null
}

/** `done` from 0 to 1. */
export type OnProgress = (done: number) => void

const pagesPerStep = 2_000

/**
 * Copies a database, also one that a process is working on, as it is at one moment, and checks the copy. It is durable when this
 * resolves, and only then has its name. Nothing is held up meanwhile, but what is written takes space in the -wal file.
 *
 * @throws InboxError `not_found`, `usage` if there is such a file already, `database_corrupt` if the copy is damaged,
 *   `store_unavailable` if it cannot be written
 */
export async function backupDatabase(file: string, to: string, onProgress?: OnProgress): Promise<BackupReport> {
  if (!existsSync(file)) throw new InboxError('not_found', `there is no database at ${file}`)
  if (existsSync(to)) throw new InboxError('usage', `${to} is there already: give another name, or move it away`)
  const partial = `${to}.partial`
  try {
    await copyDatabase(file, partial, onProgress)
    const report = verifyBackup(partial)
    renameSync(partial, to)
    fsyncPath(dirname(to))
    return { ...report, file: to }
  } catch (error) {
    rmSync(partial, { force: true })
    if (error instanceof InboxError) throw error
    const message = `the backup ${to} could not be made: ${messageOf(error)}`
    throw new InboxError('store_unavailable', message, { cause: error })
  }
}

/**
 * Reads all of a backup, with the log beside it if it has one, and changes nothing. Throws `not_found`, `database_newer`, or
 * `database_corrupt` that says what is wrong with it.
 */
export function verifyBackup(file: string): BackupReport {
  if (!existsSync(file)) throw new InboxError('not_found', `there is no file ${file}`)
  let db: Database | undefined
  try {
    db = new Sqlite(file, { readonly: true })
    refuseNewer(db, file, migrations)
    const problem = String(db.pragma('integrity_check(1)', { simple: true }))
    if (problem !== 'ok') throw damaged(file, problem)
    return reportOf(db, file)
  } catch (error) {
    if (error instanceof InboxError) throw error
    throw damaged(file, messageOf(error))
  } finally {
    db?.close()
  }
}

/**
 * Puts a backup in the place of a database that no process is working on; what was there is kept beside it, under the name that is
 * given back. The backup is checked before; if there is a log beside it, what that holds is restored, too.
 *
 * @throws InboxError as `verifyBackup`, and `database_in_use`
 */
export async function restoreDatabase(
  backup: string,
  given: string,
  now: number,
): Promise<{ report: BackupReport; kept: string | null }> {
  const lock = lockDatabase(given)
  const { file } = lock
  const restoring = `${file}.restoring`
  try {
    const report = verifyBackup(backup)
    rmSync(restoring, { force: true })
    await copyDatabase(backup, restoring)
    noteRestore(restoring, now)
    const kept = existsSync(file) ? `${file}.replaced-${new Date(now).toISOString().replace(/[:.]/g, '-')}` : null
    if (kept !== null) keepAside(file, kept)
    renameSync(restoring, file)
    fsyncPath(dirname(file))
    return { report: { ...report, file }, kept }
  } finally {
    rmSync(restoring, { force: true })
    lock.release()
  }
}

/** What is committed at one moment, be it in the file or in the log beside it. The copy is for its own user only. */
async function copyDatabase(file: string, to: string, onProgress: OnProgress = () => {}): Promise<void> {
  const source = openReaderConnection(file)
  try {
    // From here on the source stays as it is for this connection, so that the copy need not begin anew when it is written to.
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_schema').get()
    await source.backup(to, {
      progress({ totalPages, remainingPages }) {
        if (totalPages > 0) onProgress(1 - remainingPages / totalPages)
        return pagesPerStep
      },
    })
  } finally {
    source.close()
  }
  chmodSync(to, 0o600)
  beOneFile(to)
}

/** So that nobody who looks at the copy has to make a log beside it. SQLite has fsync'd it then. */
function beOneFile(file: string): void {
  const db = new Sqlite(file)
  try {
    db.pragma('journal_mode = DELETE')
  } finally {
    db.close()
  }
}

/** So that the next process knows. What the backup says of the process that it was taken from is none of its business. */
function noteRestore(file: string, now: number): void {
  const db = new Sqlite(file)
  try {
    const write = db.prepare('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)')
    db.transaction(() => {
      write.run('restored_at', now)
      write.run('clean_stop', 1)
      write.run('served_to_end', 1)
    })()
  } finally {
    db.close()
  }
}

/**
 * Gives the old file a second name; the first stays until the new file takes it, so that there is a database at every moment. The
 * log of the old file would be taken for one of the new: its commits go into the file, if that can be, or it goes along.
 */
function keepAside(file: string, kept: string): void {
  foldIn(file)
  try {
    linkSync(file, kept)
  } catch {
    // Not every file system has hard links.
    copyFileSync(file, kept, constants.COPYFILE_EXCL)
    fsyncPath(kept)
  }
  for (const side of ['-wal', '-shm']) {
    if (existsSync(`${file}${side}`)) renameSync(`${file}${side}`, `${kept}${side}`)
  }
  fsyncPath(dirname(file))
}

function foldIn(file: string): void {
  let db: Database | undefined
  try {
    db = new Sqlite(file)
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch {
    // It is damaged: it is kept as it is, log and all.
  } finally {
    db?.close()
  }
}

function reportOf(db: Database, file: string): BackupReport {
  const number = (sql: string) => Number(db.prepare(sql).pluck().get() ?? 0)
  return {
    file,
    events: number('SELECT count(*) FROM event'),
    lastSeq: number('SELECT max(seq) FROM event'),
    openRuns: number('SELECT count(*) FROM run INDEXED BY run_open WHERE state < 5 AND state < 4'),
    deadLetters: number('SELECT count(*) FROM run INDEXED BY run_dead WHERE state >= 4 AND state <= 5'),
    seenAt: number(`SELECT value FROM meta WHERE name = 'seen_at'`) || null,
  }
}

function damaged(file: string, problem: string): InboxError {
  return new InboxError('database_corrupt', `${file} is damaged, or no database of this program: ${problem}`)
}
