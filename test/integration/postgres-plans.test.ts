import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { HandlerRoute } from '../../src/inbox/port.ts'
import { createDatabase, type Database, type Rows } from '../../src/inbox/postgres/database.ts'
import { createViews } from '../../src/inbox/postgres/views.ts'
import type { Views } from '../../src/inbox/views/views.ts'
import { anEvent, boom, loose, ordered } from '../conformance/stage.ts'
import { explain, fillInbox, type Statement } from '../support/postgres-filled.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { viewReads } from '../support/view-reads.ts'
import { done, openStage, type Stage } from './postgres-stage.ts'

/** Number of events: each table gets more rows than one statement may read. */
const events = 52_000
/** Maximum rows of a table that one statement of a view reads. */
const maxRowsRead = 50_000
/** Above this cost PostgreSQL compiles a plan (JIT), which takes longer than executing it. */
const maxCost = 100_000
/** Keys with open runs: a scan of them all reads more pages than allowed. */
const openKeys = 40_000
/** Runs per call of a function, and the maximum pages of tables and indexes read per run. */
const batch = 100
const maxPages = 300

/** Counts of whole tables. Large ones are cached. */
const cachedCount = /^select count\(\*\) as "count" from "inbox"."(?:conflict|quarantine)"$/
/** The filter of dead letters by type, which looks up the event of each. Compiling takes a small part of that time. */
const typeOfDead = /"run"."event_seq"\) = \$/

const routes: readonly HandlerRoute[] = [
  { ...ordered, latestOnly: true },
  loose,
  { ...ordered, name: 'sink', types: [] },
]
const clock = createTestClock(Date.UTC(2026, 0, 1))

const server = usePostgres()
let db: Database
let stage: Stage
/** The database, with the pages that calls of functions read counted. */
let measured: Pick<Database, 'query'>
let added = 0
let pages = 0
/** Rows read by sequential scans of large tables. */
let rowsScanned = 0
/** Statements of the current read of a view. */
const statements: Statement[] = []

beforeAll(async () => {
  const url = await server.createDatabase()
  db = createDatabase({ url, statementMs: 60_000 })
  await fillInbox(db, events, 2_000)
  stage = await openStage(url, routes, { clock, between: (on) => (measured = measuredBy(on)) as Database })
}, 120_000)
afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await db.close()
})

function measuredBy(on: Database): Database {
  return {
    ...on,
    async query<R>(text: string, values?: readonly unknown[]): Promise<R[]> {
      // EXPLAIN discards the result, so the call is rolled back and repeated.
      if (/FROM inbox\.\w+\(/.test(text)) await measure(on, text, values)
      return on.query<R>(text, values)
    },
  }
}

interface Plan {
  readonly 'QUERY PLAN': readonly {
    readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }
  }[]
}

async function measure(on: Database, text: string, values?: readonly unknown[]): Promise<void> {
  const undone = new Error('undone')
  await on
    .exclusively(async (trx) => {
      const [row] = await trx.query<Plan>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values)
      const plan = row?.['QUERY PLAN'][0]?.Plan
      pages += (plan?.['Shared Hit Blocks'] ?? NaN) + (plan?.['Shared Read Blocks'] ?? NaN)
      const [read] = await trx.query<{ rows: number }>(
        `SELECT sum(seq_tup_read)::bigint AS rows FROM pg_stat_xact_user_tables
         WHERE schemaname = 'inbox' AND relname IN ('run', 'event', 'body', 'state')`,
      )
      rowsScanned += read?.rows ?? NaN
      throw undone
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error
    })
}

/** Expects that `work` calls a function on `batch` runs, and reads a few pages for each. */
async function expectFewPages(work: () => Promise<unknown>): Promise<void> {
  pages = 0
  rowsScanned = 0
  await work()
  expect(rowsScanned).toBe(0)
  expect(pages).toBeGreaterThan(0)
  expect(pages / batch).toBeLessThan(maxPages)
}

async function claim() {
  const leases = await stage.claim({ max: batch })
  expect(leases).toHaveLength(batch)
  return leases
}

/** Owner and number of the claim in progress. */
async function claimed() {
  const [row] = await db.query<{ owner: string; claim: number }>(
    `SELECT owner, claim_id AS claim FROM inbox.run WHERE state = 3 AND owner = 'replica worker' LIMIT 1`,
  )
  return row!
}

/** Views that record their statements. */
function openViews(): Views {
  const recording: Rows = {
    query(text, values = []) {
      // The size comes from the short list of tables.
      if (!text.includes('pg_total_relation_size')) statements.push({ text, values })
      return db.query(text, values)
    },
  }
  return createViews(recording, clock)
}

/** Adds a ready run for each of many keys, and one that waits behind it. Statistics are from a time without open runs. */
async function fillWithOpenRuns(): Promise<void> {
  for (const state of [1, 0]) {
    await db.query(
      `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at)
       SELECT nextval('inbox.run_id'), n, 1, 0, 'open' || n, ${state}, 0 FROM generate_series(1, ${openKeys}) n`,
    )
  }
  await db.query(`UPDATE inbox.run SET state = state + 50`)
  await db.query('VACUUM ANALYZE inbox.run')
  await db.query(`UPDATE inbox.run SET state = state - 50`)
}

function testCalls(): void {
  test('accept reads a few pages per event', async () => {
    const deliveries = Array.from({ length: batch }, (_, n) =>
      anEvent(n % 2 === 0 ? `new${added++}` : `e${n}`, { key: `k${n * 12 + 10}`, headers: `{"n":${n}}` }),
    )
    await expectFewPages(() => stage.accept.accept(deliveries))
  })

  test('claim and settle read a few pages per run', async () => {
    await expectFewPages(claim)
    const leases = await stage.runs(`r.owner = 'replica worker'`)
    await expectFewPages(() => stage.work.settle(leases.map(({ id, token }) => done({ runId: id, token }))))
    const times = { startedAt: 1, endedAt: 2 }
    const outcomes = (await claim()).map((lease, n) => {
      if (n % 3 === 0) return { ...lease, ...times, kind: 'retry', at: 1, error: boom } as const
      if (n % 3 === 1) return { ...lease, ...times, kind: 'dead', error: boom } as const
      const reads = [
        { query: { prefix: `none${n}`, after: null, limit: 3 }, found: [] },
        { query: { key: 'none' }, found: [] },
      ]
      const items = [{ sink: 'sink', key: `k${n}`, payload: '1', idempotencyKey: 'i' }]
      return done(lease, { reads, writes: [{ key: `w${n}`, value: '1', expiresAt: 1 }], items })
    })
    await expectFewPages(() => stage.work.settle(outcomes))
  })

  test('reap and the release of a lost claim read a few pages per run', async () => {
    await claim()
    const lost = await claimed()
    await expectFewPages(async () => {
      const text = `SELECT count FROM inbox.release_claims(ARRAY[$1], ARRAY[$2::bigint]) count`
      expect(await measured.query(text, [lost.owner, lost.claim])).toEqual([{ count: batch }])
    })
    await claim()
    await expectFewPages(async () =>
      expect(await measured.query(`SELECT * FROM inbox.reap($1)`, ['replica worker'])).toHaveLength(batch),
    )
  })
}

describe.each<[string, () => Promise<unknown>, number]>([
  ['outdated statistics', async () => {}, Infinity],
  ['current statistics', () => db.query('VACUUM ANALYZE'), maxCost],
])('with %s', (_, prepare, cheap) => {
  beforeAll(async () => void (await prepare()), 120_000)

  test('each statement of a view uses an index and reads a bounded number of rows', async () => {
    for (const [what, read] of viewReads) {
      statements.length = 0
      // New views, because views keep counts.
      await read(openViews())
      expect(statements.length, what).toBeGreaterThan(0)
      for (const statement of statements) {
        const { whole, rowsRead, cost } = await explain(db, statement)
        if (!cachedCount.test(statement.text)) expect(whole, `${what}: ${statement.text}`).toEqual([])
        expect(rowsRead, `${what}: ${statement.text}`).toBeLessThanOrEqual(maxRowsRead)
        if (!typeOfDead.test(statement.text)) expect(cost, `${what}: ${statement.text}`).toBeLessThan(cheap)
      }
    }
  }, 120_000)

  testCalls()
})

describe('with statistics from a time without open runs', () => {
  beforeAll(fillWithOpenRuns, 120_000)

  testCalls()
})
