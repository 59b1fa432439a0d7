import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createDatabase, type Database, type Rows } from '../../src/inbox/postgres/database.ts'
import { createViews, viewStoreOf } from '../../src/inbox/postgres/views.ts'
import { encodeCursor } from '../../src/inbox/cursor.ts'
import { eventStatuses, runStates } from '../../src/inbox/port.ts'
import { createRunCounts } from '../../src/inbox/views/stats.ts'
import { readAll } from '../conformance/views.ts'
import { explain, fillInbox, type Statement } from '../support/postgres-filled.ts'
import { startPostgresInboxes, type PostgresInboxes } from '../support/postgres-inboxes.ts'

/** Of each sort that is counted there are more than are counted at once. */
const events = 84_000
/** No statement of a read reads more rows of a table. */
const mostRowsRead = 50_000
/** What PostgreSQL thinks costs more it compiles before it runs it, which takes longer than to run it. */
const mostCost = 100_000
const clock = createTestClock()

let inboxes: PostgresInboxes
let filled: Database
let views: Reads
/** What was asked for since it was emptied. */
const asked: Statement[] = []

beforeAll(async () => {
  inboxes = await startPostgresInboxes()
  filled = createDatabase({ url: await inboxes.createDatabase(), statementMs: 60_000 })
  await fillInbox(filled, events, 2_000)
  views = readsOf()
}, 120_000)
afterAll(async () => {
  await filled.close()
  await inboxes[Symbol.asyncDispose]()
})

const far = { limit: 50, cursor: encodeCursor(events / 2) }
const rare = { group: 'Rare: boom' }
const reads: readonly [string, (of: Reads) => Promise<unknown>][] = [
  ['the newest events', (of) => of.events({ limit: 50 })],
  ['events further on', (of) => of.events(far)],
  ['events of a type', (of) => of.events({ limit: 50, type: 'type.2' })],
  ['events of a type that never came', (of) => of.events({ limit: 50, type: 'none' })],
  ['events of a wallet', (of) => of.events({ limit: 50, network: 'base', address: '777' })],
  ['events of a time', (of) => of.events({ limit: 50, from: 10_000, to: 11_000 })],
  ['events with a word', (of) => of.events({ limit: 50, q: 'w99' })],
  ...eventStatuses.map((status): (typeof reads)[number] => {
    return [`events that are ${status}`, (of) => of.events({ limit: 50, status })]
  }),
  ['events that are dead with a word', (of) => of.events({ limit: 50, status: 'dead', q: 'w99' })],
  ['an event', (of) => of.event('e4243')],
  ['which ids are unknown', (of) => of.unknownIds(Array.from({ length: 1_000 }, (_, n) => `e${n * 1_000}`))],
  ['the newest dead letters', (of) => of.deadLetters({ limit: 50 })],
  ['dead letters further on', (of) => of.deadLetters({ limit: 50, cursor: encodeCursor(500, 50_000) })],
  ['dead letters by all there is', (of) => of.deadLetters({ limit: 50, handler: 'ordered', type: 'type.1', ...rare })],
  ['a dead letter', (of) => of.deadLetter(8)],
  ['groups of dead letters', (of) => of.deadGroups({})],
  ['groups of dead letters of a type', (of) => of.deadGroups({ type: 'type.1' })],
  ['run ids of dead letters', (of) => of.deadRunIds({ handler: 'ordered', type: 'type.1' })],
  ['conflicts', (of) => of.conflicts({ limit: 50 })],
  ['a conflict', (of) => of.conflict('e77', 'none')],
  ['the quarantine', (of) => of.quarantine({ limit: 50 })],
  ['the quarantine by reason', (of) => of.quarantine({ limit: 50, reason: 'reason 1' })],
  ['a body in quarantine', (of) => of.quarantined('sha256:77')],
  ['groups of the quarantine', (of) => of.quarantineGroups()],
  ['replays', (of) => of.replays({ limit: 50 })],
  ['a replay', (of) => of.replay(77)],
  ['the events of a replay', (of) => of.countReplay({ from: 0 }, ['*'])],
  ['the events of a replay by status', (of) => of.countReplay({ status: 'dead', type: 'type.1' }, ['*'])],
  ['the audit', (of) => of.audit({ limit: 50 })],
  // Of new views: the others keep what they counted.
  ['the counts', () => readsOf().stats()],
]

type Reads = ReturnType<typeof readsOf>

function readsOf() {
  const db = recording()
  return createViews(db, clock)
}

/** The filled database; what it is asked is noted. */
function recording(): Rows {
  return {
    query(text, values = []) {
      // The size is looked up in the list of tables, of which there are few.
      if (!text.includes('pg_total_relation_size')) asked.push({ text, values })
      return filled.query(text, values)
    },
  }
}

describe.each([
  ['where PostgreSQL looked last while there was little', Infinity],
  ['where PostgreSQL knows what there is', mostCost],
])('%s', (_, cheap) => {
  beforeAll(async () => {
    if (cheap === mostCost) await filled.query('VACUUM ANALYZE')
  })

  test.each(reads)('%s are read by an index, a bounded number of rows with each statement', async (_name, read) => {
    asked.length = 0
    await read(views)
    const statements = [...asked]
    expect(statements.length).toBeGreaterThan(0)
    for (const statement of statements) {
      const { whole, rowsRead, cost } = await explain(filled, statement)
      expect(whole, statement.text).toEqual([])
      expect(rowsRead, statement.text).toBeLessThanOrEqual(mostRowsRead)
      expect(cost, statement.text).toBeLessThan(cheap)
    }
  })
})

describe('where there is more than one statement looks at', () => {
  test('a page with few matches is short, and its cursors lead to all matches', async () => {
    const pages: number[] = []
    const all = await readAll(async (cursor) => {
      const page = await views.events({ limit: 500, network: 'base', address: '77', ...cursor })
      pages.push(page.data.length)
      expect(page.searchedTo).not.toBeNull()
      return page
    })
    expect(all.map(({ seq }) => seq)).toEqual([467, 466, 464, 463])
  })

  test('a page of dead letters comes back short, with a cursor that leads to all there are', async () => {
    const first = await views.deadLetters({ limit: 500, ...rare })
    expect(first.data.length).toBeLessThan(201)
    expect(first.nextCursor).not.toBeNull()
    const all = await readAll((cursor) => views.deadLetters({ limit: 500, ...rare, ...cursor }))
    expect(all).toHaveLength(201)
    expect(new Set(all.map(({ runId }) => runId)).size).toBe(201)
  })

  test('groups of dead letters say that they are of the newest only', async () => {
    const { groups, isComplete } = await views.deadGroups({})
    expect(isComplete).toBe(false)
    expect(groups).toMatchObject([{ group: 'Error: boom', count: 20_000, held: 0, lastDiedAt: events / 100 }])
    expect(groups[0]?.sample).toMatchObject({ runId: 2 * events, handler: 'ordered', diedAt: events / 100 })
  })

  test('all run ids of dead letters are found, and all of the quarantine is summed up', async () => {
    const { runIds, isComplete } = await views.deadRunIds({})
    expect([runIds.length, new Set(runIds).size, isComplete]).toEqual([events / 4 + 1, events / 4 + 1, true])
    expect(runIds).toEqual(runIds.toSorted((a, b) => a - b))
    const groups = await views.quarantineGroups()
    expect(groups).toMatchObject([
      { reason: 'reason 0', count: events / 8, firstAt: 2, lastAt: events / 4 },
      { reason: 'reason 1', count: events / 8, firstAt: 1, lastAt: events / 4 - 1 },
    ])
  })

  test('runs are counted whole, in however many parts', async () => {
    const rows = await filled.query<{ state: number; count: number; oldest: number }>(
      'SELECT state, count(*) AS count, min(id) AS oldest FROM inbox.run WHERE handler_id = 1 GROUP BY state',
    )
    const expected = Object.fromEntries(
      ['waiting', 'ready', 'suspect', 'running', 'held', 'dead'].map((name) => {
        const row = rows.find(({ state }) => runStates[state] === name)
        return [name, row?.count ?? 0]
      }),
    )
    expect(expected['waiting']).toBeGreaterThan(5_000)
    for (const limits of [
      { few: 20_000, perStatement: 50_000 },
      { few: 10, perStatement: 997 },
      { few: events, perStatement: 1 },
    ]) {
      const counts = await createRunCounts(viewStoreOf(filled), limits)()
      expect([...counts]).toEqual([[1, { ...expected, oldestRun: 2 }]])
    }
  })
})
