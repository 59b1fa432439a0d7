import { roomFor, type Ahead, type JobSource, type StepResult } from '../jobs.ts'
import {
  type HandlerRoute,
  type NewReplay,
  type ReplayFilter,
  type ReplayRecord,
  replayStates,
  type ReplayState,
} from '../port.ts'
import { checkReplayFilter } from '../replay-filter.ts'
import { createRouteTable, patternsOf, type RouteTable } from '../routes.ts'
import { createBackfills } from './backfills.ts'
import type { Database, Rows } from './database.ts'
import { aheadOf, planStep } from './job-plan.ts'
import { createRuns } from './new-runs.ts'
import { createNotes } from './notes.ts'
import { dropWaiting } from './run-acts.ts'
import { toStored, fromStored } from './text.ts'
import { toReplayRecord as recordOf, type ReplayRow as StoredReplay } from '../replay-row.ts'

export interface ReplaysOptions {
  readonly db: Database
  /** Of the handlers that are registered; undefined before any are. */
  readonly routes: () => readonly HandlerRoute[] | undefined
  /** Only one replica creates runs: as of `Peers`. */
  readonly leads: (handler: string | null) => boolean
  /** As of `Peers`. */
  readonly silentMs: number
  /** There may be something to claim. */
  readonly wake: () => void
}

/** Replays and backfills: runs of events that are stored already, created step by step, by one replica. */
export interface Replays {
  /** Throws `bad_request` or `not_found` where the filter says nothing, or names a handler that is not there. */
  start(replay: NewReplay, by?: string): Promise<ReplayRecord>
  cancel(id: number, by?: string): Promise<boolean>
  /** A handler gets no more of what was stored before it. */
  endBackfill(trx: Rows, handlerId: number): Promise<void>
  /** From there on in the accept sequence a new handler is still to get what is stored; Infinity: none is. */
  firstBackfill(rows: Rows): Promise<number>
  /** Reads which replays run and which handlers get what was stored before them, for `jobs`. */
  refresh(): Promise<void>
  readonly jobs: JobSource
}

interface Running {
  readonly id: number
  readonly perSecond: number | null
  /** The one that it is for; null: all that take its events. */
  readonly handler: string | null
}

export function createReplays({ db, routes, leads, silentMs, wake }: ReplaysOptions): Replays {
  const notes = createNotes()
  const tableOf = createTables()
  const backfills = createBackfills({
    db,
    routes,
    leads,
    silentMs,
    wake,
  })
  /** As they were read last, or have changed here since. */
  const running = new Map<number, Running>()

  async function start({ filter, perSecond, newKeys }: NewReplay, by?: string): Promise<ReplayRecord> {
    checkReplayFilter(filter)
    patternsOf(filter.handler, routes())
    const row = await db.alone(async (trx) => {
      const [begun] = await trx.query<ReplayRow>(
        `INSERT INTO inbox.replay AS p (filter, per_second, new_keys, state, created_at, next_seq, last_seq, events, runs, skipped)
         SELECT $1, $2, $3, ${replayCodes.running}, inbox.now_ms(), 1, c.last_seq, 0, 0, 0 FROM inbox.counter c RETURNING ${replayColumns}`,
        [toStored(JSON.stringify(filter)), perSecond, newKeys],
      )
      if (begun === undefined)
        throw new Error('the counter of the inbox is not there: inbox.counter has to have one row')
      await notes.note(trx, 'replay.start', { replay: begun.id, filter, perSecond, newKeys }, by)
      return begun
    })
    running.set(row.id, { id: row.id, perSecond, handler: filter.handler ?? null })
    return toReplayRecord(row, 0)
  }

  async function cancel(id: number, by?: string): Promise<boolean> {
    const isCancelled = await db.alone(async (trx) => {
      const ended = await trx.query(
        `UPDATE inbox.replay SET state = ${replayCodes.cancelled}, ended_at = inbox.now_ms()
         WHERE id = $1 AND state = ${replayCodes.running} RETURNING id`,
        [id],
      )
      if (ended.length === 0) return false
      await dropWaiting(trx, id)
      await notes.note(trx, 'replay.cancel', { replay: id }, by)
      return true
    })
    running.delete(id)
    if (isCancelled) wake()
    return isCancelled
  }

  /** Creates up to `most` runs of a replay. What it looks at before holds nobody up: up to where it goes is settled at its start. */
  async function step(id: number, most: number): Promise<StepResult> {
    const [row] = await db.query<ReplayRow & Ahead>(
      `SELECT ${replayColumns}, a.open, a.ready FROM inbox.replay p CROSS JOIN LATERAL (
         ${aheadOf({ handlers: 'true', replayId: 'p.id' })}
       ) a WHERE p.id = $1`,
      [id],
    )
    if (row === undefined || row.state !== replayCodes.running) return ended(id)
    const { nextSeq: fromSeq, lastSeq, open } = row
    if (fromSeq > lastSeq) return open > 0 ? { created: 0, next: 'waits' } : finish(id)
    const room = roomFor(most, row)
    if (room <= 0) return { created: 0, next: 'waits' }

    const { filter } = toReplayRecord(row, open)
    const registered = routes()
    if (!has(registered, filter.handler)) return { created: 0, next: 'waits' }
    const tableFor = tableOf(registered)
    const routesFor = (type: string) => routesOf(tableFor(type), filter)
    const plan = await planStep(db, { filter, routesFor, fromSeq, lastSeq, room, isLive: false })
    const move = async (rows: Rows, created: number, gone: number) => {
      const moved = await rows.query(
        `UPDATE inbox.replay SET next_seq = $3, events = events + $4, runs = runs + $5, skipped = skipped + $6
         WHERE id = $1 AND state = ${replayCodes.running} AND next_seq = $2 RETURNING id`,
        [id, fromSeq, plan.nextSeq, plan.events, created, plan.skipped + gone],
      )
      return moved.length === 1
    }
    if (plan.runs.length === 0) {
      await move(db, 0, 0)
      return { created: 0, next: 'more' }
    }
    const created = await db.alone(async (trx) => {
      // Another one may have gone on with it, or cancelled it.
      if (!(await isAt(trx, id, fromSeq))) return 0
      const { created: count, gone } = await createRuns(trx, id, plan.runs)
      await move(trx, count, gone)
      return count
    })
    wake()
    return { created, next: 'more' }
  }

  async function isAt(trx: Rows, id: number, seq: number): Promise<boolean> {
    const found = await trx.query(
      `SELECT id FROM inbox.replay WHERE id = $1 AND state = ${replayCodes.running} AND next_seq = $2`,
      [id, seq],
    )
    return found.length === 1
  }

  async function finish(id: number): Promise<StepResult> {
    await db.query(
      `UPDATE inbox.replay SET state = ${replayCodes.done}, ended_at = inbox.now_ms() WHERE id = $1 AND state = ${replayCodes.running}`,
      [id],
    )
    return ended(id)
  }

  function ended(id: number): StepResult {
    running.delete(id)
    return { created: 0, next: 'ended' }
  }

  async function refresh(): Promise<void> {
    const rows = await db.query<ReplayRow>(
      `SELECT ${replayColumns} FROM inbox.replay p WHERE p.state = ${replayCodes.running} ORDER BY p.id`,
    )
    running.clear()
    for (const row of rows) {
      const { id, perSecond, filter } = toReplayRecord(row, 0)
      running.set(id, { id, perSecond, handler: filter.handler ?? null })
    }
    await backfills.refresh()
  }

  const isAtWork = () => routes() !== undefined
  return {
    start,
    cancel,
    endBackfill: (trx, handlerId) => backfills.end(trx, handlerId),
    firstBackfill: (rows) => backfills.first(rows),
    refresh,
    jobs: {
      backfilling: () => (isAtWork() ? backfills.going() : []),
      running: () => (isAtWork() ? [...running.values()].filter(({ handler }) => leads(handler)) : []),
      backfill: backfills.step,
      step,
    },
  }
}

/** Whether there is a handler that the replay is for: where others have it, it waits for them. */
function has(routes: readonly HandlerRoute[] | undefined, handler: string | undefined): boolean {
  return routes !== undefined && (handler === undefined || routes.some(({ name }) => name === handler))
}

/** Of the handlers that take an event, those that are to handle it; null where it is not one of the handler that was asked for. */
function routesOf(all: readonly HandlerRoute[], { handler }: ReplayFilter): readonly HandlerRoute[] | null {
  if (handler === undefined) return all
  const found = all.filter(({ name }) => name === handler)
  return found.length === 0 ? null : found
}

/** The routes by type, made anew where others were registered. */
function createTables(): (routes: readonly HandlerRoute[] | undefined) => RouteTable {
  let of: readonly HandlerRoute[] | undefined
  let table: RouteTable = () => []
  return (routes) => {
    if (routes === of) return table
    of = routes
    table = createRouteTable(routes ?? [])
    return table
  }
}

/** The numbers that `replay.state` holds. */
const replayCodes = Object.fromEntries(replayStates.map((name, index) => [name, index])) as Readonly<
  Record<ReplayState, number>
>

type ReplayRow = StoredReplay<boolean>

/** Of `inbox.replay p`: a `ReplayRow`. */
const replayColumns = `p.id, p.filter, p.per_second AS "perSecond", p.new_keys AS "newKeys", p.state, p.created_at AS "createdAt",
  p.ended_at AS "endedAt", p.next_seq AS "nextSeq", p.last_seq AS "lastSeq", p.events, p.runs, p.skipped`

function toReplayRecord(row: ReplayRow, openRuns: number): ReplayRecord {
  return recordOf({ ...row, filter: fromStored(row.filter) }, openRuns)
}
