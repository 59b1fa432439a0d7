import type { Clock } from '../../clock.ts'
import { mostAhead, type StepResult } from '../jobs.ts'
import type { HandlerRoute } from '../port.ts'
import type { Database, Rows } from './database.ts'
import { planStep, type Plan } from './job-plan.ts'
import { createRuns } from './new-runs.ts'

export interface BackfillsOptions {
  readonly db: Database
  readonly clock: Clock
  readonly routes: () => readonly HandlerRoute[] | undefined
  readonly takes: (route: HandlerRoute, type: string) => boolean
  /** There may be something to claim. */
  readonly wake: () => void
}

/** Closer to the end than this, new events are kept out while it is looked what is left: else the end would never be reached. */
const nearEnd = 250

interface BackfillRow {
  readonly name: string
  readonly fromSeq: number | null
  readonly receivedFrom: number | null
  readonly lastSeq: number
  /** Its live runs that have not ended, dead letters aside. */
  readonly open: number
}

/** Handlers that are new get runs of what was stored before they came; until then they get none of what comes. */
export function createBackfills({ db, clock, routes, takes, wake }: BackfillsOptions) {
  /** Their names by their ids, as they were read last. */
  let known: ReadonlyMap<number, string> = new Map()

  const routeOf = (name: string | undefined) => routes()?.find((route) => route.name === name)

  /** Creates up to `most` runs. What it looks at far from the end holds nobody up. */
  async function step(handlerId: number, most: number): Promise<StepResult> {
    const [row] = await db.query<BackfillRow>(
      `SELECT h.name, h.backfill_seq AS "fromSeq", h.backfill_from AS "receivedFrom", c.last_seq AS "lastSeq",
         (SELECT count(*) FROM (
           SELECT 1 FROM inbox.run r WHERE r.handler_id = h.id AND r.replay_id = 0 AND r.state < 5 AND r.state < 4
           ORDER BY r.handler_id, r.replay_id, r.key, r.id LIMIT ${mostAhead}
         ) o) AS open
       FROM inbox.handler h CROSS JOIN inbox.counter c WHERE h.id = $1`,
      [handlerId],
    )
    const route = routeOf(row?.name)
    if (row === undefined || row.fromSeq === null || route === undefined) return ended(handlerId)
    const room = Math.min(most, mostAhead - row.open)
    if (room <= 0) return { created: 0, next: 'waits' }

    const { fromSeq } = row
    const filter = { from: row.receivedFrom ?? 0 }
    const routesFor = (type: string) => (takes(route, type) ? [route] : null)
    const plan = (rows: Rows, lastSeq: number): Promise<Plan> =>
      planStep(rows, { filter, routesFor, fromSeq, lastSeq, room, isLive: true })
    const early = row.lastSeq - fromSeq < nearEnd ? undefined : await plan(db, row.lastSeq)
    if (early !== undefined && early.runs.length === 0 && early.nextSeq <= row.lastSeq) {
      await move(db, handlerId, fromSeq, early.nextSeq)
      return { created: 0, next: 'more' }
    }
    const { created, isEnded } = await db.alone(async (trx) => {
      const lastSeq = await lastIfAt(trx, handlerId, fromSeq)
      // Another one has gone on with it, or ended it.
      if (lastSeq === null) return { created: 0, isEnded: false }
      const { nextSeq, runs } = early ?? (await plan(trx, lastSeq))
      const done = await createRuns(trx, 0, runs, clock.now())
      const isAtEnd = nextSeq > lastSeq
      // From the next event on it gets its runs like all others.
      await move(trx, handlerId, fromSeq, isAtEnd ? null : nextSeq)
      return { created: done.created, isEnded: isAtEnd }
    })
    wake()
    return isEnded ? { ...ended(handlerId), created } : { created, next: 'more' }
  }

  function ended(handlerId: number): StepResult {
    known = new Map([...known].filter(([id]) => id !== handlerId))
    return { created: 0, next: 'ended' }
  }

  return {
    step,
    /** Those that get older events, of the handlers that are registered here. */
    going: () => [...known].filter(([, name]) => routeOf(name) !== undefined).map(([id]) => id),
    refresh: async () => void (known = new Map((await readGoing(db)).map(({ id, name }) => [id, name]))),
    end: async (trx: Rows, handlerId: number) => {
      const text = `UPDATE inbox.handler SET backfill_seq = NULL WHERE id = $1 AND backfill_seq IS NOT NULL`
      await trx.query(text, [handlerId])
    },
    /** A handler that was removed keeps nothing from going, once it is known which there are. */
    first: async (rows: Rows) => {
      const going = await readGoing(rows)
      const kept = routes() === undefined ? going : going.filter(({ name }) => routeOf(name) !== undefined)
      return Math.min(Infinity, ...kept.map(({ seq }) => seq))
    },
  }
}

function readGoing(rows: Rows): Promise<{ readonly id: number; readonly name: string; readonly seq: number }[]> {
  return rows.query(
    `SELECT id, name, backfill_seq AS seq FROM inbox.handler WHERE backfill_seq IS NOT NULL ORDER BY id`,
  )
}

async function move(rows: Rows, handlerId: number, from: number, to: number | null): Promise<void> {
  await rows.query(`UPDATE inbox.handler SET backfill_seq = $3 WHERE id = $1 AND backfill_seq = $2`, [
    handlerId,
    from,
    to,
  ])
}

/** The last number of the accept sequence; null where the backfill is not at this number any more. */
async function lastIfAt(trx: Rows, handlerId: number, seq: number): Promise<number | null> {
  const [row] = await trx.query<{ lastSeq: number }>(
    `SELECT c.last_seq AS "lastSeq" FROM inbox.handler h CROSS JOIN inbox.counter c WHERE h.id = $1 AND h.backfill_seq = $2`,
    [handlerId, seq],
  )
  return row?.lastSeq ?? null
}
