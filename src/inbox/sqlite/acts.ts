import type { AuditRecord, SubscriptionPort, ViewPort } from '../port.ts'
import type { PruneStep, Pruning } from './pruning.ts'
import type { SqliteStore } from './store.ts'
import type { Writer } from './writer.ts'

/** What an operator does, each with a note in the audit. */
export type Acts = Pick<
  ViewPort,
  | 'setPaused'
  | 'setConcurrency'
  | 'requeueDead'
  | 'dropDead'
  | 'dropOpenRuns'
  | 'retryQuarantined'
  | 'dropQuarantined'
  | 'prune'
  | 'acknowledgeGaps'
> &
  Pick<SubscriptionPort, 'beginSubscription' | 'endSubscription'>

/** Large acts are done in small transactions, so that they do not hold up acknowledgements. */
const batchSize = 500

export function createActs(writer: Writer): Acts {
  /** One transaction, with a note if it changed anything. */
  function act<T>(
    action: AuditRecord['action'],
    detail: AuditRecord['detail'],
    work: (store: SqliteStore) => T,
  ): Promise<T> {
    return writer.run((store) => {
      const result = work(store)
      if (result !== false && result !== null && result !== 0) store.note(action, detail)
      return result
    })
  }

  /** Of those given by their ids: in order of the ids, so that of one key the older run comes first. */
  async function eachDead(
    which: 'all' | readonly number[],
    action: 'dead.requeue' | 'dead.drop',
    detail: AuditRecord['detail'],
    work: (store: SqliteStore, runId: number) => boolean,
  ): Promise<number> {
    if (which !== 'all') {
      const runIds = which.toSorted((a, b) => a - b)
      const done = (store: SqliteStore) => runIds.filter((runId) => work(store, runId)).length
      return act(action, { ...detail, runs: runIds }, done)
    }
    // Those that die again meanwhile keep their run id, which lies behind.
    let total = 0
    for (let after: number | null = 0; after !== null;) {
      const from: number = after
      const batch = await writer.run((store) => {
        const runIds = store.deadAfter(from, batchSize)
        return { done: runIds.filter((runId) => work(store, runId)).length, last: runIds.at(-1) ?? null }
      })
      total += batch.done
      after = batch.last
    }
    if (total > 0) await writer.run((store) => store.note(action, { ...detail, runs: 'all', count: total }))
    return total
  }

  async function pruneAll(step: (pruning: Pruning, after: number) => PruneStep): Promise<number> {
    let total = 0
    for (let after: number | null = 0; after !== null;) {
      const from: number = after
      const done: PruneStep = await writer.run(({ pruning }) => step(pruning, from), true)
      total += done.pruned
      after = done.after
    }
    return total
  }

  return {
    setPaused: (handler, paused) =>
      act(paused ? 'handler.pause' : 'handler.resume', { handler }, (store) => store.setPaused(handler, paused)),
    setConcurrency: (handler, concurrency) =>
      act('handler.set', { handler, concurrency }, (store) => store.setConcurrency(handler, concurrency)),
    requeueDead: (which) => eachDead(which, 'dead.requeue', {}, (store, runId) => store.requeueOne(runId)),
    dropDead: (which, reason) =>
      eachDead(which, 'dead.drop', { reason }, (store, runId) => store.dropDead(runId, reason)),
    async dropOpenRuns(handler, reason) {
      let total = 0
      for (;;) {
        const dropped = await writer.run((store) => store.dropOpen(handler, batchSize, reason))
        if (dropped === null) return null
        total += dropped
        if (dropped < batchSize) break
      }
      if (total > 0) await writer.run((store) => store.note('handler.drop', { handler, reason, count: total }))
      return total
    },
    async prune(limits, noted) {
      const events = await pruneAll((pruning, after) => pruning.pruneEvents(limits, after))
      const quarantined = await pruneAll((pruning, after) => pruning.pruneQuarantined(limits, after))
      const isTooLarge = await writer.run(({ pruning }) => pruning.isLargerThan(limits.maxBytes), true)
      while (await writer.run(({ pruning }) => pruning.vacuum(), true));
      if (noted !== undefined) await writer.run((store) => store.note('prune', { ...limits, events, quarantined }))
      return { events, quarantined, isTooLarge }
    },
    retryQuarantined: (id, event) =>
      act('quarantine.retry', { id, event: event.id }, (store) => store.retryQuarantined(id, event)),
    acknowledgeGaps: () =>
      writer.run((store) => {
        const seenTo = store.gaps.acknowledge()
        if (seenTo.missingSeqs > 0 || seenTo.gaps > 0) store.note('gaps.acknowledge', { ...seenTo })
        return seenTo
      }),
    beginSubscription: (next, replaces) => writer.run(({ subscriptions }) => subscriptions.begin(next, replaces)),
    endSubscription: (id, result) =>
      writer.run((store) => {
        if (store.subscriptions.end(id, result)) {
          store.note('subscription.register', { subscription: id, state: result.state })
        }
      }),
    dropQuarantined: (id, reason) => act('quarantine.drop', { id, reason }, (store) => store.dropQuarantined(id)),
  }
}
