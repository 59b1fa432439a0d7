import { roomFor, type Job, type OpenBacklog, type StepResult } from '../jobs.ts'
import type { HandlerRoute, NewReplay, ReplayRecord } from '../port.ts'
import { checkReplayFilter, replayedRoutes, toReplayRecord, type ReplayRow as StoredReplay } from '../replays.ts'
import { selectionsOf, type RoutedEvent } from '../routes.ts'
import { replayState } from '../run-sql.ts'
import type { Database, Rows } from './database.ts'
import type { Definitions } from './definitions.ts'
import { backlogOf, planStep, type Plan } from './job-plan.ts'
import { note } from './records.ts'
import { createRuns, dropWaiting } from './runs.ts'

export interface ReplaysOptions {
  readonly db: Database
  readonly definitions: Pick<Definitions, 'known' | 'read'>
  /** True if this replica creates runs. Two replicas may both be leader for a moment. */
  readonly isLeader: () => boolean
  /** Called when runs may have become claimable. */
  readonly wake: () => void
}

/** With fewer events left, a backfill plans within its transaction, which blocks accept. Otherwise it would never catch up. */
const nearEndEvents = 250

interface BackfillRow extends OpenBacklog {
  readonly name: string
  /** Sequence number of the next event; null: the backfill has ended. */
  readonly fromSeq: number | null
  /** Only events received at or after this time (milliseconds since 1970); null: all. */
  readonly receivedFrom: number | null
  readonly lastSeq: number
}

/** Replays and backfills: one replica creates runs of stored events, step by step. */
export function createReplays({ db, definitions, isLeader, wake }: ReplaysOptions) {
  /** The `perSecond` of running replays by id, as of the latest `refresh` or local change. */
  const running = new Map<number, number | null>()
  /** Ids of handlers with a backfill in progress. */
  const backfilling = new Set<number>()

  /** Throws `bad_request` for an empty filter, `not_found` for an unknown handler. */
  async function start({ filter, perSecond, newKeys }: NewReplay, by?: string): Promise<ReplayRecord> {
    checkReplayFilter(filter)
    selectionsOf(filter.handler, (await definitions.read(db)).routes)
    const row = await db.exclusively(async (trx) => {
      const [begun] = await trx.query<ReplayRow>(
        `INSERT INTO inbox.replay AS p (filter, per_second, new_keys, state, created_at, next_seq, last_seq, events, runs, skipped)
         SELECT $1, $2, $3, ${replayState.running}, inbox.now_ms(), 1, c.last_seq, 0, 0, 0 FROM inbox.counter c RETURNING ${replayColumns}`,
        [JSON.stringify(filter), perSecond, newKeys],
      )
      if (begun === undefined) throw new Error('inbox.counter must have one row (got none)')
      await note(trx, 'replay.start', { replay: begun.id, filter, perSecond, newKeys }, by)
      return begun
    })
    running.set(row.id, perSecond)
    return toReplayRecord(row, 0)
  }

  async function cancel(id: number, by?: string): Promise<boolean> {
    const isCancelled = await db.exclusively(async (trx) => {
      const ended = await trx.query(
        `UPDATE inbox.replay SET state = ${replayState.cancelled}, ended_at = inbox.now_ms()
         WHERE id = $1 AND state = ${replayState.running} RETURNING id`,
        [id],
      )
      if (ended.length === 0) return false
      await dropWaiting(trx, id)
      await note(trx, 'replay.cancel', { replay: id }, by)
      return true
    })
    running.delete(id)
    if (isCancelled) wake()
    return isCancelled
  }

  /** Creates up to `max` runs of a replay. Plans outside the transaction, to keep it short: the replay's range doesn't change. */
  async function step(id: number, max: number): Promise<StepResult> {
    const [row] = await db.query<ReplayRow & OpenBacklog>(
      `SELECT ${replayColumns}, a.open, a.ready FROM inbox.replay p CROSS JOIN LATERAL (
         ${backlogOf({ handlers: 'true', replayId: 'p.id' })}
       ) a WHERE p.id = $1`,
      [id],
    )
    if (row === undefined || row.state !== replayState.running) return endReplay(id)
    const { nextSeq: fromSeq, lastSeq, open } = row
    if (fromSeq > lastSeq) return open > 0 ? { created: 0, next: 'waits' } : finish(id)
    const room = roomFor(max, row)
    if (room <= 0) return { created: 0, next: 'waits' }

    const { filter } = toReplayRecord(row, open)
    const known = await definitions.known(db)
    const isWanted = ({ name }: HandlerRoute) => filter.handler === undefined || name === filter.handler
    if (!known.routes.some(isWanted)) return { created: 0, next: 'waits' }
    const routesFor = (event: RoutedEvent) => replayedRoutes(known.routesOf(event), filter)
    const plan = await planStep(db, { filter, routesFor, fromSeq, lastSeq, room })
    /** Records the progress of the replay. Returns false if another replica has continued, ended or cancelled it. */
    const advanceReplay = async (rows: Rows) => {
      const moved = await rows.query(
        `UPDATE inbox.replay SET next_seq = $3, events = events + $4, skipped = skipped + $5
         WHERE id = $1 AND state = ${replayState.running} AND next_seq = $2 RETURNING id`,
        [id, fromSeq, plan.nextSeq, plan.events, plan.skipped],
      )
      return moved.length === 1
    }
    if (plan.runs.length === 0) {
      await advanceReplay(db)
      return { created: 0, next: 'more' }
    }
    const created = await db.exclusively(async (trx) => {
      if (!(await advanceReplay(trx))) return 0
      const { created: count, prunedEvents } = await createRuns(trx, id, plan.runs)
      const progress = [id, count, prunedEvents]
      await trx.query(`UPDATE inbox.replay SET runs = runs + $2, skipped = skipped + $3 WHERE id = $1`, progress)
      return count
    })
    wake()
    return { created, next: 'more' }
  }

  async function finish(id: number): Promise<StepResult> {
    await db.query(
      `UPDATE inbox.replay SET state = ${replayState.done}, ended_at = inbox.now_ms() WHERE id = $1 AND state = ${replayState.running}`,
      [id],
    )
    return endReplay(id)
  }

  function endReplay(id: number): StepResult {
    running.delete(id)
    return { created: 0, next: 'ended' }
  }

  /** Creates up to `max` runs of a new handler for stored events. Accept creates runs for it only after the backfill has ended. */
  async function backfill(handlerId: number, max: number): Promise<StepResult> {
    const { version, routesOf: tableFor } = await definitions.known(db)
    const [row] = await db.query<BackfillRow>(
      `SELECT h.name, h.backfill_seq AS "fromSeq", h.backfill_from AS "receivedFrom", c.last_seq AS "lastSeq", a.open, a.ready
       FROM inbox.handler h CROSS JOIN inbox.counter c
       CROSS JOIN (${backlogOf({ handlers: 'h.id = $1', replayId: '0' })}) a WHERE h.id = $1`,
      [handlerId],
    )
    if (row === undefined || row.fromSeq === null) return endBackfill(handlerId)
    const { fromSeq } = row
    const room = roomFor(max, row)
    if (room <= 0) return { created: 0, next: 'waits' }

    const filter = { from: row.receivedFrom ?? 0 }
    const routesFor = (event: RoutedEvent) => replayedRoutes(tableFor(event), { handler: row.name })
    const plan = (rows: Rows, lastSeq: number): Promise<Plan> =>
      planStep(rows, { filter, routesFor, fromSeq, lastSeq, room })
    const position = { handlerId, fromSeq, version }
    // Planned outside the transaction; undefined near the end.
    const earlyPlan = row.lastSeq - fromSeq < nearEndEvents ? undefined : await plan(db, row.lastSeq)
    if (earlyPlan !== undefined && earlyPlan.runs.length === 0 && earlyPlan.nextSeq <= row.lastSeq) {
      if (!(await advanceBackfill(db, position, earlyPlan.nextSeq))) await definitions.read(db)
      return { created: 0, next: 'more' }
    }
    const done = await db.exclusively(async (trx) => {
      const lastSeq = await lastSeqAt(trx, position)
      if (lastSeq === null) return null
      const { nextSeq, runs } = earlyPlan ?? (await plan(trx, lastSeq))
      const { created } = await createRuns(trx, 0, runs)
      const isEnded = nextSeq > lastSeq
      // Null ends the backfill: accept creates the runs of later events.
      await advanceBackfill(trx, position, isEnded ? null : nextSeq)
      return { created, isEnded }
    })
    if (done === null) {
      await definitions.read(db)
      return { created: 0, next: 'more' }
    }
    wake()
    return done.isEnded ? { ...endBackfill(handlerId), created: done.created } : { created: done.created, next: 'more' }
  }

  function endBackfill(handlerId: number): StepResult {
    backfilling.delete(handlerId)
    return { created: 0, next: 'ended' }
  }

  /** Reads the running replays and backfills, for `jobs`. */
  async function refresh(): Promise<void> {
    const replays = await db.query<Pick<ReplayRecord, 'id' | 'perSecond'>>(
      `SELECT id, per_second AS "perSecond" FROM inbox.replay WHERE state = ${replayState.running} ORDER BY id`,
    )
    running.clear()
    for (const { id, perSecond } of replays) running.set(id, perSecond)
    const handlers = await db.query<{ id: number }>(
      `SELECT h.id FROM inbox.handler h
       WHERE h.backfill_seq IS NOT NULL AND EXISTS (SELECT FROM inbox.definition d WHERE d.handler = h.name) ORDER BY h.id`,
    )
    backfilling.clear()
    for (const { id } of handlers) backfilling.add(id)
  }

  return {
    start,
    cancel,
    refresh,
    backfill,
    step,
    /** Backfills and replays in progress; empty unless this replica is the leader. */
    jobs: (): Job[] => {
      if (!isLeader()) return []
      const backfills = Array.from(backfilling, (id) => {
        return { name: `backfill ${id}`, perSecond: null, step: (max: number) => backfill(id, max) }
      })
      const replays = Array.from(running, ([id, perSecond]) => {
        return { name: `replay ${id}`, perSecond, step: (max: number) => step(id, max) }
      })
      return [...backfills, ...replays]
    },
  }
}

interface BackfillPosition {
  readonly handlerId: number
  readonly fromSeq: number
  /** Version of the definitions that the step was planned with. */
  readonly version: number
}

/** SQL condition on the handler `h` and the counter `c`: the backfill and the definitions have not changed since the step was planned. */
const isAtPosition = `h.id = $1 AND h.backfill_seq = $2 AND c.definitions = $3`

/** Returns false if another replica has continued the backfill, or if the definitions have changed. */
async function advanceBackfill(rows: Rows, position: BackfillPosition, nextSeq: number | null): Promise<boolean> {
  const moved = await rows.query(
    `UPDATE inbox.handler h SET backfill_seq = $4 FROM inbox.counter c WHERE ${isAtPosition} RETURNING h.id`,
    [position.handlerId, position.fromSeq, position.version, nextSeq],
  )
  return moved.length === 1
}

/** Sequence number of the newest event; null if another replica has continued the backfill, or the definitions have changed. */
async function lastSeqAt(trx: Rows, { handlerId, fromSeq, version }: BackfillPosition): Promise<number | null> {
  const [row] = await trx.query<{ lastSeq: number }>(
    `SELECT c.last_seq AS "lastSeq" FROM inbox.handler h CROSS JOIN inbox.counter c WHERE ${isAtPosition}`,
    [handlerId, fromSeq, version],
  )
  return row?.lastSeq ?? null
}

type ReplayRow = StoredReplay<boolean>

/** Columns of `inbox.replay p` that form a `ReplayRow`. */
const replayColumns = `p.id, p.filter, p.per_second AS "perSecond", p.new_keys AS "newKeys", p.state, p.created_at AS "createdAt",
  p.ended_at AS "endedAt", p.next_seq AS "nextSeq", p.last_seq AS "lastSeq", p.events, p.runs, p.skipped`
