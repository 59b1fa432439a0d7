import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { answerCalls } from '../rpc.ts'
import { turn } from '../views/tables.ts'
import { openReaderConnection } from './connection.ts'
import { createViews } from './views.ts'

/** The thread that runs queries on a read-only connection, so that they never delay a commit. */
if (parentPort) {
  const { file } = workerData as { file: string }
  const db = openReaderConnection(file)

  /** Returns `ok` or the first problem of `PRAGMA quick_check`. Checks table by table, because a check blocks checkpoints. */
  async function quickCheck(): Promise<string> {
    const tables = db
      .prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
      .pluck()
    for (const table of tables.all()) {
      const result = String(db.pragma(`quick_check("${table}")`, { simple: true }))
      if (result !== 'ok') return result
      await turn()
    }
    return 'ok'
  }

  answerCalls(parentPort, { ...createViews(db, systemClock), quickCheck })
}
