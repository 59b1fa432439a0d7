import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { openReaderConnection } from './connection.ts'
import { answerCalls, operationsOf } from '../rpc.ts'
import { createViews } from './views.ts'

/** What a reader thread answers beside the views. */
export type ReaderUpkeep = ReturnType<typeof createUpkeep>

function createUpkeep(db: ReturnType<typeof openReaderConnection>, close: () => void) {
  return {
    tables: () =>
      db
        .prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
        .pluck()
        .all() as readonly string[],
    /** The first problem that `PRAGMA quick_check` finds in a table and its indexes, or `ok`. */
    quickCheck: (table: string) => String(db.pragma(`quick_check("${table}")`, { simple: true })),
    close,
  }
}

/** The thread that answers the admin side's queries over a read-only connection, so that they never delay a commit. */
if (parentPort) {
  const main = parentPort
  const { file } = workerData as { file: string }
  const db = openReaderConnection(file)
  const upkeep = createUpkeep(db, () => void db.close())
  answerCalls(main, operationsOf({ ...createViews(db, systemClock), ...upkeep }))
}
