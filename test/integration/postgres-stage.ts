import { type Clock, createTestClock, type TestClock } from '../../src/base/clock.ts'
import type { ClaimRequest, Effects, HandlerRoute, Lease, NewEvent, Outcome } from '../../src/inbox/port.ts'
import { createAccept } from '../../src/inbox/postgres/accept.ts'
import { createWork } from '../../src/inbox/postgres/claims.ts'
import { createDatabase, type Database } from '../../src/inbox/postgres/database.ts'
import { createDefinitions } from '../../src/inbox/postgres/definitions.ts'

export interface RunRow {
  readonly id: number
  readonly seq: number
  /** Id of its event. */
  readonly event: string
  readonly handler: string
  readonly key: string | null
  readonly state: number
  readonly attempt: number
  readonly crashed: number
  readonly token: number
  readonly owner: string | null
}

export type Stage<C extends Clock = TestClock> = Awaited<ReturnType<typeof openStage<C>>>

export interface StageOptions<C extends Clock> {
  readonly clock: C
  readonly replicaId?: string
  /** How far the clock is ahead of the database's, in milliseconds. */
  readonly aheadMs?: number
  /** Wraps the database for accept and work. */
  readonly between?: (db: Database) => Database
}

/** Accept and work of one replica, without the rest of an inbox and without heartbeats. */
export async function openStage<C extends Clock>(
  url: string,
  routes: readonly HandlerRoute[],
  { clock, replicaId = 'replica', aheadMs = 0, between = (db) => db }: StageOptions<C>,
) {
  const db = createDatabase({ url, now: () => clock.now() - aheadMs })
  const warnings: string[] = []
  const wrapped = between(db)
  const work = createWork({
    db: wrapped,
    clock,
    replicaId,
    onWarning: (message, details) => warnings.push(`${message} ${JSON.stringify(details)}`),
  })
  await db.query(
    `INSERT INTO inbox.replica (id, version, started_at, beat_at, load) VALUES ($1, '0', now(), now(), '{}')`,
    [replicaId],
  )
  const definitions = createDefinitions({ db, replicaId, silentMs: 3_600_000, orphanMs: 0 })
  const accept = createAccept({ db: wrapped, clock, definitions, gaps: { arrived: () => {} }, work })
  /** Runs that meet an SQL condition, by id. */
  const runs = (where = 'true') =>
    db.query<RunRow>(
      `SELECT r.id, r.event_seq AS seq, e.id AS event, h.name AS handler, r.key, r.state, r.attempt, r.crashed, r.token, r.owner
       FROM inbox.run r JOIN inbox.handler h ON h.id = r.handler_id LEFT JOIN inbox.event e ON e.seq = r.event_seq
       WHERE ${where} ORDER BY r.id`,
    )
  const register = async (...given: readonly HandlerRoute[]) => void (await definitions.register(given))
  await register(...routes)
  return {
    url,
    db,
    clock,
    definitions,
    accept,
    work,
    warnings,
    register,
    /** Throws unless all events are new. */
    async acceptNew(...events: readonly NewEvent[]) {
      const results = await accept.accept(events)
      if (results.some((result) => result !== 'accepted'))
        throw new Error(`expected new events (got ${results.join()})`)
    },
    claim: (request?: Partial<ClaimRequest>) =>
      work.claim({ handlers: ['ordered'], max: 100, owner: 'worker', suspects: false, ...request }),
    runs,
    /** The run of an event with one run. */
    async run(event: string) {
      const [row, ...others] = await runs(`e.id = '${event}'`)
      if (row === undefined || others.length > 0) throw new Error(`expected one run of ${event} (got ${others.length})`)
      return row
    },
    async [Symbol.asyncDispose]() {
      await work.close()
      await db.close()
    },
  }
}

/** A stage with its own test clock. */
export function openTimedStage(url: string, routes: readonly HandlerRoute[], between?: (db: Database) => Database) {
  return openStage(url, routes, { clock: createTestClock(), ...(between && { between }) })
}

const nothing: Effects = { reads: [], writes: [], items: [] }

export function done({ runId, token }: Pick<Lease, 'runId' | 'token'>, effects?: Partial<Effects>): Outcome {
  const verdict = { runId, token, startedAt: 1, endedAt: 2, kind: 'done' } as const
  return effects === undefined ? verdict : { ...verdict, effects: { ...nothing, ...effects } }
}

/** Values of `run.state`, which are the same in every database. */
export const runState = { waiting: 0, ready: 1, running: 3, held: 4, dead: 5, done: 6, superseded: 8, dropped: 10 }
