import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { openReaderConnection } from './connection.ts'
import { indexFileOf } from './index/file.ts'
import { openIndexHandle } from './index/handle.ts'
import { answerCalls, type Packed } from '../rpc.ts'
import { createViews } from './views.ts'

/** The thread that answers the admin side's queries over a read-only connection, so that they never hold up a commit. */
if (parentPort) {
  const main = parentPort
  const { file } = workerData as { file: string }
  const db = openReaderConnection(file)
  const index = openIndexHandle(indexFileOf(file), (indexDamage) => main.postMessage({ indexDamage }))
  const views = createViews(db, systemClock, index)
  const answer =
    <A, R>(view: (args: A) => R) =>
    async (args: A): Promise<Packed> => ({ value: await view(args), transfer: [] })
  answerCalls(main, {
    events: answer(views.events),
    activity: answer(views.activity),
    cadences: answer(() => views.cadences()),
    drift: answer(() => views.drift()),
    secretUses: answer(() => views.secretUses()),
    knownWallets: answer(() => views.knownWallets()),
    event: answer(views.event),
    deadLetters: answer(views.deadLetters),
    deadLetter: answer(views.deadLetter),
    deadGroups: answer(views.deadGroups),
    deadRunIds: answer(views.deadRunIds),
    conflicts: answer(views.conflicts),
    conflict: answer(([eventId, digest]: [string, string]) => views.conflict(eventId, digest)),
    quarantineGroups: answer(views.quarantineGroups),
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
      index.close()
      db.close()
      return { value: undefined, transfer: [] }
    },
  })
}
