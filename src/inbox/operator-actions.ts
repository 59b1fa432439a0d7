import type { Acknowledged, AuditRecord, NewReplay, PruneLimits, ReplayRecord } from './query-store.ts'
import type { AcceptResult, NewEvent } from './types.ts'

/** Actions of an operator. Each is noted in the audit; `by` names the caller. */
export interface OperatorActions {
  /** Ends dead letters for good and unblocks their keys. The reason is stored. Returns how many were dropped. */
  dropDead(which: 'all' | readonly number[], reason: string, by?: string): Promise<number>
  /** Drops all runs of a removed handler, except running ones. Returns how many; null if the handler was never registered. */
  discardPendingRuns(handler: string, reason: string, by?: string): Promise<number | null>
  /**
   * Limits how many runs of a handler run at once; null restores its own limit. Survives restarts. Returns false if the handler was never
   * registered.
   */
  setConcurrency(handler: string, concurrency: number | null, by?: string): Promise<boolean>
  /** Makes dead letters claimable again and resets their attempts. Takes all of them, or run ids. Returns how many were requeued. */
  requeueDead(which: 'all' | readonly number[], by?: string): Promise<number>
  /**
   * Prunes in small steps, then returns free space to the disk. Writes an audit record only with `noted`. `isTooLarge`: the store is
   * larger than `maxBytes`, and nothing is left to prune.
   */
  prune(
    limits: PruneLimits,
    noted?: 'noted',
    by?: string,
  ): Promise<{ readonly events: number; readonly quarantined: number; readonly isTooLarge: boolean }>
  /**
   * Starts a replay. Its runs are created in small steps, with a bounded backlog. A restart resumes it. A filter with a handler matches
   * only event types that the handler takes. Throws `bad_request` for an empty filter, `not_found` for a handler that is not registered.
   */
  startReplay(replay: NewReplay, by?: string): Promise<ReplayRecord>
  /** Stops creating runs and drops the pending ones. Returns false if the replay has ended or never existed. Idempotent. */
  cancelReplay(id: number, by?: string): Promise<boolean>
  /**
   * Pauses or resumes a handler; null means all handlers together. Survives restarts. Runs of a paused handler can't be claimed; runs
   * already claimed continue. Returns false if the handler was never registered. Idempotent.
   */
  setPaused(handler: string | null, paused: boolean, by?: string): Promise<boolean>
  /** Moves a body from quarantine to the events, parsed as `event`. Returns null if it is not in quarantine. */
  retryQuarantined(id: string, event: NewEvent, by?: string): Promise<AcceptResult | null>
  /** Removes a body from quarantine. The reason is stored. Returns false if it is not in quarantine. */
  dropQuarantined(id: string, reason: string, by?: string): Promise<boolean>
  /** Acknowledges missing events and gaps with lost events: `stats` and `gaps` no longer report them as open. Idempotent. */
  acknowledgeGaps(by?: string): Promise<Acknowledged>
  /** Writes an audit record for an action that happens outside the store. */
  note(
    action: Extract<AuditRecord['action'], `session.${string}` | `reconcile.${string}` | 'handler.try'>,
    detail: AuditRecord['detail'],
    by?: string,
  ): Promise<void>
}

/** Runs per transaction of a large action. Acknowledgements wait for a transaction, so it is small. */
const batchSize = 500
/** Maximum run ids in an audit record; it also holds their total count. */
const maxAuditedRuns = 1_000

/** SQLite returns values, PostgreSQL returns promises. */
type Awaitable<T> = T | Promise<T>

/** The changes that actions consist of, within one transaction. See `OperatorActions`. */
export interface ActionTransaction {
  /** Writes an audit record and returns its id. `by`: the caller; absent for the inbox itself and for commands. */
  note(action: AuditRecord['action'], detail: AuditRecord['detail'], by?: string): Awaitable<number>
  /** Updates the audit record of an action in progress. */
  updateNote(id: number, detail: AuditRecord['detail']): Awaitable<void>
  setPaused(handler: string | null, paused: boolean): Awaitable<boolean>
  setConcurrency(handler: string, concurrency: number | null): Awaitable<boolean>
  /** Dead letters with run ids above `after`, in order. */
  deadAfter(after: number, limit: number): Awaitable<readonly number[]>
  requeueDead(runIds: readonly number[]): Awaitable<number>
  dropDead(runIds: readonly number[], reason: string): Awaitable<number>
  /**
   * Drops up to `limit` runs of a handler that are not running, and ends its backfill. Null if it was never registered. `isRemoved`: its
   * definitions were removed.
   */
  dropOpen(handler: string, limit: number, reason: string): Awaitable<{ dropped: number; isRemoved: boolean } | null>
  retryQuarantined(id: string, event: NewEvent): Awaitable<AcceptResult | null>
  dropQuarantined(id: string): Awaitable<boolean>
}

/** Result of one step of a large action. */
export interface ActionStep {
  readonly done: number
  /** Where the next step continues; null if none is left. */
  readonly after: number | null
  /** True if the step is audited although it has done nothing. */
  readonly isNoted?: boolean
}

/**
 * Does one step of a large action, starting at `from`. It may read first. Returns the work for a transaction, or its result if there is
 * nothing to change.
 */
export type Step<Trx> = (from: number) => Awaitable<ActionStep | ((trx: Trx) => Awaitable<ActionStep>)>

/** Bounds of pruning. */
export const pruneBounds = {
  /** Maximum bodies deleted per transaction. Acknowledgements wait for it. */
  maxPruned: 200,
  /** Maximum bodies read per step. */
  maxScanned: 1_000,
  /** Younger bodies are not pruned for size: they may be inspected or delivered again. */
  minAgeMs: 3_600_000,
  /** Shares of the maximum size that are reserved for the newest bodies. */
  eventsShare: 1 / 2,
  quarantineShare: 1 / 4,
} as const

/** One pruning: two actions of many steps. */
export interface Pruning<Trx> {
  readonly pruneEvents: Step<Trx>
  readonly pruneQuarantined: Step<Trx>
  /** Call after all steps. Returns true if the store still exceeds `maxBytes`. */
  end(): Promise<boolean>
}

export interface ActionStore<Trx extends ActionTransaction> {
  /** Runs work in one transaction. Work that `canWait` shares the transaction of urgent work. */
  transact<T>(work: (trx: Trx) => Awaitable<T>, canWait?: boolean): Promise<T>
  prune(limits: PruneLimits): Promise<Pruning<Trx>>
}

/** The audit record of a large action. `detail` computes its content from the total so far. */
interface AuditNote {
  readonly action: AuditRecord['action']
  readonly detail: (total: number) => AuditRecord['detail']
  readonly by: string | undefined
}

interface Progress {
  readonly total: number
  /** Id of the audit record; null if none was written. */
  readonly noted: number | null
  /** Where the next step continues; null after the last one. */
  readonly after: number | null
}

function then<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** All actions but those on replays and gaps. A small one is a transaction with its audit record; a large one is a transaction per step. */
export function createOperatorActions<Trx extends ActionTransaction>(
  store: ActionStore<Trx>,
): Omit<OperatorActions, 'startReplay' | 'cancelReplay' | 'acknowledgeGaps'> {
  /** Runs an action in one transaction, with an audit record if it changed anything. */
  function runAction<T>(
    action: AuditRecord['action'],
    detail: AuditRecord['detail'],
    by: string | undefined,
    work: (trx: Trx) => Awaitable<T>,
  ): Promise<T> {
    return store.transact((trx) =>
      then(work(trx), (result) => {
        if (result === false || result === null || result === 0) return result
        return then(trx.note(action, detail, by), () => result)
      }),
    )
  }

  /**
   * Runs a large action. The first step that changes anything writes the audit record, unless `note` is null, and each later one updates its
   * total, so an interrupted action shows how far it got. `noted`: id of a record that is already written.
   */
  async function eachStep(note: AuditNote | null, step: Step<Trx>, noted: number | null = null, canWait = false) {
    let progress: Progress = { total: 0, noted, after: 0 }
    while (progress.after !== null) {
      const { total: before, noted: known, after: from } = progress
      const work = await step(from)
      if (typeof work !== 'function') {
        progress = { total: before + work.done, noted: known, after: work.after }
        continue
      }
      progress = await store.transact((trx) => {
        return then(work(trx), ({ done, after, isNoted = false }): Awaitable<Progress> => {
          const total = before + done
          if (note === null || (done === 0 && !isNoted)) return { total, noted: known, after }
          if (known === null) {
            return then(trx.note(note.action, note.detail(total), note.by), (id) => ({ total, noted: id, after }))
          }
          return then(trx.updateNote(known, note.detail(total)), () => ({ total, noted: known, after }))
        })
      }, canWait)
    }
    return progress
  }

  /** Applies `work` to all or the listed dead letters, in order of run ids, so that the older run of a key comes first. */
  async function eachDead(
    which: 'all' | readonly number[],
    action: 'dead.requeue' | 'dead.drop',
    detail: AuditRecord['detail'],
    by: string | undefined,
    work: (trx: Trx, runIds: readonly number[]) => Awaitable<number>,
  ): Promise<number> {
    const runIds = which === 'all' ? [] : which.toSorted((a, b) => a - b)
    if (which !== 'all' && runIds.length <= batchSize) {
      return runAction(action, { ...detail, runs: runIds }, by, (trx) => work(trx, runIds))
    }
    const runs = which === 'all' ? 'all' : runIds.slice(0, maxAuditedRuns)
    const note = { action, detail: (count: number) => ({ ...detail, runs, count }), by }
    const { total } = await eachStep(note, (from) => (trx) => {
      if (which !== 'all') {
        const next = from + batchSize
        const after = next < runIds.length ? next : null
        return then(work(trx, runIds.slice(from, next)), (done) => ({ done, after }))
      }
      // Runs that die again during the action keep their id, which is behind `from`.
      return then(trx.deadAfter(from, batchSize), (batch) =>
        then(work(trx, batch), (done) => ({ done, after: batch.at(-1) ?? null })),
      )
    })
    return total
  }

  return {
    note: (action, detail, by) => store.transact((trx) => then(trx.note(action, detail, by), () => {})),
    setPaused: (handler, paused, by) =>
      runAction(paused ? 'handler.pause' : 'handler.resume', { handler }, by, (trx) => trx.setPaused(handler, paused)),
    setConcurrency: (handler, concurrency, by) =>
      runAction('handler.set', { handler, concurrency }, by, (trx) => trx.setConcurrency(handler, concurrency)),
    requeueDead: (which, by) => eachDead(which, 'dead.requeue', {}, by, (trx, runIds) => trx.requeueDead(runIds)),
    dropDead: (which, reason, by) =>
      eachDead(which, 'dead.drop', { reason }, by, (trx, runIds) => trx.dropDead(runIds, reason)),
    async discardPendingRuns(handler, reason, by) {
      let isKnown = true
      const note: AuditNote = { action: 'handler.drop', detail: (count) => ({ handler, reason, count }), by }
      const { total } = await eachStep(
        note,
        () => (trx) =>
          then(trx.dropOpen(handler, batchSize, reason), (result) => {
            isKnown = result !== null
            const { dropped, isRemoved } = result ?? { dropped: 0, isRemoved: false }
            return { done: dropped, after: dropped === batchSize ? 0 : null, isNoted: isRemoved }
          }),
      )
      return isKnown ? total : null
    },
    async prune(limits, isNoted, by) {
      const pruning = await store.prune(limits)
      let counts = { events: 0, quarantined: 0 }
      let noted: number | null = null
      for (const [kind, step] of [
        ['events', pruning.pruneEvents],
        ['quarantined', pruning.pruneQuarantined],
      ] as const) {
        const before = counts
        const detail = (count: number) => ({ ...limits, ...before, [kind]: count })
        const progress = await eachStep(isNoted ? { action: 'prune', detail, by } : null, step, noted, true)
        counts = { ...counts, [kind]: progress.total }
        ;({ noted } = progress)
      }
      if (isNoted && noted === null) await store.transact((trx) => trx.note('prune', { ...limits, ...counts }, by))
      return { ...counts, isTooLarge: await pruning.end() }
    },
    retryQuarantined: (id, event, by) =>
      runAction('quarantine.retry', { id, event: event.id }, by, (trx) => trx.retryQuarantined(id, event)),
    dropQuarantined: (id, reason, by) =>
      runAction('quarantine.drop', { id, reason }, by, (trx) => trx.dropQuarantined(id)),
  }
}
