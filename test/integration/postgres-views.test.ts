import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createDatabase, type Database, type Rows } from '../../src/inbox/postgres/database.ts'
import { createViews } from '../../src/inbox/postgres/views.ts'
import { encodeCursor } from '../../src/inbox/cursor.ts'
import { eventStatuses } from '../../src/inbox/port.ts'
import { explain, fillInbox, type Statement } from '../support/postgres-filled.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'

/** Number of events: each table gets more rows than one statement may read. */
const events = 84_000
/** Maximum rows of a table that one statement reads. */
const maxRowsRead = 50_000
/** Above this cost PostgreSQL compiles a plan (JIT), which takes longer than executing it. */
const maxCost = 100_000
const clock = createTestClock()

const server = usePostgres()
let filled: Database
let views: Views
/** Statements of the current read. */
const statements: Statement[] = []

beforeAll(async () => {
  filled = createDatabase({ url: await server.createDatabase(), statementMs: 60_000 })
  await fillInbox(filled, events, 2_000)
  views = openViews()
}, 120_000)
afterAll(() => filled.close())

const far = { limit: 50, cursor: encodeCursor(events / 2) }
const rare = { group: 'Rare: boom' }
const reads: readonly [string, (of: Views) => Promise<unknown>][] = [
  ['the newest events', (of) => of.events({ limit: 50 })],
  ['later events', (of) => of.events(far)],
  ['events of a type', (of) => of.events({ limit: 50, type: 'type.2' })],
  ['events of an unknown type', (of) => of.events({ limit: 50, type: 'none' })],
  ['events of a wallet', (of) => of.events({ limit: 50, network: 'base', address: '777' })],
  ['events of a period', (of) => of.events({ limit: 50, from: 10_000, to: 11_000 })],
  ['events with a word', (of) => of.events({ limit: 50, q: 'w99' })],
  ...eventStatuses.map((status): (typeof reads)[number] => {
    return [`events that are ${status}`, (of) => of.events({ limit: 50, status })]
  }),
  ['events that are dead with a word', (of) => of.events({ limit: 50, status: 'dead', q: 'w99' })],
  ['an event', (of) => of.event('e4243')],
  ['unknown ids', (of) => of.unknownIds(Array.from({ length: 1_000 }, (_, n) => `e${n * 1_000}`))],
  ['the newest dead letters', (of) => of.deadLetters({ limit: 50 })],
  ['later dead letters', (of) => of.deadLetters({ limit: 50, cursor: encodeCursor(500, 50_000) })],
  ['dead letters by all filters', (of) => of.deadLetters({ limit: 50, handler: 'ordered', type: 'type.1', ...rare })],
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
  ['the events of a replay', (of) => of.countReplay({ from: 0 }, [{ types: ['*'] }])],
  ['the events of a replay by status', (of) => of.countReplay({ status: 'dead', type: 'type.1' }, [{ types: ['*'] }])],
  ['the audit', (of) => of.audit({ limit: 50 })],
  // New views, because views keep counts.
  ['the counts', () => openViews().stats()],
  ['the dead letters of the last hour', () => openViews().deadLastHour()],
]

type Views = ReturnType<typeof createViews>

/** Views of the filled database that record their statements. */
function openViews(): Views {
  const db: Rows = {
    query(text, values = []) {
      // The size comes from the short list of tables.
      if (!text.includes('pg_total_relation_size')) statements.push({ text, values })
      return filled.query(text, values)
    },
  }
  return createViews(db, clock)
}

describe.each([
  ['with outdated statistics', Infinity],
  ['with current statistics', maxCost],
])('%s', (_, cheap) => {
  beforeAll(async () => {
    if (cheap === maxCost) await filled.query('VACUUM ANALYZE')
  })

  test.each(reads)('%s: each statement uses an index and reads a bounded number of rows', async (_name, read) => {
    statements.length = 0
    await read(views)
    expect(statements.length).toBeGreaterThan(0)
    for (const statement of statements) {
      const { whole, rowsRead, cost } = await explain(filled, statement)
      expect(whole, statement.text).toEqual([])
      expect(rowsRead, statement.text).toBeLessThanOrEqual(maxRowsRead)
      expect(cost, statement.text).toBeLessThan(cheap)
    }
  })
})
