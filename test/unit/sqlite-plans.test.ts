import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { openMemoryStore, type OpenStore } from '../../src/inbox/sqlite/open.ts'
import { hiddenParameter, statementTexts } from '../../src/inbox/sqlite/statements.ts'
import { anEvent, boom, ordered } from '../conformance/stage.ts'

type Name = keyof typeof statementTexts

const names = Object.keys(statementTexts) as Name[]
const largeTables = [
  'event',
  'run',
  'body',
  'attempt',
  'item',
  'state',
  'conflict',
  'quarantine',
  'redelivery',
  'audit',
]
const lookup = /^SEARCH (\w+) USING/
/** Statements that read a whole partial index: at the start, or when the clock was set back. */
const indexScans: readonly Name[] = ['heldCount', 'running', 'shiftOpenRuns']
/** Statements that read the last row of a table. */
const lastRows: readonly Name[] = ['lastBody', 'lastQuarantined', 'lastReceived', 'maxRunId']

/** Plans in which each column of the index counts. */
const exactPlans: Partial<Record<Name, string>> = {
  claimable: 'SEARCH r USING INDEX run_claimable (state=? AND handler_id=? AND replay_id=? AND run_at<?)',
  nextDue: 'SEARCH run USING COVERING INDEX run_claimable (state=? AND handler_id=? AND replay_id=?)',
  nextReplay: 'SEARCH run USING COVERING INDEX run_claimable (state=? AND handler_id=? AND replay_id>?)',
  openOfKey: 'SEARCH run USING COVERING INDEX run_open (handler_id=? AND replay_id=? AND key=?)',
  newestOfKey: 'SEARCH run USING COVERING INDEX run_open (handler_id=? AND replay_id=? AND key=?)',
  openCount: 'SEARCH run USING COVERING INDEX run_open (handler_id=? AND replay_id=?)',
  expiredState: 'SEARCH state USING COVERING INDEX state_expiry (expires_at>? AND expires_at<?)',
  stateBetween: 'SEARCH state USING PRIMARY KEY (handler_id=? AND key>? AND key<?)',
}

let open: OpenStore

beforeAll(async () => {
  open = await openMemoryStore({ clock: createTestClock() })
})
afterAll(() => open.close())

function planOf(name: Name): string[] {
  const text = statementTexts[name]
  const parameters = Array.from(text.matchAll(/\?/g), () => 1)
  const rows = open.db.prepare<number[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all(...parameters)
  return rows.map(({ detail }) => detail)
}

/** Steps of a plan that read a large table without a lookup, or sort rows of one. */
function slowSteps(name: Name): string[] {
  const plan = planOf(name)
  const isSorting = plan.some((step) => step.includes('TEMP B-TREE')) && name !== 'gaps'
  const scans = plan.filter((step) => {
    const table = /^(?:SCAN|SEARCH) (\w+)/.exec(step)?.[1] ?? ''
    if (!largeTables.includes(table) || lookup.test(step)) return false
    return !(indexScans.includes(name) && step.includes(' INDEX run_')) && !lastRows.includes(name)
  })
  return isSorting ? [...scans, ...plan] : scans
}

function fill(): void {
  const { store } = open
  const claim = { handlers: ['ordered'], max: 1_000, owner: 'worker', suspects: false, leases: [], bytes: 0 }
  store.transact([claim], () => {
    store.register([ordered])
    for (let n = 0; n < 50_000; n += 1) store.accept([anEvent(`e${n}`, { key: `solana:${n}` })])
  })
  const dead = { token: 1, startedAt: 1, endedAt: 2, error: boom, kind: 'dead' as const }
  store.transact([], () => store.settle(Array.from({ length: 500 }, (_, n) => ({ ...dead, runId: n + 1 }))))
}

describe.each([
  ['on an empty database', () => {}],
  ['with 50,000 runs of distinct keys', fill],
  ['with statistics of them', () => void open.db.exec('ANALYZE')],
])('the planner %s', (_, prepare) => {
  beforeAll(prepare)

  test('uses an index for every statement', () => {
    expect(
      Object.fromEntries(names.map((name) => [name, slowSteps(name)]).filter(([, steps]) => steps!.length > 0)),
    ).toEqual({})
  })

  test('uses all columns of the index', () => {
    for (const [name, step] of Object.entries(exactPlans)) expect(planOf(name as Name)[0], name).toBe(step)
  })
})

test('statements name their index if they read several rows of a large table', () => {
  const large = /\b(?:FROM|JOIN) (?:event|run|body)\b/
  const byRowid = /WHERE (?:[be]\.)?(?:id|seq) (?:=|>=?) \?|ORDER BY (?:id|seq) DESC LIMIT 1/
  const without = names.filter((name) => {
    const text = statementTexts[name].replaceAll(hiddenParameter, '?')
    return large.test(text) && !text.includes('INDEXED BY') && !byRowid.test(text)
  })
  expect(without).toEqual([])
})
