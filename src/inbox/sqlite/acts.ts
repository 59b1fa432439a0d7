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
  | 'note'
> &
  Pick<SubscriptionPort, 'beginSubscription' | 'endSubscription'>

/** Large acts are done in small transactions, so that they do not hold up acknowledgements. */
const batchSize = 500
/** The audit has so many of the run ids of an act at the most, and how many there were. */
const mostNotedRuns = 1_000

export function createActs(writer: Writer): Acts {
  /** One transaction, with a note if it changed anything. */
  function act<T>(
    action: AuditRecord['action'],
    detail: AuditRecord['detail'],
    by: string | undefined,
    work: (store: SqliteStore) => T,
  ): Promise<T> {
    return writer.run((store) => {
      const result = work(store)
      if (result !== false && result !== null && result !== 0) store.note(action, detail, by)
      return result
    })
  }

  /** Of those given by their ids: in order of the ids, so that of one key the older run comes first. */
  async function eachDead(
    which: 'all' | readonly number[],
    action: 'dead.requeue' | 'dead.drop',
    detail: AuditRecord['detail'],
    by: string | undefined,
    work: (store: SqliteStore, runId: number) => boolean,
  ): Promise<number> {
    if (which !== 'all') return eachGiven(which, action, detail, by, work)
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
    if (total > 0) await writer.run((store) => store.note(action, { ...detail, runs: 'all', count: total }, by))
    return total
  }

  async function eachGiven(
    given: readonly number[],
    action: 'dead.requeue' | 'dead.drop',
    detail: AuditRecord['detail'],
    by: string | undefined,
    work: (store: SqliteStore, runId: number) => boolean,
  ): Promise<number> {
    const runIds = given.toSorted((a, b) => a - b)
    const done = (ids: readonly number[]) => (store: SqliteStore) => ids.filter((runId) => work(store, runId)).length
    if (runIds.length <= batchSize) return act(action, { ...detail, runs: runIds }, by, done(runIds))
    let total = 0
    for (let from = 0; from < runIds.length; from += batchSize) {
      total += await writer.run(done(runIds.slice(from, from + batchSize)))
    }
    const noted = { ...detail, runs: runIds.slice(0, mostNotedRuns), count: total }
    if (total > 0) await writer.run((store) => store.note(action, noted, by))
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
    note: (action, detail, by) => writer.run((store) => store.note(action, detail, by)),
    setPaused: (handler, paused, by) =>
      act(paused ? 'handler.pause' : 'handler.resume', { handler }, by, (store) => store.setPaused(handler, paused)),
    setConcurrency: (handler, concurrency, by) =>
      act('handler.set', { handler, concurrency }, by, (store) => store.setConcurrency(handler, concurrency)),
    requeueDead: (which, by) => eachDead(which, 'dead.requeue', {}, by, (store, runId) => store.requeueOne(runId)),
    dropDead: (which, reason, by) =>
      eachDead(which, 'dead.drop', { reason }, by, (store, runId) => store.dropDead(runId, reason)),
    async dropOpenRuns(handler, reason, by) {
      let total = 0
      for (;;) {
        const dropped = await writer.run((store) => store.dropOpen(handler, batchSize, reason))
        if (dropped === null) return null
        total += dropped
        if (dropped < batchSize) break
      }
      if (total > 0) await writer.run((store) => store.note('handler.drop', { handler, reason, count: total }, by))
      return total
    },
    async prune(limits, noted, by) {
      const events = await pruneAll((pruning, after) => pruning.pruneEvents(limits, after))
      const quarantined = await pruneAll((pruning, after) => pruning.pruneQuarantined(limits, after))
      const isTooLarge = await writer.run(({ pruning }) => pruning.isLargerThan(limits.maxBytes), true)
      while (await writer.run(({ pruning }) => pruning.vacuum(), true));
      if (noted !== undefined) await writer.run((store) => store.note('prune', { ...limits, events, quarantined }, by))
      return { events, quarantined, isTooLarge }
    },
    retryQuarantined: (id, event, by) =>
      act('quarantine.retry', { id, event: event.id }, by, (store) => store.retryQuarantined(id, event)),
    acknowledgeGaps: (by) =>
      writer.run((store) => {
        const seenTo = store.gaps.acknowledge()
        if (seenTo.missingSeqs > 0 || seenTo.gaps > 0) store.note('gaps.acknowledge', { ...seenTo }, by)
        return seenTo
      }),
    beginSubscription: (next, replaces) => writer.run(({ subscriptions }) => subscriptions.begin(next, replaces)),
    endSubscription: (id, result, by) =>
      writer.run((store) => {
        if (store.subscriptions.end(id, result)) {
          store.note('subscription.register', { subscription: id, state: result.state }, by)
        }
      }),
    dropQuarantined: (id, reason, by) =>
      act('quarantine.drop', { id, reason }, by, (store) => store.dropQuarantined(id)),
  }
}
