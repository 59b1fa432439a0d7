import type { Clock } from '../../clock.ts'
import type { InboxError } from '../../errors.ts'
import type { Inbox } from '../port.ts'
import type { OpenStore } from './open.ts'
import { createViews } from './views.ts'
import { Writer, type WriterHealth } from './writer.ts'

const requeueBatch = 500

/** Everything of the port that the writing side answers. */
export type WriteSide = Pick<
  Inbox,
  'accept' | 'register' | 'claim' | 'readState' | 'settle' | 'retire' | 'release' | 'reap' | 'setPaused' | 'requeueDead'
>

/** The writing side over a writer in this thread. */
export function createWriteSide(writer: Writer): WriteSide {
  return {
    accept: (batch) => writer.run((store) => store.accept(batch)),
    register: (routes) => writer.run((store) => store.register(routes)),
    claim: (request) => writer.claim(request),
    readState: async (handler, query) => writer.readState(handler, query),
    settle: (outcomes) => writer.run((store) => store.settle(outcomes), true),
    retire: async (owner) => writer.retire(owner),
    release: (leases) => writer.run((store) => store.release(leases)),
    reap: (owner) => writer.reap(owner),
    setPaused: (handler, paused) => writer.run((store) => store.setPaused(handler, paused)),
    async requeueDead(which) {
      if (which !== 'all') {
        // By run id, so that of one key the older run comes first.
        const runIds = which.toSorted((a, b) => a - b)
        return writer.run((store) => runIds.filter((runId) => store.requeueOne(runId)).length)
      }
      // In small transactions, so that requeueing a million dead letters does not hold up acknowledgements. Those that die
      // again meanwhile keep their run id, which lies behind.
      let total = 0
      for (let after = 0; ;) {
        const from = after
        const { requeued, last } = await writer.run((store) => store.requeueDead(from, requeueBatch))
        total += requeued
        if (last === null) return total
        after = last
      }
    },
  }
}

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
  const views = createViews(open.db)
  let closed: Promise<void> | undefined
  return {
    ...createWriteSide(writer),
    events: async (query) => views.events(query),
    event: async (id) => views.event(id),
    deadLetters: async (query) => views.deadLetters(query),
    quarantine: async (query) => views.quarantine(query),
    quarantined: async (id) => views.quarantined(id),
    stats: async () => views.stats(),
    health: () => writer.health,
    onFailure: (listener) => void failureListeners.push(listener),
    close: () => (closed ??= writer.close().then(() => open.close())),
  }
}
