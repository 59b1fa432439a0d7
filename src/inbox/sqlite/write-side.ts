import type { Inbox, NewReplay } from '../port.ts'
import type { Jobs, JobSource } from '../jobs.ts'
import { createActs, type Acts } from './acts.ts'
import type { SqliteStore } from './store.ts'
import type { Writer } from './writer.ts'

/** Everything of the port that the writing side answers. */
export interface WriteSide
  extends
    Pick<
      Inbox,
      | 'accept'
      | 'register'
      | 'claim'
      | 'readState'
      | 'settle'
      | 'retire'
      | 'release'
      | 'reap'
      | 'cancelReplay'
      | 'startServing'
    >,
    Acts {
  /** Gives the id of the replay. */
  startReplay(replay: NewReplay, by?: string): Promise<number>
}

/** The writing side over a writer in this thread. `jobs` are told when there may be something for them to do. */
export function createWriteSide(writer: Writer, jobs: Jobs): WriteSide {
  return {
    accept: (batch) => writer.run((store) => store.accept(batch)),
    async register(routes) {
      const concurrencies = await writer.run((store) => store.register(routes))
      jobs.poke()
      return concurrencies
    },
    async startReplay(replay, by) {
      const id = await writer.run((store) => {
        const started = store.replays.start(replay)
        store.note('replay.start', { replay: started, ...replay }, by)
        return started
      })
      jobs.poke()
      return id
    },
    startServing: () => writer.run(({ gaps }) => gaps.start()),
    cancelReplay: (id, by) =>
      writer.run((store) => {
        const isCancelled = store.replays.cancel(id)
        if (isCancelled) store.note('replay.cancel', { replay: id }, by)
        return isCancelled
      }),
    claim: (request) => writer.claim(request),
    readState: async (handler, query) => writer.readState(handler, query),
    settle: (outcomes) => writer.run((store) => store.settle(outcomes), true),
    async retire(owner, running) {
      writer.retire(owner)
      if (running !== undefined) await writer.run((store) => store.releaseOthers(owner, running))
    },
    release: (leases) => writer.run((store) => store.release(leases)),
    reap: (owner) => writer.reap(owner),
    ...createActs(writer),
  }
}

/** Replays and backfills, a step of which waits for what cannot wait. */
export function jobsOf(writer: Writer, store: SqliteStore): JobSource {
  return {
    backfilling: () => store.backfilling(),
    running: () => store.replays.running(),
    backfill: (handlerId, most) => writer.run(({ replays }) => replays.backfill(handlerId, most), true),
    step: (replayId, most) => writer.run(({ replays }) => replays.step(replayId, most), true),
  }
}
