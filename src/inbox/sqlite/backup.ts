import Sqlite, { type Database } from 'better-sqlite3'
import { chmodSync, constants, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'
import { fsyncPath } from '../../base/files.ts'
import { isDeadLetter, isOpen, runState } from '../run-sql.ts'
import { openReaderConnection, writeMeta } from './connection.ts'
import { lockDatabase } from './lock.ts'
import { refuseNewer } from './migrate.ts'
import { migrations } from './migrations.ts'

export interface BackupReport {
  readonly file: string
  /** Number of events and highest accept-sequence number; equal if none is missing. */
  readonly events: number
  readonly lastSeq: number
  readonly openRuns: number
  readonly deadLetters: number
  /** Time of the last write before the backup: milliseconds since 1970. Null if nothing was ever written. */
  readonly seenAt: number | null
}

/** `done` from 0 to 1. */
export type OnProgress = (done: number) => void

const pagesPerStep = 2_000

/**
 * Copies a consistent snapshot of a database, even while a process serves it, and verifies the copy. The copy gets its final name once it
 * is durable. The copy blocks nobody, but writes during it accumulate in the -wal file.
 *
 * @throws InboxError `not_found`, `usage` if the target file exists, `database_corrupt` if the copy is damaged,
 *   `store_unavailable` if it cannot be written
 */
export async function backupDatabase(file: string, to: string, onProgress?: OnProgress): Promise<BackupReport> {
  if (!existsSync(file)) throw new InboxError('not_found', `there is no database at ${file}`)
  if (existsSync(to)) throw new InboxError('usage', `${to} already exists: choose another name, or move it away`)
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
    const message = `creating the backup ${to} failed: ${messageOf(error)}`
    throw new InboxError('store_unavailable', message, { cause: error })
  }
}

/** Verifies a whole backup, including its -wal file if any, without changing it. Throws `not_found`, `database_newer` or `database_corrupt`. */
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
 * Verifies a backup, then puts it in the place of a database that no process serves. Commits in the backup's -wal file are restored too.
 * The old database stays next to it; `kept` is its new name, or null if there was none.
 *
 * @throws InboxError like `verifyBackup`, and `database_in_use`
 */
export async function restoreDatabase(
  backup: string,
  target: string,
  now: number,
): Promise<{ report: BackupReport; kept: string | null }> {
  const lock = lockDatabase(target)
  const { file } = lock
  const restoring = `${file}.restoring`
  try {
    const report = verifyBackup(backup)
    rmSync(restoring, { force: true })
    await copyDatabase(backup, restoring)
    // For the next start. Replaces the marks of the process that served the backed-up file.
    withDatabase(restoring, (db) => writeMeta(db, { restored_at: now, clean_stop: 1, served_to_end: 1 }))
    const kept = existsSync(file) ? `${file}.replaced-${new Date(now).toISOString().replace(/[:.]/g, '-')}` : null
    if (kept !== null) keepReplaced(file, kept)
    renameSync(restoring, file)
    fsyncPath(dirname(file))
    return { report: { ...report, file }, kept }
  } finally {
    rmSync(restoring, { force: true })
    lock.release()
  }
}

/** Copies a snapshot, including commits in the -wal file. Only the file's owner can read the copy. */
async function copyDatabase(file: string, to: string, onProgress: OnProgress = () => {}): Promise<void> {
  const live = openReaderConnection(file)
  try {
    // This read transaction fixes the snapshot. Without it, every write to the file would restart the copy.
    live.exec('BEGIN')
    live.prepare('SELECT count(*) FROM sqlite_schema').get()
    await live.backup(to, {
      progress({ totalPages, remainingPages }) {
        if (totalPages > 0) onProgress(1 - remainingPages / totalPages)
        return pagesPerStep
      },
    })
  } finally {
    live.close()
  }
  chmodSync(to, 0o600)
  leaveWalMode(to)
}

/** Makes the copy a single file: readers need no -wal next to it. SQLite also fsyncs the file. */
function leaveWalMode(file: string): void {
  withDatabase(file, (db) => db.pragma('journal_mode = DELETE'))
}

function withDatabase(file: string, work: (db: Database) => unknown): void {
  const db = new Sqlite(file)
  try {
    work(db)
  } finally {
    db.close()
  }
}

/**
 * Links the old file to a second name. The first name stays until the new file replaces it, so a database exists at every moment. The old
 * -wal must not stay, because SQLite would apply it to the new file: it is checkpointed, or else renamed as well.
 */
function keepReplaced(file: string, kept: string): void {
  checkpoint(file)
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

function checkpoint(file: string): void {
  try {
    withDatabase(file, (db) => db.pragma('wal_checkpoint(TRUNCATE)'))
  } catch {
    // The file is damaged: keep it and its -wal unchanged.
  }
}

function reportOf(db: Database, file: string): BackupReport {
  const number = (sql: string) => Number(db.prepare(sql).pluck().get() ?? 0)
  return {
    file,
    events: number('SELECT count(*) FROM event'),
    lastSeq: number('SELECT max(seq) FROM event'),
    openRuns: number(`SELECT count(*) FROM run INDEXED BY run_open WHERE ${isOpen()} AND state < ${runState.held}`),
    deadLetters: number(`SELECT count(*) FROM run INDEXED BY run_dead WHERE ${isDeadLetter()}`),
    seenAt: number(`SELECT value FROM meta WHERE name = 'seen_at'`) || null,
  }
}

function damaged(file: string, problem: string): InboxError {
  return new InboxError('database_corrupt', `${file} is damaged, or not an onchain-inbox database: ${problem}`)
}
