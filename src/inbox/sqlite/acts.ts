import { batchSize, mostNotedRuns, type Done, type Noting, type OperatorActs, type StepDone } from '../acts.ts'
import type { AuditRecord, SubscriptionPort, ViewPort } from '../port.ts'
import type { PruneStep, Pruning } from './pruning.ts'
import type { SqliteStore } from './store.ts'
import type { Writer } from './writer.ts'

/** What is done here, beside what is done by all stores. */
export type Acts = OperatorActs &
  Pick<ViewPort, 'acknowledgeGaps'> &
  Pick<SubscriptionPort, 'beginSubscription' | 'endSubscription'>

/** Does a bounded piece of an act, from a place on. */
type Step = (store: SqliteStore, from: number) => StepDone

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

  /**
   * A large act, step after step, each in a transaction of its own. It is noted in that of the first one that changed anything, and
   * what it came to is said anew in that of each later one: so of one that is interrupted it is known how far it came.
   */
  async function eachStep(noting: Noting | null, step: Step, noted: number | null = null, canWait = false) {
    let so: Done & { readonly after: number | null } = { total: 0, noted, after: 0 }
    while (so.after !== null) {
      const { total: before, noted: known, after: from } = so
      so = await writer.run((store) => {
        const { done, after } = step(store, from)
        const total = before + done
        if (done === 0 || noting === null) return { total, noted: known, after }
        const detail = noting.detail(total)
        if (known === null) return { total, noted: store.note(noting.action, detail, noting.by), after }
        store.noteAnew(known, detail)
        return { total, noted: known, after }
      }, canWait)
    }
    return { total: so.total, noted: so.noted } satisfies Done
  }

  /** Of those given by their ids: in order of the ids, so that of one key the older run comes first. */
  async function eachDead(
    which: 'all' | readonly number[],
    action: 'dead.requeue' | 'dead.drop',
    detail: AuditRecord['detail'],
    by: string | undefined,
    work: (store: SqliteStore, runId: number) => boolean,
  ): Promise<number> {
    const runIds = which === 'all' ? [] : which.toSorted((a, b) => a - b)
    const done = (store: SqliteStore, ids: readonly number[]) => ids.filter((runId) => work(store, runId)).length
    if (which !== 'all' && runIds.length <= batchSize) {
      return act(action, { ...detail, runs: runIds }, by, (store) => done(store, runIds))
    }
    const runs = which === 'all' ? 'all' : runIds.slice(0, mostNotedRuns)
    const noting = { action, detail: (count: number) => ({ ...detail, runs, count }), by }
    const { total } = await eachStep(noting, (store, from) => {
      if (which !== 'all') {
        const next = from + batchSize
        return { done: done(store, runIds.slice(from, next)), after: next < runIds.length ? next : null }
      }
      // Those that die again meanwhile keep their run id, which lies behind.
      const batch = store.deadAfter(from, batchSize)
      return { done: done(store, batch), after: batch.at(-1) ?? null }
    })
    return total
  }

  /** One of the tables that are pruned. `noted`: the note that has been written of others. */
  function pruneAll(
    noting: Noting | null,
    noted: number | null,
    step: (pruning: Pruning, after: number) => PruneStep,
  ): Promise<Done> {
    const pruneSome: Step = ({ pruning }, from) => {
      const { pruned, after } = step(pruning, from)
      return { done: pruned, after }
    }
    return eachStep(noting, pruneSome, noted, true)
  }

  return {
    note: (action, detail, by) => writer.run((store) => void store.note(action, detail, by)),
    setPaused: (handler, paused, by) =>
      act(paused ? 'handler.pause' : 'handler.resume', { handler }, by, (store) => store.setPaused(handler, paused)),
    setConcurrency: (handler, concurrency, by) =>
      act('handler.set', { handler, concurrency }, by, (store) => store.setConcurrency(handler, concurrency)),
    requeueDead: (which, by) => eachDead(which, 'dead.requeue', {}, by, (store, runId) => store.requeueOne(runId)),
    dropDead: (which, reason, by) =>
      eachDead(which, 'dead.drop', { reason }, by, (store, runId) => store.dropDead(runId, reason)),
    async dropOpenRuns(handler, reason, by) {
      let isKnown = true
      const noting: Noting = { action: 'handler.drop', detail: (count) => ({ handler, reason, count }), by }
      const { total } = await eachStep(noting, (store) => {
        const dropped = store.dropOpen(handler, batchSize, reason)
        isKnown = dropped !== null
        return { done: dropped ?? 0, after: dropped === batchSize ? 0 : null }
      })
      return isKnown ? total : null
    },
    async prune(limits, isNoted, by) {
      const noting = (detail: (count: number) => { readonly events: number; readonly quarantined: number }) =>
        isNoted === undefined
          ? null
          : { action: 'prune' as const, detail: (count: number) => ({ ...limits, ...detail(count) }), by }
      const { total: events, noted: id } = await pruneAll(
        noting((count) => ({ events: count, quarantined: 0 })),
        null,
        (pruning, after) => pruning.pruneEvents(limits, after),
      )
      const { total: quarantined, noted } = await pruneAll(
        noting((count) => ({ events, quarantined: count })),
        id,
        (pruning, after) => pruning.pruneQuarantined(limits, after),
      )
      if (isNoted !== undefined && noted === null) {
        await writer.run((store) => store.note('prune', { ...limits, events, quarantined }, by))
      }
      const isTooLarge = await writer.run(({ pruning }) => pruning.isLargerThan(limits.maxBytes), true)
      while (await writer.run(({ pruning }) => pruning.vacuum(), true));
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
    beginSubscription: (next, replaces, by) =>
      writer.run((store) => {
        const begun = store.subscriptions.begin(next, replaces)
        if (begun !== null) store.note('subscription.begin', { subscription: begun.id, replaces }, by)
        return begun
      }),
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
