import type { Clock } from '../../base/clock.ts'
import { batchSize, maxAuditedRuns, type AuditNote, type OperatorActions } from '../operator-actions.ts'
import type { AcceptResult, AuditRecord, NewEvent } from '../port.ts'
import type { Database, Rows } from './database.ts'
import type { Definitions } from './definitions.ts'
import { eachStep, note } from './notes.ts'
import { createPruning } from './prune.ts'
import { deadAfter, dropDead, dropOpen, requeueDead, wakeAll } from './runs.ts'
import { toStored } from './text.ts'

export interface OperatorActionsOptions {
  readonly db: Database
  readonly clock: Clock
  readonly accept: { acceptIn(trx: Rows, event: NewEvent): Promise<AcceptResult> }
  readonly definitions: Pick<Definitions, 'remove'>
  /** Called when runs may have become claimable. */
  readonly wake: () => void
}

/** All actions but those on replays and gaps: see `createReplays` and `createGaps`. */
export function createOperatorActions({
  db,
  clock,
  accept,
  definitions,
  wake,
}: OperatorActionsOptions): Omit<OperatorActions, 'startReplay' | 'cancelReplay' | 'acknowledgeGaps'> {
  const pruning = createPruning(db, clock)

  /** Runs an action in one transaction, with an audit record if it changed anything. */
  async function runAction<T>(
    action: AuditRecord['action'],
    detail: AuditRecord['detail'],
    by: string | undefined,
    work: (trx: Rows) => Promise<T>,
  ): Promise<T> {
    const result = await db.alone(async (trx) => {
      const changed = await work(trx)
      if (changed !== false && changed !== null && changed !== 0) await note(trx, action, detail, by)
      return changed
    })
    wake()
    return result
  }

  /** Applies `work` to all or the given dead letters, in order of run ids, so that the older run of a key comes first. */
  async function eachDead(
    which: 'all' | readonly number[],
    action: 'dead.requeue' | 'dead.drop',
    detail: AuditRecord['detail'],
    by: string | undefined,
    work: (trx: Rows, runIds: readonly number[]) => Promise<number>,
  ): Promise<number> {
    const runIds = which === 'all' ? [] : which.toSorted((a, b) => a - b)
    if (which !== 'all' && runIds.length <= batchSize) {
      return runAction(action, { ...detail, runs: runIds }, by, (trx) => work(trx, runIds))
    }
    const runs = which === 'all' ? 'all' : runIds.slice(0, maxAuditedRuns)
    const noting = { action, detail: (count: number) => ({ ...detail, runs, count }), by }
    const { total } = await eachStep(db, noting, async (from) => async (trx) => {
      if (which !== 'all') {
        const next = from + batchSize
        return { done: await work(trx, runIds.slice(from, next)), after: next < runIds.length ? next : null }
      }
      // Runs that die again during the action keep their id, which is behind `from`.
      const batch = await deadAfter(trx, from, batchSize)
      return { done: await work(trx, batch), after: batch.at(-1) ?? null }
    })
    wake()
    return total
  }

  async function discardPendingRuns(handler: string, reason: string, by?: string): Promise<number | null> {
    const [known] = await db.query<{ id: number }>(`SELECT id FROM inbox.handler WHERE name = $1`, [toStored(handler)])
    if (known === undefined) return null
    const noting: AuditNote = { action: 'handler.drop', detail: (count) => ({ handler, reason, count }), by }
    const { total } = await eachStep(db, noting, async () => async (trx) => {
      const isRemoved = await definitions.remove(trx, handler)
      await trx.query(`UPDATE inbox.handler SET backfill_seq = NULL WHERE id = $1`, [known.id])
      const dropped = await dropOpen(trx, known.id, batchSize, reason)
      // `eachStep` writes no audit record for a step that drops nothing.
      if (isRemoved && dropped === 0) await note(trx, noting.action, noting.detail(0), by)
      return { done: dropped, after: dropped === batchSize ? 0 : null }
    })
    wake()
    return total
  }

  return {
    note: (action, detail, by) => db.alone(async (trx) => void (await note(trx, action, detail, by))),
    setPaused: (handler, paused, by) =>
      runAction(paused ? 'handler.pause' : 'handler.resume', { handler }, by, async (trx) => {
        const isDone = await setPaused(trx, handler, paused)
        if (isDone) await wakeAll(trx)
        return isDone
      }),
    setConcurrency: (handler, concurrency, by) =>
      runAction('handler.set', { handler, concurrency }, by, async (trx) => {
        const set = await trx.query(`UPDATE inbox.handler SET concurrency = $1 WHERE name = $2 RETURNING id`, [
          concurrency,
          toStored(handler),
        ])
        return set.length === 1
      }),
    requeueDead: (which, by) => eachDead(which, 'dead.requeue', {}, by, (trx, runIds) => requeueDead(trx, runIds)),
    dropDead: (which, reason, by) =>
      eachDead(which, 'dead.drop', { reason }, by, (trx, runIds) => dropDead(trx, runIds, reason)),
    discardPendingRuns,
    async prune(limits, isNoted, by) {
      const noting = (detail: (count: number) => { readonly events: number; readonly quarantined: number }) =>
        isNoted === undefined
          ? null
          : { action: 'prune' as const, detail: (count: number) => ({ ...limits, ...detail(count) }), by }
      const { pruneEvents, pruneQuarantined, isTooLarge } = await pruning(limits)
      const ofEvents = noting((count) => ({ events: count, quarantined: 0 }))
      const { total: events, noted: id } = await eachStep(db, ofEvents, pruneEvents)
      const ofQuarantine = noting((count) => ({ events, quarantined: count }))
      const { total: quarantined, noted } = await eachStep(db, ofQuarantine, pruneQuarantined, id)
      if (isNoted !== undefined && noted === null) {
        await db.alone((trx) => note(trx, 'prune', { ...limits, events, quarantined }, by))
      }
      return { events, quarantined, isTooLarge: isTooLarge() }
    },
    retryQuarantined: (id, event, by) =>
      runAction('quarantine.retry', { id, event: event.id }, by, async (trx) =>
        (await takeQuarantined(trx, id)) ? accept.acceptIn(trx, event) : null,
      ),
    dropQuarantined: (id, reason, by) =>
      runAction('quarantine.drop', { id, reason }, by, (trx) => takeQuarantined(trx, id)),
  }
}

/** Returns false if the handler was never registered. */
async function setPaused(trx: Rows, handler: string | null, paused: boolean): Promise<boolean> {
  const set =
    handler === null
      ? await trx.query(
          `INSERT INTO inbox.meta (name, value) VALUES ('paused', $1)
           ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING name`,
          [paused ? 1 : 0],
        )
      : await trx.query(`UPDATE inbox.handler SET paused = $1 WHERE name = $2 RETURNING id`, [
          paused,
          toStored(handler),
        ])
  return set.length === 1
}

/** Deletes a body from quarantine. Returns false if it is not there. */
async function takeQuarantined(trx: Rows, id: string): Promise<boolean> {
  return (await trx.query(`DELETE FROM inbox.quarantine WHERE id = $1 RETURNING seq`, [toStored(id)])).length === 1
}
