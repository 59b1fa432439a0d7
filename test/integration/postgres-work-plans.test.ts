import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Lease } from '../../src/inbox/port.ts'
import { createDatabase, type Database } from '../../src/inbox/postgres/database.ts'
import { takeLeases } from '../../src/inbox/postgres/leases.ts'
import { settle } from '../../src/inbox/postgres/settle.ts'
import { boom, ordered } from '../conformance/stage.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { done, openTimedStage } from './postgres-stage.ts'

const distinctKeys = 100_000
/** Runs per call, and the maximum pages of tables and indexes read per run. A sequential scan would read thousands. */
const batch = 100
const maxPages = 300

const server = usePostgres()
let db: Database
let close: () => PromiseLike<void>

beforeAll(async () => {
  const url = await server.createDatabase()
  const stage = await openTimedStage(url, [ordered, { ...ordered, name: 'sink', types: [] }])
  close = () => stage[Symbol.asyncDispose]()
  db = measured(createDatabase({ url, connections: 1, now: () => distinctKeys * 2, statementMs: 120_000 }))
  await fill(db)
}, 120_000)

afterAll(async () => {
  await db.close()
  await close()
})

/** One ready run per key, and one that waits behind it. */
async function fill(on: Database): Promise<void> {
  await on.query(`ALTER TABLE inbox.run SET (autovacuum_enabled = false)`)
  const each = `FROM generate_series(1, ${distinctKeys}) n`
  const columns = `type, created_at, received_at, key, secret_label`
  await on.query(
    `INSERT INTO inbox.event (seq, id, ${columns}) SELECT n, 'e' || n, 't', 'x', 0, 'k' || n, 'main' ${each}`,
  )
  await on.query(`INSERT INTO inbox.body (seq, total, raw) SELECT n, n * 500, decode(repeat('00', 500), 'hex') ${each}`)
  for (const state of [1, 0]) {
    await on.query(`INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at)
      SELECT nextval('inbox.run_id'), n, (SELECT h.id FROM inbox.handler h WHERE h.name = 'ordered'), 0, 'k' || n, ${state}, n ${each}`)
  }
  await on.query(`INSERT INTO inbox.state (handler_id, key, value, version, expires_at)
    SELECT (SELECT h.id FROM inbox.handler h WHERE h.name = 'ordered'), 's' || n, '1', 1, n ${each}`)
}

let pages = 0
/** Rows read by sequential scans of large tables. */
let rowsScanned = 0

/** Counts the pages that calls of functions read. */
function measured(on: Database): Database {
  return {
    ...on,
    async query<R>(text: string, values?: readonly unknown[]): Promise<R[]> {
      const isCall = text.includes('FROM inbox.') && !text.includes('inbox.state s')
      // EXPLAIN discards the result, so the call is rolled back and repeated.
      if (isCall) pages += await pagesOf(on, text, values)
      return on.query<R>(text, values)
    },
  }
}

interface Plan {
  readonly 'QUERY PLAN': readonly {
    readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }
  }[]
}

/** The pages that a statement reads, rolled back afterwards. */
async function pagesOf(on: Database, text: string, values?: readonly unknown[]): Promise<number> {
  const undone = new Error('undone')
  let count = 0
  await on
    .exclusively(async (trx) => {
      const [row] = await trx.query<Plan>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values)
      const plan = row?.['QUERY PLAN'][0]?.Plan
      count = (plan?.['Shared Hit Blocks'] ?? NaN) + (plan?.['Shared Read Blocks'] ?? NaN)
      const [read] = await trx.query<{
        rows: number
      }>(`SELECT sum(seq_tup_read)::bigint AS rows FROM pg_stat_xact_user_tables
        WHERE schemaname = 'inbox' AND relname IN ('run', 'event', 'body', 'state')`)
      rowsScanned += read?.rows ?? NaN
      throw undone
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error
    })
  return count
}

async function pagesEach(work: () => Promise<unknown>): Promise<number> {
  pages = 0
  rowsScanned = 0
  await work()
  expect(rowsScanned).toBe(0)
  return pages / batch
}

async function analyzeWithoutOpenRuns(): Promise<void> {
  const closed = 50
  await db.query(`UPDATE inbox.run SET state = state + ${closed}`)
  await db.query('VACUUM ANALYZE inbox.run')
  await db.query(`UPDATE inbox.run SET state = state - ${closed}`)
}

let claims = 0
const claim = async (): Promise<readonly Lease[]> => {
  claims += 1
  const request = { id: claims, handlers: ['ordered'], max: batch, owner: 'x', suspects: false }
  const [taken] = await takeLeases(db, [request], distinctKeys * 2)
  expect(taken?.leases).toHaveLength(batch)
  return taken?.leases ?? []
}

describe.each([
  ['without statistics', async () => {}],
  ['with statistics', () => db.query('ANALYZE')],
  ['with statistics from a time without open runs', analyzeWithoutOpenRuns],
])(`with ${2 * distinctKeys} runs of ${distinctKeys} keys, ${'%s'},`, (_, prepare) => {
  beforeAll(async () => void (await prepare()), 120_000)

  test('claim and settle read a few pages per run', async () => {
    let leases: readonly Lease[] = []
    expect(await pagesEach(async () => (leases = await claim()))).toBeLessThan(maxPages)
    const times = { startedAt: 1, endedAt: 2 }
    const outcomes = leases.map((lease, n) => {
      if (n % 4 === 0) return { ...lease, ...times, kind: 'retry', at: 1, error: boom } as const
      if (n % 4 === 1) return { ...lease, ...times, kind: 'dead', error: boom } as const
      const reads = [
        { query: { prefix: `s${n}`, after: null, limit: 3 }, found: [] },
        { query: { key: 'none' }, found: [] },
      ]
      const items = [{ sink: 'sink', key: `k${n}`, payload: '1', idempotencyKey: 'i' }]
      return n % 4 === 2
        ? done(lease)
        : done(lease, { reads: reads.slice(1), writes: [{ key: `w${n}`, value: '1', expiresAt: 1 }], items })
    })
    expect(await pagesEach(() => settle(db, outcomes, 3))).toBeLessThan(maxPages)
  })

  test('a settle with only done outcomes reads a few pages per run', async () => {
    const leases = await claim()
    const outcomes = leases.map((lease) => done(lease))
    expect(await pagesEach(() => settle(db, outcomes, 3))).toBeLessThan(maxPages)
  })

  test('reap and the release of a lost claim read a few pages per run', async () => {
    await claim()
    const lost = () =>
      db.query<{ count: number }>(
        `SELECT count AS count FROM inbox.release_claims(ARRAY['x'], ARRAY[$1::bigint]) count`,
        [claims],
      )
    expect(await pagesEach(async () => expect(await lost()).toEqual([{ count: batch }]))).toBeLessThan(maxPages)
    await claim()
    const reap = () => db.query(`SELECT * FROM inbox.reap('x')`)
    expect(await pagesEach(async () => expect(await reap()).toHaveLength(batch))).toBeLessThan(maxPages)
  })
})
