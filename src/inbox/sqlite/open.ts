import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { Clock } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { makeFolder } from '../../base/files.ts'
import { openWriterConnection, readSynchronous, writeMeta, type WriterConnectionOptions } from './connection.ts'
import { toOpenError } from './failure.ts'
import { lockDatabase } from './lock.ts'
import { refuseMoved } from './moved.ts'
import { createSqliteStore, type SqliteStore } from './store.ts'

/** Result of the integrity checks at the start. */
export interface StartupIntegrityReport {
  /** Number of accept-sequence numbers without an event. */
  readonly missingSeqs: number
  /** Highest accept-sequence number found. */
  readonly lastSeq: number
  /** False if the previous process did not close the file, or the last one that accepted deliveries did not stop cleanly. */
  readonly cleanStop: boolean
  /** True if the file was left unclosed and no structure check has succeeded since. */
  readonly checkDue: boolean
  /** `PRAGMA synchronous` read back: 2 = FULL. */
  readonly synchronous: number
}

export interface OpenStore {
  readonly store: SqliteStore
  readonly db: Database
  readonly integrity: StartupIntegrityReport
  /** Call after each commit. Returns an error if the files were moved or replaced: then nothing may be acknowledged. */
  committed(): InboxError | null
  close(): void
}

/** Opens a store in memory, for simulations and tests: `:memory:`. */
export async function openMemoryStore(options: { clock: Clock }): Promise<OpenStore> {
  const db = await openWriterConnection(':memory:')
  const store = createSqliteStore(db, { clock: options.clock, firstSeq: 1 })
  const integrity = { missingSeqs: 0, lastSeq: 0, cleanStop: true, checkDue: false, synchronous: readSynchronous(db) }
  return { store, db, integrity, committed: () => null, close: () => void db.close() }
}

/**
 * Locks, opens, upgrades and checks a database file, and reaps the runs of a process that died. Throws an `InboxError` with advice, and
 * closes everything then.
 */
export async function openFileStore(
  file: string,
  options: WriterConnectionOptions & { readonly clock: Clock },
): Promise<OpenStore> {
  const lock = lockDatabase(file)
  let db: Database | undefined
  let mark: ReturnType<typeof openHighWaterMark> | undefined
  let isClosed = false

  function closeAll(): void {
    if (isClosed) return
    isClosed = true
    mark?.close()
    db?.close()
    lock.release()
  }

  try {
    db = await openWriterConnection(lock.file, options)
    refuseMoved(db, lock.file)
    // Earlier versions had a search index next to the database.
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${lock.file}-index${suffix}`, { force: true })
    mark = openHighWaterMark(lock.file)
    const { integrity, nextSeq } = examine(db, mark.atStart)
    const store = createSqliteStore(db, { clock: options.clock, firstSeq: nextSeq })
    // The unresolved path: a symbolic link may be changed later.
    const check = createFileCheck([file, `${lock.file}-wal`])
    return { store, db, integrity, ...watchFiles({ file, db, mark, store, check, closeAll }) }
  } catch (error) {
    closeAll()
    throw toOpenError(file, error)
  }
}

interface Watched extends Pick<OpenStore, 'store' | 'db'> {
  readonly file: string
  readonly mark: ReturnType<typeof openHighWaterMark>
  readonly check: () => FileChange | null
  readonly closeAll: () => void
}

function watchFiles({ file, store, db, mark, check, closeAll }: Watched): Pick<OpenStore, 'committed' | 'close'> {
  let hasChanged = false

  function toLostFileError({ path, change }: FileChange): InboxError {
    hasChanged = true
    // If only the -wal is gone, its commits can be saved: this process still has it open.
    const advice =
      path === file
        ? 'put the file back with its -wal, or restore a backup; otherwise the next start creates an empty database'
        : saveWal(db)
    mark.writeAgain()
    return new InboxError('store_unavailable', `${path} ${change} while this process served it: ${advice}`)
  }

  return {
    committed() {
      const change = check()
      if (change !== null) return toLostFileError(change)
      mark.write(store.lastSeq())
      return null
    },
    close() {
      // Another process may serve the files now, so this one must not write to them.
      if (hasChanged) return closeAll()
      try {
        writeMeta(db, { clean_stop: 1 })
        db.pragma('wal_checkpoint(TRUNCATE)')
      } catch {
        // A full or failing disk. The next start treats this as a kill, which loses nothing.
      } finally {
        closeAll()
      }
    },
  }
}

function saveWal(db: Database): string {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
    return 'its commits were saved in the database; restart the process'
  } catch (error) {
    return `saving its commits in the database failed (${messageOf(error)})`
  }
}

/**
 * Counts missing accept-sequence numbers since the last verified start, and marks the file as in use, so that the next start knows whether
 * this process closed it. A number is never reused, even if its event is lost.
 */
function examine(
  db: Database,
  markedSeq: number,
): { readonly integrity: StartupIntegrityReport; readonly nextSeq: number } {
  const meta = new Map(
    db
      .prepare<[], { name: string; value: number }>('SELECT name, value FROM meta')
      .all()
      .map((row) => [row.name, row.value]),
  )
  const verified = meta.get('verified_seq') ?? 0
  const unverified = db
    .prepare<[number], { count: number; last: number | null }>(
      'SELECT count(*) AS count, max(seq) AS last FROM event WHERE seq > ?',
    )
    .get(verified) ?? { count: 0, last: null }
  const lastSeq =
    unverified.last ??
    db.prepare<[], { seq: number }>('SELECT seq FROM event ORDER BY seq DESC LIMIT 1').get()?.seq ??
    0
  const expected = Math.max(lastSeq, verified, markedSeq)
  const newlyMissing = expected - verified - unverified.count
  const missingSeqs = (meta.get('missing_seqs') ?? 0) + newlyMissing
  const wasClosed = meta.get('clean_stop') !== 0
  const cleanStop = wasClosed && meta.get('served_to_end') !== 0
  const checkDue = !wasClosed || meta.get('check_due') === 1
  writeMeta(db, { missing_seqs: missingSeqs, verified_seq: expected, clean_stop: 0, check_due: checkDue ? 1 : 0 })
  const integrity = { missingSeqs, lastSeq, cleanStop, checkDue, synchronous: readSynchronous(db) }
  return { integrity, nextSeq: expected + 1 }
}

/** Characters of the number in the file. */
const markWidth = 20

/**
 * The highest committed accept-sequence number, in a small file next to the database. A damaged -wal can lose its last commits without
 * leaving a gap in the database; the mark shows that they existed. It is written after each commit and never fsync'd: after a power cut
 * it may be behind, never ahead.
 */
function openHighWaterMark(databaseFile: string) {
  const file = `${databaseFile}.seq`
  const fd = openSync(file, 'a+')
  closeSync(fd)
  const text = readFileSync(file, 'utf8').trim()
  const writable = openSync(file, 'r+')
  const atStart = /^\d{1,15}$/.test(text) ? Number(text) : 0
  let last = atStart
  return {
    /** Number that an earlier process wrote; 0 if none. */
    atStart,
    write(seq: number): void {
      if (seq === last) return
      last = seq
      try {
        writeSync(writable, `${String(seq).padStart(markWidth)}\n`, 0)
      } catch {
        // A full disk here must not fail a commit that has succeeded.
      }
    },
    /** Writes the mark again if it or its folder was deleted, so that the next start counts the missing events. */
    writeAgain(): void {
      try {
        makeFolder(dirname(file))
        const newMark = openHighWaterMark(databaseFile)
        if (newMark.atStart < last) newMark.write(last)
        newMark.close()
      } catch {
        // A missing mark must not hide the error that led here.
      }
    },
    close: () => closeSync(writable),
  }
}

/** A path that no longer refers to the opened file. */
interface FileChange {
  readonly path: string
  /** Text for messages, such as "was deleted or moved". */
  readonly change: string
}

/**
 * SQLite keeps writing to a file that was deleted, moved or replaced, but the next start would not find it. The returned check compares
 * the inodes of the paths with those at the start. It only calls `stat`: closing a descriptor of the database would release SQLite's
 * locks.
 */
function createFileCheck(paths: readonly string[]): () => FileChange | null {
  const opened = paths.map((path) => ({ path, stats: statSync(path, { bigint: true }) }))

  function changeOf(path: string, stats: BigIntStats): FileChange | null {
    try {
      const now = statSync(path, { bigint: true, throwIfNoEntry: false })
      if (now === undefined) return { path, change: 'was deleted or moved' }
      if (now.ino !== stats.ino || now.dev !== stats.dev) return { path, change: 'was replaced by another file' }
      return null
    } catch (error) {
      return { path, change: `can no longer be looked up (${messageOf(error)})` }
    }
  }

  return () => {
    for (const { path, stats } of opened) {
      const change = changeOf(path, stats)
      if (change !== null) return change
    }
    return null
  }
}
