import type { Clock } from '../../base/clock.ts'
import { createOperatorActions, type ActionTransaction } from '../operator-actions.ts'
import type { AcceptResult, NewEvent } from '../port.ts'
import type { Database, Rows } from './database.ts'
import type { Definitions } from './definitions.ts'
import { note, setMeta } from './records.ts'
import { createPruning } from './prune.ts'
import { deadAfter, dropDead, dropOpen, requeueDead, wakeAll } from './runs.ts'

export interface OperatorActionsOptions {
  readonly db: Database
  readonly clock: Clock
  readonly accept: { acceptIn(trx: Rows, event: NewEvent): Promise<AcceptResult> }
  readonly definitions: Pick<Definitions, 'remove'>
  /** Called when runs may have become claimable. */
  readonly wake: () => void
}

/** A transaction with the changes of operator actions. */
export type Transaction = Rows & ActionTransaction

/** All actions but those on replays and gaps: see `createReplays` and `createGaps`. */
export function createActions({ db, clock, accept, definitions, wake }: OperatorActionsOptions) {
  const transactionOf = (trx: Rows): Transaction => ({
    query: (text, values) => trx.query(text, values),
    note: (action, detail, by) => note(trx, action, detail, by),
    async updateNote(id, detail) {
      await trx.query(`UPDATE inbox.audit SET detail = $1 WHERE id = $2`, [JSON.stringify(detail), id])
    },
    async setPaused(handler, paused) {
      const isDone = await setPaused(trx, handler, paused)
      if (isDone) await wakeAll(trx)
      return isDone
    },
    async setConcurrency(handler, concurrency) {
      const statement = `UPDATE inbox.handler SET concurrency = $1 WHERE name = $2 RETURNING id`
      return (await trx.query(statement, [concurrency, handler])).length === 1
    },
    deadAfter: (after, limit) => deadAfter(trx, after, limit),
    requeueDead: (runIds) => requeueDead(trx, runIds),
    dropDead: (runIds, reason) => dropDead(trx, runIds, reason),
    async dropOpen(handler, limit, reason) {
      const [stopped] = await trx.query<{ id: number }>(
        `UPDATE inbox.handler SET backfill_seq = NULL WHERE name = $1 RETURNING id`,
        [handler],
      )
      if (stopped === undefined) return null
      const isRemoved = await definitions.remove(trx, handler)
      return { dropped: await dropOpen(trx, stopped.id, limit, reason), isRemoved }
    },
    retryQuarantined: async (id, event) => ((await takeQuarantined(trx, id)) ? accept.acceptIn(trx, event) : null),
    dropQuarantined: (id) => takeQuarantined(trx, id),
  })
  return createOperatorActions<Transaction>({
    async transact(work) {
      const result = await db.exclusively(async (trx) => work(transactionOf(trx)))
      wake()
      return result
    },
    prune: createPruning(db, clock),
  })
}

/** Returns false if the handler was never registered. */
async function setPaused(trx: Rows, handler: string | null, paused: boolean): Promise<boolean> {
  if (handler === null) {
    await setMeta(trx, 'paused', paused ? 1 : 0)
    return true
  }
  const set = await trx.query(`UPDATE inbox.handler SET paused = $1 WHERE name = $2 RETURNING id`, [paused, handler])
  return set.length === 1
}

/** Deletes a body from quarantine. Returns false if it is not there. */
async function takeQuarantined(trx: Rows, id: string): Promise<boolean> {
  return (await trx.query(`DELETE FROM inbox.quarantine WHERE id = $1 RETURNING seq`, [id])).length === 1
}
