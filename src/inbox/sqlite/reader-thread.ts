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
    deadLetter: answer(views.deadLetter),
    gaps: answer(() => views.gaps()),
    subscription: answer(() => views.subscription()),
    audit: answer(views.audit),
    replays: answer(views.replays),
    replay: answer(views.replay),
    replayStarted: answer(views.replayStarted),
    unknownIds: answer(views.unknownIds),
    countReplay: answer(views.countReplay),
    quarantine: answer(views.quarantine),
    quarantined: answer(views.quarantined),
    stats: answer(() => views.stats()),
    tables: answer(() =>
      db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`).pluck().all(),
    ),
    /** The first problem that `PRAGMA quick_check` finds in a table and its indexes, or `ok`. */
    quickCheck: answer((table: string) => String(db.pragma(`quick_check("${table}")`, { simple: true }))),
    close: async (): Promise<Packed> => {
      db.close()
      return { value: undefined, transfer: [] }
    },
  })
}
