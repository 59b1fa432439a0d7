import { parentPort, workerData } from 'node:worker_threads'
import { openReaderConnection } from './connection.ts'
import { answerCalls, type Packed } from '../rpc.ts'
import { createViews } from './views.ts'

/** The thread that answers the admin side's queries over a read-only connection, so that they never hold up a commit. */
if (parentPort) {
  const db = openReaderConnection((workerData as { file: string }).file)
  const views = createViews(db)
  const answer =
    <A, R>(view: (args: A) => R) =>
    async (args: A): Promise<Packed> => ({ value: view(args), transfer: [] })
  answerCalls(parentPort, {
    events: answer(views.events),
    event: answer(views.event),
    deadLetters: answer(views.deadLetters),
    quarantine: answer(views.quarantine),
    stats: answer(() => views.stats()),
    /** The first problem that `PRAGMA quick_check` finds, or `ok`. */
    quickCheck: answer(() => String(db.pragma('quick_check(1)', { simple: true }))),
    close: async (): Promise<Packed> => {
      db.close()
      return { value: undefined, transfer: [] }
    },
  })
}
