import type { Database } from 'better-sqlite3'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../../base/clock.ts'
import { answerCalls, type Packed } from '../../rpc.ts'
import { openReaderConnection } from '../connection.ts'
import { openIndex, throwAwayIndex } from './file.ts'
import { keepIndexing } from './keep-indexing.ts'

/** The thread that writes the index: it sees what was committed over a read-only connection, so nothing waits for it. */
export interface IndexerThreadData {
  readonly file: string
  readonly indexFile: string
}

if (parentPort) {
  const main = parentPort
  const { file, indexFile } = workerData as IndexerThreadData
  let db: Database | undefined
  const indexing = keepIndexing({
    clock: systemClock,
    elapsed: () => performance.now(),
    open() {
      db ??= openReaderConnection(file)
      return { db, ...openIndex(indexFile, db) }
    },
    throwAway: () => throwAwayIndex(indexFile),
    onWarning: (text) => main.postMessage({ warning: text }),
  })
  const plain = (value: unknown): Packed => ({ value, transfer: [] })
  answerCalls(main, {
    status: async () => plain(indexing.status()),
    rebuild: async (reason: string | null) => plain(indexing.rebuild(reason)),
    close: async () => {
      indexing.close()
      db?.close()
      return plain(undefined)
    },
  })
}
