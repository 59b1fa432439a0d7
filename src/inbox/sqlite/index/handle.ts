import Sqlite, { type Database } from 'better-sqlite3'
import { statSync } from 'node:fs'
import { messageOf } from '../../../base/errors.ts'
import { classifyFailure } from '../failure.ts'
import { readMeta } from './file.ts'
import { createIndexReads, IndexFailure, type IndexReads } from './reads.ts'
import { indexVersion } from './schema.ts'

/** An index as views use it: it may be gone, or made anew, at any time. */
export interface IndexHandle {
  /** Reads it as it is at one moment; undefined if there is none that can be read. */
  read<T>(work: (index: IndexReads) => T): T | undefined
  close(): void
}

interface OpenIndex {
  readonly db: Database
  readonly reads: IndexReads
  /** Tells the file from one that took its place. */
  readonly inode: number
}

/**
 * Opens an index for reading when it is needed, and again when another file has taken its place. `onDamage` is told of one that
 * turns out to be damaged.
 */
export function openIndexHandle(file: string, onDamage: (reason: string) => void): IndexHandle {
  let open: OpenIndex | undefined

  function close(): void {
    open?.db.close()
    open = undefined
  }

  function current(): OpenIndex | undefined {
    const inode = statSync(file, { throwIfNoEntry: false })?.ino
    if (open !== undefined && open.inode !== inode) close()
    if (inode !== undefined) open ??= openFor(file, inode)
    return open
  }

  return {
    read(work) {
      try {
        const index = current()
        return index === undefined ? undefined : readAtOnce(index.db, () => work(index.reads))
      } catch (error) {
        if (!(error instanceof IndexFailure)) throw error
        close()
        const failure = classifyFailure(error.cause)
        if (failure === 'fatal') onDamage(messageOf(error))
        return undefined
      }
    },
    close,
  }
}

/** The same for an index on a connection of this thread. `bringUp` is called before each read. */
export function localIndexHandle(index: Database, bringUp: () => void): IndexHandle {
  const reads = createIndexReads(index)
  return {
    read(work) {
      bringUp()
      return work(reads)
    },
    close: () => void index.close(),
  }
}

/** Undefined while it is being made, or is of another version: its thread is about to make it anew. */
function openFor(file: string, inode: number): OpenIndex | undefined {
  let db: Database | undefined
  try {
    db = new Sqlite(file, { readonly: true, timeout: 1_000 })
    db.pragma('trusted_schema = OFF')
    db.pragma('cell_size_check = ON')
    if (readMeta(db).get('version') === indexVersion) return { db, reads: createIndexReads(db), inode }
  } catch (error) {
    db?.close()
    throw new IndexFailure(messageOf(error), { cause: error })
  }
  db.close()
  return undefined
}

function readAtOnce<T>(db: Database, work: () => T): T {
  try {
    db.exec('BEGIN')
  } catch (error) {
    throw new IndexFailure(messageOf(error), { cause: error })
  }
  try {
    return work()
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK')
  }
}
