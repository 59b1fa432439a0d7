import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { createPostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { openSchema } from '../../src/inbox/postgres/migrate.ts'
import { closeGate, type Gate } from './postgres-gate.ts'
import { shared } from './shared.ts'

interface Options {
  readonly clock: Clock
}

/** Parts of a `ConformanceHarness` for PostgreSQL, and databases for other tests. */
export type PostgresInboxes = Awaited<ReturnType<typeof startPostgresInboxes>>

/** A database and its user. Ending all connections of the user acts like `kill -9`. */
interface Opened {
  readonly database: string
  readonly user: string
}

/**
 * Inboxes on the shared PostgreSQL server, or on the server of a superuser's URL. Databases are copies of a template. Databases of closed
 * inboxes are emptied and used again. All are dropped at the end.
 */
export async function startPostgresInboxes(serverUrl?: string) {
  await using stack = new AsyncDisposableStack()
  const prefix = `t${randomBytes(4).toString('hex')}`
  const rootUrl = serverUrl ?? (await shared('postgres'))
  const root = new Client({ connectionString: rootUrl })
  await root.connect()
  const made: string[] = []
  const users: string[] = []
  stack.defer(async () => {
    for (const name of made) await root.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    for (const user of users) await root.query(`DROP ROLE IF EXISTS ${user}`)
    await root.end()
  })

  const template = await makeDatabase('template0')
  await openSchema(urlOf(template), 'refuse')
  await withClient(urlOf(template), async (client) => void (await client.query(nowOfTests)))

  async function makeDatabase(from: string): Promise<string> {
    const name = `${prefix}_${made.length}`
    await root.query(`CREATE DATABASE ${name} TEMPLATE ${from} ENCODING 'UTF8'`)
    made.push(name)
    return name
  }

  function urlOf(database: string, user?: string): string {
    const url = new URL(rootUrl)
    url.pathname = `/${database}`
    if (user !== undefined) {
      url.username = user
      url.password = user
    }
    return url.href
  }

  const opened = new WeakMap<Inbox, Opened>()
  const gates = new WeakMap<Inbox, Gate>()
  /** Databases of closed inboxes. */
  const idle: Opened[] = []
  /** Inboxes that crashed, and what their closing gives. */
  const dead = new Map<Inbox, Promise<void>>()
  stack.defer(async () => void (await Promise.all(dead.values())))

  async function withUser(database: string): Promise<Opened> {
    const user = `${prefix}_u${users.length}`
    await root.query(`CREATE ROLE ${user} LOGIN SUPERUSER PASSWORD '${user}'`)
    users.push(user)
    return { database, user }
  }

  async function openOn(mine: Opened, { clock }: Options): Promise<Inbox> {
    const { database, user } = mine
    const now = () => clock.now()
    // As on SQLite, a handler gets no more runs once it is no longer registered.
    const inbox: Inbox = await createPostgresInbox({ url: urlOf(database, user), clock, now, orphanMs: 0 })
    let closing: Promise<void> | undefined
    const watched: Inbox = {
      ...inbox,
      close: () =>
        (closing ??= inbox.close().then(() => {
          if (!dead.has(watched)) idle.push(mine)
        })),
    }
    opened.set(watched, mine)
    return watched
  }

  async function disconnect(user: string): Promise<void> {
    await root.query(`ALTER ROLE ${user} NOLOGIN`)
    await root.query(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = $1`, [user])
  }

  const disposal = stack.move()
  return {
    /** Creates an empty database with the schema. It is dropped at the end of the test file. */
    createDatabase: async () => urlOf(await makeDatabase(template)),
    /** Creates an empty database without schema. */
    createBare: async () => urlOf(await makeDatabase('template0')),
    async open(options: Options) {
      const used = idle.shift()
      if (used === undefined) return openOn(await withUser(await makeDatabase(template)), options)
      await withClient(urlOf(used.database), empty)
      return openOn(used, options)
    },
    async reopen(closed: Inbox, options: Options) {
      const mine = opened.get(closed)
      const at = idle.findIndex((one) => one === mine)
      if (mine === undefined || at < 0) throw new Error('expected an inbox that was opened here and is closed')
      idle.splice(at, 1)
      return openOn(mine, options)
    },
    async crash(live: Inbox, options: Options) {
      const mine = opened.get(live)
      if (mine === undefined) throw new Error('expected an inbox that was opened here')
      await disconnect(mine.user)
      // Else it tries to connect until the end. It can't write anything any more.
      dead.set(live, live.close())
      await gates.get(live)?.open()
      await withClient(urlOf(mine.database), async (client) => {
        await client.query(`SET inbox.now = ${options.clock.now()}`)
        await reapAll(client)
      })
      return openOn(await withUser(mine.database), options)
    },
    async gate(live: Inbox) {
      const mine = opened.get(live)
      if (mine === undefined) throw new Error('expected an inbox that was opened here')
      const gate = await closeGate(urlOf(mine.database))
      gates.set(live, gate)
      return gate
    },
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}

/** Databases for one test file: started before its tests, dropped after them. */
export function usePostgres(): Pick<PostgresInboxes, 'createDatabase' | 'createBare'> {
  let inboxes: PostgresInboxes | undefined
  beforeAll(async () => {
    inboxes = await startPostgresInboxes()
  }, 60_000)
  afterAll(() => inboxes?.[Symbol.asyncDispose]())
  return { createDatabase: async () => inboxes!.createDatabase(), createBare: async () => inboxes!.createBare() }
}

/** Returns the time that the connection has set, else the time of the database. */
const nowOfTests = `CREATE OR REPLACE FUNCTION inbox.now_ms() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(current_setting('inbox.now', true), '')::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) $$`

/** Reaps all runs, as other replicas would after the silence of a dead one. */
async function reapAll(client: Client): Promise<void> {
  await client.query(`DELETE FROM inbox.replica`)
  const { rows } = await client.query<{ owner: string }>(`SELECT DISTINCT owner FROM inbox.run WHERE state = 3`)
  for (const { owner } of rows) await client.query(`SELECT inbox.reap($1)`, [owner])
}

async function empty(client: Client): Promise<void> {
  // TRUNCATE creates new files, which is slower than deleting a few rows.
  await client.query(`
    DO $$
    DECLARE
      name text;
      has_many boolean;
    BEGIN
      SET LOCAL session_replication_role = replica;
      FOR name IN
        SELECT format('inbox.%I', tablename) FROM pg_tables
        WHERE schemaname = 'inbox' AND tablename NOT IN ('lane', 'meta', 'kysely_migration', 'kysely_migration_lock')
      LOOP
        EXECUTE format('SELECT count(*) > 500 FROM (SELECT FROM %s LIMIT 501) AS few', name) INTO has_many;
        EXECUTE CASE WHEN has_many THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || name;
      END LOOP;
      PERFORM setval(format('inbox.%I', sequencename), start_value, false) FROM pg_sequences WHERE schemaname = 'inbox';
      INSERT INTO inbox.counter VALUES (0, 0);
      DELETE FROM inbox.meta WHERE inbox.meta.name <> 'oldest_program' AND NOT starts_with(inbox.meta.name, 'functions:');
    END $$`)
}

async function withClient(url: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
