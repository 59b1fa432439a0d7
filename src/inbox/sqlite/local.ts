import type { Clock } from '../../clock.ts'
import type { InboxError } from '../../errors.ts'
import type { HandlerRoute, Inbox } from '../port.ts'
import { checkReplayFilter } from '../replay-filter.ts'
import { patternsOf } from '../routes.ts'
import { countAll } from './count-replay.ts'
import { collectDeadIds } from './dead-views.ts'
import { Jobs } from '../jobs.ts'
import { createLocalIndex } from './index/local-index.ts'
import type { OpenStore } from './open.ts'
import { sumQuarantine } from './quarantine-views.ts'
import { createViews } from './views.ts'
import { createWriteSide, jobsOf } from './write-side.ts'
import { Writer, type WriterHealth } from './writer.ts'

export interface LocalOptions {
  readonly clock: Clock
  readonly onHealth?: (health: WriterHealth) => void
}

/** A SQLite inbox without threads: the same store and writer on the caller's event loop, for simulations and tests. */
export function createLocalSqliteInbox(open: OpenStore, options: LocalOptions): Inbox {
  const failureListeners: ((error: Error) => void)[] = []
  const writer = new Writer({
    store: open.store,
    clock: options.clock,
    onCommit: () => open.committed(),
    onFailure: (error: InboxError) => failureListeners.forEach((listener) => listener(error)),
    ...(options.onHealth && { onHealth: options.onHealth }),
  })
  const index = createLocalIndex(open.db, options.clock)
  const views = createViews(open.db, options.clock, index.handle)
  const jobs = new Jobs(jobsOf(writer, open.store), options.clock)
  const side = createWriteSide(writer, jobs)
  let closed: Promise<void> | undefined
  let routes: readonly HandlerRoute[] | undefined

  async function closeAll(): Promise<void> {
    jobs.stop()
    await writer.run(({ gaps }) => gaps.end()).catch(() => {})
    await writer.close()
    index.close()
    open.close()
  }

  jobs.poke()
  return {
    ...side,
    async register(given) {
      const concurrencies = await side.register(given)
      routes = given
      return concurrencies
    },
    async startReplay(replay, by) {
      checkReplayFilter(replay.filter)
      patternsOf(replay.filter.handler, routes)
      return views.replayStarted(await side.startReplay(replay, by))
    },
    countReplay: async (filter) =>
      countAll({ filter, patterns: patternsOf(filter.handler, routes) }, async (part) => views.countReplay(part)),
    unknownIds: async (ids) => views.unknownIds(ids),
    deadLetter: async (runId) => views.deadLetter(runId),
    deadGroups: async (filter) => views.deadGroups(filter),
    deadRunIds: (filter) => collectDeadIds(filter, async (part) => views.deadRunIds(part)),
    conflicts: async (query) => views.conflicts(query),
    conflict: async (eventId, digest) => views.conflict(eventId, digest),
    quarantineGroups: () => sumQuarantine(async (after) => views.quarantineGroups(after)),
    gaps: async () => views.gaps(),
    subscription: async () => views.subscription(),
    audit: async (query) => views.audit(query),
    replays: async (query) => views.replays(query),
    replay: async (id) => views.replay(id),
    events: async (query) => views.events(query),
    indexStatus: async () => index.status(),
    activity: async (query) => views.activity(query),
    cadences: async () => views.cadences(),
    drift: async () => views.drift(),
    secretUses: async () => views.secretUses(),
    knownWallets: async () => views.knownWallets(),
    async rebuildIndex(by) {
      await side.note('index.rebuild', {}, by)
      index.rebuild()
    },
    event: async (id) => views.event(id),
    deadLetters: async (query) => views.deadLetters(query),
    quarantine: async (query) => views.quarantine(query),
    quarantined: async (id) => views.quarantined(id),
    stats: async () => views.stats(),
    health: () => writer.health,
    onFailure: (listener) => void failureListeners.push(listener),
    close: () => (closed ??= closeAll()),
  }
}
