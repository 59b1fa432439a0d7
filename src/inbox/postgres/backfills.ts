import { roomFor, type Ahead, type StepResult } from '../jobs.ts'
import type { HandlerRoute } from '../port.ts'
import { createMatcher } from '../routes.ts'
import type { Database, Rows } from './database.ts'
import {
  beatenWithin,
  countOutSilent,
  differsAmong,
  isEverywhere,
  openBackfills,
  patternsIn,
  variantsOf,
} from './handler-sets.ts'
import { aheadOf, planStep, type Plan } from './job-plan.ts'
import { createRuns } from './new-runs.ts'

export interface BackfillsOptions {
  readonly db: Database
  readonly routes: () => readonly HandlerRoute[] | undefined
  /** As of `Peers`. */
  readonly leads: (handler: string) => boolean
  /** As of `Peers`. */
  readonly silentMs: number
  /** There may be something to claim. */
  readonly wake: () => void
}

/** Closer to the end than this, new events are kept out while it is looked what is left: else the end would never be reached. */
const nearEnd = 250

interface BackfillRow extends Ahead {
  readonly name: string
  readonly fromSeq: number | null
  readonly receivedFrom: number | null
  readonly lastSeq: number
  /** Whether another replica that is alive does not have it, or not as this one. */
  readonly differs: boolean
  /** As of `variantsOf`. */
  readonly variants: string
}

/** A replica that was not heard of for longer has left. */
const longestAwayMs = 3_600_000

/**
 * Handlers that are new get runs of what was stored before they came; until then they get none of what comes. As long as there is a
 * replica that accepts without creating runs of them, they get all that comes in this way.
 */
export function createBackfills(options: BackfillsOptions) {
  const { db, routes, leads, silentMs, wake } = options
  /** Their names by their ids, as they were read last. */
  let known: ReadonlyMap<number, string> = new Map()

  const routeOf = (name: string | undefined) => routes()?.find((route) => route.name === name)

  /** Creates up to `most` runs. What it looks at far from the end holds nobody up. */
  async function step(handlerId: number, most: number): Promise<StepResult> {
    const [row] = await db.query<BackfillRow>(
      `SELECT h.name, h.backfill_seq AS "fromSeq", h.backfill_from AS "receivedFrom", c.last_seq AS "lastSeq",
         a.open, a.ready,
         ${differsAmong(beatenWithin('$2'))} AS differs, ${variantsOf} AS variants
       FROM inbox.handler h CROSS JOIN inbox.counter c
       CROSS JOIN (${aheadOf({ handlers: 'h.id = $1', replayId: '0' })}) a WHERE h.id = $1`,
      [handlerId, silentMs],
    )
    const route = routeOf(row?.name)
    if (row === undefined || row.fromSeq === null || route === undefined) return ended(handlerId)
    const room = roomFor(most, row)
    const { fromSeq, differs, variants } = row
    if (room <= 0 || (differs && fromSeq > row.lastSeq)) return { created: 0, next: 'waits' }

    const filter = { from: row.receivedFrom ?? 0 }
    // Whichever of them takes it: who accepted it, or another one, would have created the run.
    const isTaken = createMatcher([...route.types, ...patternsIn(variants)])
    const routesFor = (type: string) => (isTaken(type) ? [route] : null)
    const plan = (rows: Rows, lastSeq: number): Promise<Plan> =>
      planStep(rows, { filter, routesFor, fromSeq, lastSeq, room, isLive: true })
    const early = !differs && row.lastSeq - fromSeq < nearEnd ? undefined : await plan(db, row.lastSeq)
    if (early !== undefined && early.runs.length === 0 && (differs || early.nextSeq <= row.lastSeq)) {
      await move(db, { handlerId, variants, from: fromSeq, to: early.nextSeq })
      return { created: 0, next: 'more' }
    }
    const { created, isEnded } = await db.alone(async (trx) => {
      const lastSeq = await lastIfAt(trx, { handlerId, variants, from: fromSeq })
      // Another one has gone on with it, or ended it; or there is one by now that takes more.
      if (lastSeq === null) return { created: 0, isEnded: false }
      const { nextSeq, runs } = early ?? (await plan(trx, lastSeq))
      const done = await createRuns(trx, 0, runs)
      if (nextSeq > lastSeq) await countOutSilent(trx, route, silentMs)
      const isAtEnd = nextSeq > lastSeq && (await isEverywhere(trx, handlerId))
      // From the next event on it gets its runs like all others.
      await move(trx, { handlerId, variants: null, from: fromSeq, to: isAtEnd ? null : nextSeq })
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
    /** Those that get older events, of the handlers that are registered here, and whose runs this replica creates. */
    going: () => [...known].filter(([, name]) => routeOf(name) !== undefined && leads(name)).map(([id]) => id),
    async refresh() {
      const rows = await db.query<{ id: number; name: string }>(
        `SELECT id, name FROM inbox.handler WHERE backfill_seq IS NOT NULL ORDER BY id`,
      )
      known = new Map(rows.map(({ id, name }) => [id, name]))
    },
    async end(trx: Rows, handlerId: number) {
      const text = `UPDATE inbox.handler SET backfill_seq = NULL WHERE id = $1 AND backfill_seq IS NOT NULL`
      await trx.query(text, [handlerId])
      await openBackfills(trx, null)
    },
    /** A handler that no replica has any more keeps nothing from going, once one has said which it has. */
    async first(rows: Rows) {
      const [row] = await rows.query<{ seq: number | null }>(
        `SELECT min(h.backfill_seq) AS seq FROM inbox.handler h WHERE h.backfill_seq IS NOT NULL AND (
           EXISTS (SELECT FROM inbox.replica r WHERE r.handlers ? h.name AND ${beatenWithin('$1')})
           OR NOT EXISTS (SELECT FROM inbox.replica r WHERE r.handlers IS NOT NULL AND ${beatenWithin('$1')})
         )`,
        [longestAwayMs],
      )
      return row?.seq ?? Infinity
    },
  }
}

interface Place {
  readonly handlerId: number
  /** What it was planned for; null: that was looked at. */
  readonly variants: string | null
  readonly from: number
}

async function move(
  rows: Rows,
  { handlerId, variants, from, to }: Place & { readonly to: number | null },
): Promise<void> {
  await rows.query(
    `UPDATE inbox.handler h SET backfill_seq = $3
     WHERE h.id = $1 AND h.backfill_seq = $2 AND ($4::text IS NULL OR ${variantsOf} = $4)`,
    [handlerId, from, to, variants],
  )
}

/** The last number of the accept sequence; null where the backfill is not at this number any more, or replicas take something else. */
async function lastIfAt(trx: Rows, { handlerId, variants, from }: Place): Promise<number | null> {
  const [row] = await trx.query<{ lastSeq: number }>(
    `SELECT c.last_seq AS "lastSeq" FROM inbox.handler h CROSS JOIN inbox.counter c
     WHERE h.id = $1 AND h.backfill_seq = $2 AND ${variantsOf} = $3`,
    [handlerId, from, variants],
  )
  return row?.lastSeq ?? null
}
