import { type TestClock, createTestClock } from '../../src/base/clock.ts'
import type { HandlerRoute } from '../../src/inbox/port.ts'
import { type Accept, createAccept } from '../../src/inbox/postgres/accept.ts'
import { type Database, createDatabase } from '../../src/inbox/postgres/database.ts'
import { createDefinitions, type Definitions } from '../../src/inbox/postgres/definitions.ts'

export interface RunOfKey {
  readonly id: number
  readonly seq: number
  readonly handler: number
  readonly key: string | null
  readonly state: number
}

export interface Replica {
  readonly db: Database
  readonly accept: Accept
  readonly definitions: Definitions
  /** How many statements it has sent so far. */
  readonly statements: () => number
}

export interface AcceptStage extends AsyncDisposable {
  readonly clock: TestClock
  readonly db: Database
  /** Another process, as far as the database can tell. */
  replica(routes: readonly HandlerRoute[]): Promise<Replica>
  /** In the order of their ids. */
  runs(): Promise<RunOfKey[]>
}

/** Replicas that accept, on one database. */
export async function openAcceptStage(url: string): Promise<AcceptStage> {
  const clock = createTestClock()
  const stack = new AsyncDisposableStack()
  const open = () => stack.adopt(createDatabase({ url, now: () => clock.now() }), (db) => db.close())
  const db = open()
  return {
    clock,
    db,
    async replica(routes) {
      const own = open()
      const definitions = createDefinitions({ db: own, replicaId: 'replica', silentMs: 10_000, orphanMs: 86_400_000 })
      await definitions.register(routes)
      let statements = 0
      const counted: Database = {
        ...own,
        query(text, values, limitMs) {
          statements++
          return own.query(text, values, limitMs)
        },
      }
      const gaps = { arrived: () => {} }
      const accept = createAccept({
        db: counted,
        clock,
        definitions,
        gaps,
        openHandoff: () => null,
        wake: () => {},
      })
      return { db: own, accept, definitions, statements: () => statements }
    },
    runs: () =>
      db.query<RunOfKey>(`SELECT id, event_seq AS seq, handler_id AS handler, key, state FROM inbox.run ORDER BY id`),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
