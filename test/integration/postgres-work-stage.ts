import { type Clock, createTestClock, type TestClock } from '../../src/base/clock.ts'
import type { ClaimRequest, Effects, HandlerRoute, Lease, NewEvent, Outcome } from '../../src/inbox/port.ts'
import { createAccept } from '../../src/inbox/postgres/accept.ts'
import { createDatabase, type Database } from '../../src/inbox/postgres/database.ts'
import { createDefinitions, type Definitions } from '../../src/inbox/postgres/definitions.ts'
import { createWork, type Work } from '../../src/inbox/postgres/claims.ts'

export interface WorkRow {
  readonly state: number
  readonly attempt: number
  readonly crashed: number
  readonly failed: number
  readonly token: number
  readonly owner: string | null
}

/** The work side of one replica, and its accept, without the rest of an inbox. */
export interface WorkStage<C extends Clock = TestClock> extends AsyncDisposable {
  readonly url: string
  readonly db: Database
  readonly clock: C
  readonly work: Work
  readonly definitions: Definitions
  readonly warnings: readonly string[]
  accept(...events: readonly NewEvent[]): Promise<void>
  claim(given?: Partial<ClaimRequest>): Promise<readonly Lease[]>
  /** The run of an event, if it has only one. */
  run(id: string): Promise<WorkRow>
}

export interface WorkStageOptions<C extends Clock> {
  readonly clock: C
  readonly replicaId?: string
  /** Stands between the work and the database. */
  readonly between?: (db: Database) => Database
}

/** A stage over a database; it closes what it opened. */
export async function openWorkStage<C extends Clock>(
  url: string,
  routes: readonly HandlerRoute[],
  { clock, replicaId = 'replica', between = (db) => db }: WorkStageOptions<C>,
): Promise<WorkStage<C>> {
  const db = createDatabase({ url, now: () => clock.now() })
  const warnings: string[] = []
  const work = createWork({
    db: between(db),
    clock,
    replicaId,
    onWarning: (message, details) => warnings.push(`${message} ${JSON.stringify(details)}`),
  })
  const definitions = createDefinitions({ db, replicaId, silentMs: 10_000, orphanMs: 86_400_000 })
  const accept = createAccept({
    db,
    clock,
    definitions,
    gaps: { arrived: () => {} },
    openHandoff: work.openHandoff,
    wake: () => work.wake(),
  })
  await definitions.register(routes)
  return {
    url,
    db,
    clock,
    work,
    definitions,
    warnings,
    async accept(...events) {
      await accept.accept(events)
    },
    claim: (given = {}) => work.claim({ handlers: ['ordered'], max: 100, owner: 'worker', suspects: false, ...given }),
    async run(id) {
      const [row] = await db.query<WorkRow>(
        `SELECT r.state, r.attempt, r.crashed, r.failed, r.token, r.owner FROM inbox.run r
         WHERE r.event_seq = (SELECT e.seq FROM inbox.event e WHERE e.id = $1)`,
        [id],
      )
      if (row === undefined) throw new Error(`event ${id} has no run`)
      return row
    },
    async [Symbol.asyncDispose]() {
      await work.close()
      await db.close()
    },
  }
}

/** The same on a test clock of its own. */
export function openTimedStage(
  url: string,
  routes: readonly HandlerRoute[],
  between?: (db: Database) => Database,
): Promise<WorkStage> {
  return openWorkStage(url, routes, { clock: createTestClock(), ...(between && { between }) })
}

const nothing: Effects = { reads: [], writes: [], items: [] }

export function done({ runId, token }: Pick<Lease, 'runId' | 'token'>, effects?: Partial<Effects>): Outcome {
  const verdict = { runId, token, startedAt: 1, endedAt: 2, kind: 'done' } as const
  return effects === undefined ? verdict : { ...verdict, effects: { ...nothing, ...effects } }
}
