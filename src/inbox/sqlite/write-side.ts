import type { Clock } from '../../base/clock.ts'
import { batchSize, maxAuditedRuns, type ActionResult, type AuditNote, type ActionStep } from '../operator-actions.ts'
import { Jobs } from '../jobs.ts'
import type { AuditRecord, Inbox, ReplayRecord } from '../port.ts'
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

/** Does one step of an action, starting at `from`. */
type Step = (store: SqliteStore, from: number) => ActionStep

/** The methods of the port that write, in the thread of the store. */
export function createWriteSide(open: OpenStore, { onJobError, ...options }: WriteSideOptions) {
  const writer = new Writer({ ...options, store: open.store, onCommit: () => open.committed() })
  const jobs = new Jobs(
    {
      backfilling: () => open.store.backfilling(),
      running: () => open.store.replays.running(),
      backfill: (handlerId, max) => writer.run(({ replays }) => replays.backfill(handlerId, max), true),
      step: (replayId, max) => writer.run(({ replays }) => replays.step(replayId, max), true),
    },
    options.clock,
    onJobError,
  )
  jobs.poke()

  /** Runs an action in one transaction, with an audit record if it changed anything. */
  function runAction<T>(
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
   * Runs a large action, one transaction per step. The first step that changes anything writes the audit record, and each later one
   * updates its total, so an interrupted action shows how far it got.
   */
  async function eachStep(noting: AuditNote | null, step: Step, noted: number | null = null, canWait = false) {
    let progress: ActionResult & { readonly after: number | null } = { total: 0, noted, after: 0 }
    while (progress.after !== null) {
      const { total: before, noted: known, after: from } = progress
      progress = await writer.run((store) => {
        const { done, after } = step(store, from)
        const total = before + done
        if (done === 0 || noting === null) return { total, noted: known, after }
        const detail = noting.detail(total)
        if (known === null) return { total, noted: store.note(noting.action, detail, noting.by), after }
        store.updateNote(known, detail)
        return { total, noted: known, after }
      }, canWait)
    }
    return { total: progress.total, noted: progress.noted } satisfies ActionResult
  }

  /** Applies `work` to all or the given dead letters, in order of run ids, so that the older run of a key comes first. */
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
      return runAction(action, { ...detail, runs: runIds }, by, (store) => done(store, runIds))
    }
    const runs = which === 'all' ? 'all' : runIds.slice(0, maxAuditedRuns)
    const noting = { action, detail: (count: number) => ({ ...detail, runs, count }), by }
    const { total } = await eachStep(noting, (store, from) => {
      if (which !== 'all') {
        const next = from + batchSize
        return { done: done(store, runIds.slice(from, next)), after: next < runIds.length ? next : null }
      }
      // Runs that die again during the action keep their id, which is behind `from`.
      const batch = store.deadAfter(from, batchSize)
      return { done: done(store, batch), after: batch.at(-1) ?? null }
    })
    return total
  }

  return {
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
    cancelReplay: (id, by) => runAction('replay.cancel', { replay: id }, by, (store) => store.replays.cancel(id)),
    startServing: () => writer.run(({ gaps }) => gaps.start()),
    /** Heartbeat in the file. Returns a gap if this process stood still. */
    beat: () => writer.run(({ gaps }) => gaps.beat(), true),
    recordIntegrityOk: () => writer.run((store) => store.recordIntegrityOk(), true),
    async close() {
      jobs.stop()
      await writer.run(({ gaps }) => gaps.end()).catch(() => {})
      await writer.close()
      open.close()
    },
    note: (action, detail, by) => writer.run((store) => void store.note(action, detail, by)),
    setPaused: (handler, paused, by) =>
      runAction(paused ? 'handler.pause' : 'handler.resume', { handler }, by, (store) =>
        store.setPaused(handler, paused),
      ),
    setConcurrency: (handler, concurrency, by) =>
      runAction('handler.set', { handler, concurrency }, by, (store) => store.setConcurrency(handler, concurrency)),
    requeueDead: (which, by) => eachDead(which, 'dead.requeue', {}, by, (store, runId) => store.requeueOne(runId)),
    dropDead: (which, reason, by) =>
      eachDead(which, 'dead.drop', { reason }, by, (store, runId) => store.dropDead(runId, reason)),
    async discardPendingRuns(handler, reason, by) {
      let isKnown = true
      const noting: AuditNote = { action: 'handler.drop', detail: (count) => ({ handler, reason, count }), by }
      const { total } = await eachStep(noting, (store) => {
        const dropped = store.dropOpen(handler, batchSize, reason)
        isKnown = dropped !== null
        return { done: dropped ?? 0, after: dropped === batchSize ? 0 : null }
      })
      return isKnown ? total : null
    },
    async prune(limits, isNoted, by) {
      let counts = { events: 0, quarantined: 0 }
      let noted: number | null = null
      for (const [kind, prune] of [
        ['events', 'pruneEvents'],
        ['quarantined', 'pruneQuarantined'],
      ] as const) {
        const before = counts
        const detail = (count: number) => ({ ...limits, ...before, [kind]: count })
        const noting = isNoted === undefined ? null : { action: 'prune' as const, detail, by }
        const done = await eachStep(noting, ({ pruning }, from) => pruning[prune](limits, from), noted, true)
        counts = { ...counts, [kind]: done.total }
        ;({ noted } = done)
      }
      if (isNoted !== undefined && noted === null) {
        await writer.run((store) => store.note('prune', { ...limits, ...counts }, by))
      }
      const isTooLarge = await writer.run(({ pruning }) => pruning.isLargerThan(limits.maxBytes), true)
      while (await writer.run(({ pruning }) => pruning.vacuum(), true));
      return { ...counts, isTooLarge }
    },
    retryQuarantined: (id, event, by) =>
      runAction('quarantine.retry', { id, event: event.id }, by, (store) => store.retryQuarantined(id, event)),
    acknowledgeGaps: (by) =>
      writer.run((store) => {
        const acknowledged = store.gaps.acknowledge()
        const { missingSeqs, gaps } = acknowledged
        if (missingSeqs > 0 || gaps > 0) store.note('gaps.acknowledge', { ...acknowledged }, by)
        return acknowledged
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
      runAction('quarantine.drop', { id, reason }, by, (store) => store.dropQuarantined(id)),
    subscription: async () => writer.read((store) => store.subscriptions.newest()),
  } satisfies Omit<Inbox, keyof Views | 'onFailure'> & Record<string, unknown>
}
