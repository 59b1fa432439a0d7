import type { Clock } from '../../base/clock.ts'
import { createOperatorActions } from '../operator-actions.ts'
import { Jobs } from '../jobs.ts'
import type { Inbox, ReplayRecord } from '../port.ts'
import { checkReplayFilter, toReplayRecord } from '../replays.ts'
import type { Views } from '../views/views.ts'
import type { OpenStore } from './open.ts'
import type { SqliteStore } from './store.ts'
import { Writer, type WriterOptions } from './writer.ts'

export type WriteSide = ReturnType<typeof createWriteSide>

export interface WriteSideOptions extends Omit<WriterOptions, 'store' | 'onCommit'> {
  readonly clock: Clock
  /** Called once per failing replay or backfill, and again only after it has recovered. */
  readonly onJobError?: (job: string, error: unknown) => void
}

/** The methods of the port that write, in the thread of the store. */
export function createWriteSide(open: OpenStore, { onJobError, ...options }: WriteSideOptions) {
  const writer = new Writer({ ...options, store: open.store, onCommit: () => open.committed() })
  const jobs = new Jobs(
    () =>
      open.store.replays.jobs().map(({ step, ...job }) => ({
        ...job,
        step: (max) => writer.run(() => step(max), true),
      })),
    options.clock,
    onJobError,
  )
  jobs.poke()

  const actions = createOperatorActions<SqliteStore>({
    // The store is synchronous, so its work returns no promise.
    transact: <T>(work: (store: SqliteStore) => T | Promise<T>, canWait?: boolean) =>
      canWait ? writer.upkeep(work as (store: SqliteStore) => T) : writer.run(work as (store: SqliteStore) => T),
    prune: async (limits) => ({
      pruneEvents:
        (from) =>
        ({ pruning }) =>
          pruning.pruneEvents(limits, from),
      pruneQuarantined:
        (from) =>
        ({ pruning }) =>
          pruning.pruneQuarantined(limits, from),
      async end() {
        const isTooLarge = writer.read(({ pruning }) => pruning.isLargerThan(limits.maxBytes))
        while (await writer.upkeep(({ pruning }) => pruning.vacuum()));
        return isTooLarge
      },
    }),
  })

  return {
    ...actions,
    health: () => writer.health,
    accept: (batch) => writer.run((store) => store.accept(batch)),
    async register(routes) {
      const concurrencies = await writer.run((store) => store.register(routes))
      jobs.poke()
      return concurrencies
    },
    claim: (request) => writer.claim(request),
    readState: async (handler, query) => writer.read((store) => store.readState(handler, query)),
    settle: (outcomes) => writer.run((store) => store.settle(outcomes), true),
    async retire(owner, running) {
      writer.retire(owner)
      if (running !== undefined) await writer.run((store) => store.releaseOthers(owner, running))
    },
    release: (leases) => writer.run((store) => store.release(leases)),
    reap: (owner) => writer.reap(owner),
    async startReplay(replay, by): Promise<ReplayRecord> {
      checkReplayFilter(replay.filter)
      const row = await writer.run((store) => {
        const started = store.replays.start(replay)
        store.note('replay.start', { replay: started.id, ...replay }, by)
        return started
      })
      jobs.poke()
      return toReplayRecord({ ...row, newKeys: row.newKeys === 1 }, 0)
    },
    cancelReplay: (id, by) =>
      writer.run((store) => {
        const isCancelled = store.replays.cancel(id)
        if (isCancelled) store.note('replay.cancel', { replay: id }, by)
        return isCancelled
      }),
    startServing: () => writer.run(({ gaps }) => gaps.start()),
    /** Heartbeat in the file. Returns a gap if this process stood still. */
    beat: () => writer.upkeep(({ gaps }) => gaps.beat()),
    revision: async () => writer.revision,
    recordIntegrityOk: () => writer.run((store) => store.recordIntegrityOk(), true),
    async close() {
      jobs.stop()
      await writer.run(({ gaps }) => gaps.end()).catch(() => {})
      await writer.close()
      open.close()
    },
    acknowledgeGaps: (by) =>
      writer.run((store) => {
        const acknowledged = store.gaps.acknowledge()
        const { missingSeqs, gaps } = acknowledged
        if (missingSeqs > 0 || gaps > 0) store.note('gaps.acknowledge', { ...acknowledged }, by)
        return acknowledged
      }),
    sourceKeys: async (source) => writer.read((store) => store.sourceKeys(source)),
    storeSourceKeys: (source, keys) => writer.run((store) => store.storeSourceKeys(source, keys)),
  } satisfies Omit<Inbox, keyof Views | 'onFailure'> & Record<string, unknown>
}
