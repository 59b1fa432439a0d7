import { type TestClock, createTestClock } from '../../src/base/clock.ts'
import type { HandlerRoute, NewEvent } from '../../src/inbox/port.ts'
import { createAccept } from '../../src/inbox/postgres/accept.ts'
import { createOperatorActions } from '../../src/inbox/postgres/operator-actions.ts'
import { type Database, type Rows, createDatabase } from '../../src/inbox/postgres/database.ts'
import { createDefinitions } from '../../src/inbox/postgres/definitions.ts'
import { type Replays, createReplays } from '../../src/inbox/postgres/replays.ts'
import { anEvent } from '../conformance/stage.ts'
import type { PostgresInboxes } from '../support/postgres-inboxes.ts'

export interface RunRow {
  readonly id: number
  readonly event: string
  readonly handler: string
  readonly replay: number
  readonly key: string | null
  readonly state: number
  readonly attempt: number
}

export interface ActionsStage extends AsyncDisposable {
  readonly db: Database
  readonly clock: TestClock
  readonly actions: ReturnType<typeof createOperatorActions>
  readonly replays: Replays
  /** How often it was said that there may be something to claim. */
  readonly woken: () => number
  /** Others over the same database: `db` may stand between. */
  actionsOn(db: Database): ReturnType<typeof createOperatorActions>
  replaysOn(db: Database, isLeader?: () => boolean): Replays
  register(...routes: readonly HandlerRoute[]): Promise<void>
  accept(...events: readonly NewEvent[]): Promise<void>
  /** Events with these ids, all of the same key if one is given. */
  acceptIds(ids: readonly string[], key?: string): Promise<void>
  /** Hands out so many runs that are ready, the oldest first; gives their ids. */
  claim(limit: number): Promise<number[]>
  /** Ends runs that are handed out: with `done`, or as dead letters that let go of their keys, or hold them. */
  end(runIds: readonly number[], how?: 'done' | 'dead' | 'held'): Promise<void>
  runs(where?: string): Promise<RunRow[]>
  notes(): Promise<{ readonly action: string; readonly detail: unknown; readonly by: string | null }[]>
}

/** Acts and replays over a database of their own, without the rest of the inbox. */
export async function openActsStage(server: PostgresInboxes): Promise<ActionsStage> {
  const clock = createTestClock()
  const db = createDatabase({ url: await server.createDatabase(), now: () => clock.now() })
  const definitions = createDefinitions({ db, replicaId: 'replica', silentMs: 10_000, orphanMs: 0 })
  let woken = 0
  const wake = () => void (woken += 1)
  const gaps = { arrived: () => {} }
  const accept = createAccept({ db, clock, definitions, gaps, openHandoff: () => null, wake })
  const replaysOn = (on: Database, isLeader = () => true) => createReplays({ db: on, definitions, isLeader, wake })
  const replays = replaysOn(db)
  await db.query(
    `INSERT INTO inbox.replica (id, version, started_at, beat_at, load) VALUES ('replica', '0', now(), now() + interval '1 day', '{}')`,
  )
  const actionsOn = (on: Database) => createOperatorActions({ db: on, clock, accept, definitions, wake })

  async function acceptAll(...events: readonly NewEvent[]): Promise<void> {
    const results = await accept.accept(events)
    if (results.some((result) => result !== 'accepted')) throw new Error(`not all are new: ${results.join()}`)
  }

  return {
    db,
    clock,
    actions: actionsOn(db),
    replays,
    woken: () => woken,
    actionsOn,
    replaysOn,
    async register(...given) {
      await definitions.register(given)
      await replays.refresh()
    },
    accept: acceptAll,
    acceptIds: (ids, key) => acceptAll(...ids.map((id) => anEvent(id, key === undefined ? {} : { key }))),
    async claim(limit) {
      const rows = await db.query<{ id: number }>(
        `UPDATE inbox.run SET state = 3, owner = 'worker', token = token + 1, attempt = attempt + 1
         WHERE id IN (SELECT id FROM inbox.run WHERE state = 1 ORDER BY id LIMIT $1) RETURNING id`,
        [limit],
      )
      return rows.map(({ id }) => id).toSorted((a, b) => a - b)
    },
    async end(runIds, how = 'done') {
      await db.alone(async (trx) => {
        await trx.query(
          `UPDATE inbox.run SET state = CASE WHEN $2 = 4 AND key IS NULL THEN 5 ELSE $2 END, owner = NULL, ended_at = $3
           WHERE id = ANY ($1::bigint[]) AND state = 3`,
          [runIds, runState[how], clock.now()],
        )
        await trx.query(`SELECT inbox.promote($1::bigint[])`, [runIds])
      })
    },
    runs: (where = 'true') =>
      db.query<RunRow>(
        `SELECT r.id, e.id AS event, h.name AS handler, r.replay_id AS replay, r.key, r.state, r.attempt
         FROM inbox.run r JOIN inbox.event e ON e.seq = r.event_seq JOIN inbox.handler h ON h.id = r.handler_id
         WHERE ${where} ORDER BY r.id`,
      ),
    async notes() {
      const rows = await db.query<{ action: string; detail: string; by: string | null }>(
        `SELECT action, detail, by_whom AS by FROM inbox.audit ORDER BY id`,
      )
      return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) as unknown }))
    },
    [Symbol.asyncDispose]: () => db.close(),
  }
}

/** The database, with something done before each transaction that is alone. */
export function before(db: Database, work: () => Promise<void>): Database {
  return {
    ...db,
    async alone<T>(inside: (trx: Rows) => Promise<T>) {
      await work()
      return db.alone(inside)
    },
  }
}

/** Keys of which runs are open, but not one of them at the head. */
export const wrongKeys = `SELECT handler_id, replay_id, key, array_agg(state ORDER BY id) FROM inbox.run WHERE state < 5 AND key IS NOT NULL
  GROUP BY handler_id, replay_id, key HAVING count(*) FILTER (WHERE state >= 1) <> 1`

export const many = (count: number) => Array.from({ length: count }, (_, n) => `e${n}`)
export const by = 'operator (token) 127.0.0.1'
/** The numbers that `run.state` holds, as they are in every database for ever. */
export const runState = { waiting: 0, ready: 1, running: 3, held: 4, dead: 5, done: 6, superseded: 8, dropped: 10 }

/** Of each run its event and its state, the oldest first. */
export async function statesOf(stage: ActionsStage, where?: string): Promise<(string | number)[][]> {
  return (await stage.runs(where)).map(({ event, state }) => [event, state])
}
