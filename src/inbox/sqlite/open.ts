import { closeSync, openSync, readFileSync, statSync, writeSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import type { Database } from 'better-sqlite3'
import { rmSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { makeFolder } from '../../base/files.ts'
import { openWriterConnection, readSynchronous, type WriterConnectionOptions } from './connection.ts'
import { toOpenError } from './failure.ts'
import { lockDatabase } from './lock.ts'
import { refuseMoved } from './moved.ts'
import { createSqliteStore, type SqliteStore } from './store.ts'

/** What was found at start that speaks for or against completeness. */
export interface StartupIntegrityReport {
  /** Accept-sequence numbers that should be there and are not. */
  readonly missingSeqs: number
  /** Highest accept-sequence number found. */
  readonly lastSeq: number
  /** False if the process before this one did not close the file, or the last that took deliveries did not stop in good order. */
  readonly cleanStop: boolean
  /** Whether no check of the whole file has found it well since it was last left unclosed. */
  readonly checkDue: boolean
  /** `PRAGMA synchronous` read back: 2 = FULL. */
  readonly synchronous: number
}

export interface OpenStore {
  readonly store: SqliteStore
  readonly db: Database
  readonly integrity: StartupIntegrityReport
  /** To be called after each commit. An error: the files are no longer where the next start looks, so nothing may be acknowledged. */
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
 * Locks, opens, upgrades and checks a database file, and takes back the runs of the process that died with it. Throws an
 * `InboxError` that says what to do, with nothing left open.
 */
export async function openFileStore(
  file: string,
  options: WriterConnectionOptions & { readonly clock: Clock; readonly onWarning?: (text: string) => void },
): Promise<OpenStore> {
  const lock = lockDatabase(file)
  let db: Database | undefined
  let mark: HighWaterMark | undefined

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
    // Earlier versions kept a search index beside the database.
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${lock.file}-index${suffix}`, { force: true })
    mark = openHighWaterMark(lock.file)
    const { integrity, nextSeq } = examine(db, mark.found)
    const store = createSqliteStore(db, { clock: options.clock, firstSeq: nextSeq })
    // The path as it was given: a symbolic link can be changed to lead elsewhere.
    const check = createFileCheck([file, `${lock.file}-wal`], (names) =>
      options.onWarning?.(describeLinks(file, names)),
    )
    return openedStore({ file, db, mark, store, integrity, check, closeAll })
  } catch (error) {
    closeAll()
    throw toOpenError(file, error)
  }
}

interface Opened extends Pick<OpenStore, 'store' | 'db' | 'integrity'> {
  readonly file: string
  readonly mark: HighWaterMark
  readonly check: () => FileChange | null
  readonly closeAll: () => void
}

function openedStore({ file, store, db, integrity, mark, check, closeAll }: Opened): OpenStore {
  let hasChanged = false

  function loseFile({ path, what }: FileChange): InboxError {
    hasChanged = true
    // With the database in place, its commits can still be saved from the log that this process has open.
    const advice =
      path === file
        ? 'put the file back with its -wal, or restore a backup: a start without them begins an empty database'
        : saveLog(db)
    mark.writeAgain()
    return new InboxError('store_unavailable', `${path} ${what} while this process served it: ${advice}`)
  }

  return {
    store,
    db,
    integrity,
    committed() {
      const change = check()
      if (change !== null) return loseFile(change)
      mark.write(store.lastSeq())
      return null
    },
    close() {
      // Another process may serve the files by now: nothing more is written to them.
      if (hasChanged) return closeAll()
      try {
        writeMeta(db, { clean_stop: 1 })
        db.pragma('wal_checkpoint(TRUNCATE)')
      } catch {
        // A full or failing disk: to the next start it looks like a kill, after which nothing is missing either.
      } finally {
        closeAll()
      }
    },
  }
}

function saveLog(db: Database): string {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
    return 'its commits were written into the database; start the process again'
  } catch (error) {
    return `its commits could not be written into the database (${messageOf(error)})`
  }
}

function describeLinks(file: string, names: number): string {
  return (
    `${file} has ${names} names (hard links). A hard link is no backup: it changes with the file, and lacks the newest commits, ` +
    `which are in the -wal. To open the file by another name can damage it. Remove the other names; make backups with ` +
    `\`onchain-inbox backup\``
  )
}

/**
 * Counts the accept sequence since the last start that was found complete. Also notes, in the file, that it is in use, so
 * that the next start knows whether this process closed it. A number that ever was given is never given again, even if its
 * event is lost.
 */
function examine(
  db: Database,
  markFound: number,
): { readonly integrity: StartupIntegrityReport; readonly nextSeq: number } {
  const meta = new Map(
    db
      .prepare<[], { name: string; value: number }>('SELECT name, value FROM meta')
      .all()
      .map((row) => [row.name, row.value]),
  )
  const verified = meta.get('verified_seq') ?? 0
  const found = db
    .prepare<[number], { count: number; last: number | null }>(
      'SELECT count(*) AS count, max(seq) AS last FROM event WHERE seq > ?',
    )
    .get(verified) ?? { count: 0, last: null }
  const lastSeq =
    found.last ?? db.prepare<[], { seq: number }>('SELECT seq FROM event ORDER BY seq DESC LIMIT 1').get()?.seq ?? 0
  const expected = Math.max(lastSeq, verified, markFound)
  const missingNow = expected - verified - found.count
  const missingSeqs = (meta.get('missing_seqs') ?? 0) + missingNow
  const wasClosed = meta.get('clean_stop') !== 0
  const cleanStop = wasClosed && meta.get('served_to_end') !== 0
  const checkDue = !wasClosed || meta.get('check_due') === 1
  writeMeta(db, { missing_seqs: missingSeqs, verified_seq: expected, clean_stop: 0, check_due: checkDue ? 1 : 0 })
  const integrity = { missingSeqs, lastSeq, cleanStop, checkDue, synchronous: readSynchronous(db) }
  return { integrity, nextSeq: expected + 1 }
}

function writeMeta(db: Database, values: Readonly<Record<string, number>>): void {
  const write = db.prepare<[string, number]>(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  db.transaction(() => {
    for (const [name, value] of Object.entries(values)) write.run(name, value)
  })()
}

/**
 * The highest committed accept-sequence number, kept in a small file beside the database. A damaged WAL can lose its last
 * commits without leaving a gap inside the database; this mark, which no WAL holds, still knows that they were there.
 * It is written after each commit and never fsync'd: after a power cut it may be behind, never ahead.
 */
interface HighWaterMark {
  /** What an earlier process left, 0 if none. */
  readonly found: number
  write(seq: number): void
  /** Writes the mark again if it or its folder was deleted, so that the next start there counts the missing events. */
  writeAgain(): void
  close(): void
}

const width = 20

function openHighWaterMark(databaseFile: string): HighWaterMark {
  const file = `${databaseFile}.seq`
  const fd = openSync(file, 'a+')
  closeSync(fd)
  const text = readFileSync(file, 'utf8').trim()
  const writable = openSync(file, 'r+')
  const found = /^\d{1,15}$/.test(text) ? Number(text) : 0
  let last = found
  return {
    found,
    write(seq) {
      if (seq === last) return
      last = seq
      try {
        writeSync(writable, `${String(seq).padStart(width)}\n`, 0)
      } catch {
        // StartupIntegrityReport only: a full disk here must not fail a commit that succeeded.
      }
    },
    writeAgain() {
      try {
        makeFolder(dirname(file))
        const there = openHighWaterMark(databaseFile)
        if (there.found < last) there.write(last)
        there.close()
      } catch {
        // StartupIntegrityReport only, as above.
      }
    },
    close: () => closeSync(writable),
  }
}

/** A path that no longer leads to the file that was opened there. */
interface FileChange {
  readonly path: string
  /** Such as "was deleted or moved". */
  readonly what: string
}

/**
 * SQLite goes on writing to a file that was deleted, moved or replaced, where the next start won't look. The check that this returns
 * compares the paths with the inodes that they had at first. It only uses `stat`: to close a descriptor of the database would release
 * SQLite's locks on it. `onLinked` is called once, when the first path has several names.
 */
function createFileCheck(
  paths: readonly [string, ...string[]],
  onLinked: (names: number) => void,
): () => FileChange | null {
  const opened = paths.map((path) => ({ path, stats: statSync(path, { bigint: true }) }))
  let isLinked = false

  function changeOf(path: string, stats: BigIntStats): FileChange | null {
    try {
      const now = statSync(path, { bigint: true, throwIfNoEntry: false })
      if (now === undefined) return { path, what: 'was deleted or moved' }
      if (now.ino !== stats.ino || now.dev !== stats.dev) return { path, what: 'was replaced by another file' }
      if (!isLinked && now.nlink > 1n && path === paths[0]) {
        isLinked = true
        onLinked(Number(now.nlink))
      }
      return null
    } catch (error) {
      return { path, what: `can no longer be looked up (${messageOf(error)})` }
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
