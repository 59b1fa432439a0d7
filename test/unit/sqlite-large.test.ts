import type { Database } from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { Lease } from '../../src/inbox/port.ts'
import { openMemoryStore, type OpenStore } from '../../src/inbox/sqlite/open.ts'
import { hiddenParameter, statementTexts } from '../../src/inbox/sqlite/statements.ts'
import { createViews, viewStoreOf } from '../../src/inbox/sqlite/views.ts'
import type { Views } from '../../src/inbox/views/views.ts'
import { createCachedCount, createRunCounts } from '../../src/inbox/views/stats.ts'
import { aQuarantined, anEvent, boom, loose, ordered } from '../conformance/stage.ts'
import { viewReads } from '../support/view-reads.ts'

// More runs than are counted on every call: 20,000.
const count = 20_500
const clock = createTestClock(1_000)
const texts: string[] = []
let open: OpenStore
let views: Views

beforeAll(async () => {
  open = await openMemoryStore({ clock })
  views = createViews(recording(), clock)
})
afterAll(() => open.close())

function fill(): void {
  const { store } = open
  store.transact([], () => store.register([ordered, loose]))
  const leases: Lease[] = []
  const claim = { handlers: ['loose'], max: count, owner: 'o', suspects: false, leases, bytes: 0 }
  const events = Array.from({ length: count }, (_, n) => {
    // Two in three have keys. Half of these wait.
    return n % 3 === 0 ? anEvent(`e${n}`) : anEvent(`e${n}`, { network: 'base', address: `${Math.floor(n / 6)}` })
  })
  store.transact([claim], () => store.accept(events))
  const verdict = { kind: 'dead', startedAt: 1, endedAt: 2 } as const
  store.transact([], () =>
    store.settle(
      leases.map(({ runId, token }, n) => ({
        ...verdict,
        runId,
        token,
        error: n < 300 ? { ...boom, name: 'Rare' } : boom,
      })),
    ),
  )
  store.transact([], () => store.accept(Array.from({ length: count }, (_, n) => aQuarantined(`q${n}`))))
}

/** The open database. Records the text of each statement. */
function recording(): Database {
  return new Proxy(open.db, {
    get(db, name) {
      const value = db[name as keyof Database] as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'prepare') texts.push(String(args[0]))
        return (value as (...given: unknown[]) => unknown).apply(db, args)
      }
    },
  })
}

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

const reads: typeof viewReads = [
  ...viewReads,
  ['the counts of many runs', () => createRunCounts(viewStoreOf(recording()), 10)()],
]

/** The plan of a statement, with a value for each of its parameters. */
function planOf(text: string): string[] {
  const parameters = Array.from(text.matchAll(/\?/g), () => 1)
  const named = Object.fromEntries(Array.from(text.matchAll(/:(\w+)/g), ([, name]) => [name, 1]))
  return open.db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
    .all(...parameters, ...(Object.keys(named).length > 0 ? [named] : []))
    .map(({ detail }) => detail)
}

/** Steps of a hot statement that read a large table without a lookup, or sort rows of one. */
function slowSteps(name: Name): string[] {
  const plan = planOf(statementTexts[name])
  const isSorting = plan.some((step) => step.includes('TEMP B-TREE')) && name !== 'gaps'
  const scans = plan.filter((step) => {
    const table = /^(?:SCAN|SEARCH) (\w+)/.exec(step)?.[1] ?? ''
    if (!largeTables.includes(table) || lookup.test(step)) return false
    return !(indexScans.includes(name) && step.includes(' INDEX run_')) && !lastRows.includes(name)
  })
  return isSorting ? [...scans, ...plan] : scans
}

/** Steps of a view that read or sort a whole table. */
function slowViewSteps(text: string): string[] {
  const plan = planOf(text)
  return plan.filter((step, index) => {
    // The newest event is the last row of its table. Parts have a bounded size, and groups are few.
    const isWhole = largeTables.some((table) => step === `SCAN ${table}`) || step === 'SCAN replay'
    const isSorted = step.endsWith('ORDER BY') && !/^SCAN (?:part|first|block)$|GROUP BY$/.test(plan[index - 1] ?? '')
    return (isWhole && !/^select "?seq"? from "?event"? order by/i.test(text)) || isSorted
  })
}

describe.each([
  ['on an empty database', () => {}],
  ['with many runs and keys', fill],
  ['with statistics of them', () => void open.db.exec('ANALYZE')],
])('the planner %s', (_, prepare) => {
  beforeAll(prepare)

  test('uses an index for every statement', () => {
    const slow = names.map((name) => [name, slowSteps(name)] as const).filter(([, steps]) => steps.length > 0)
    expect(Object.fromEntries(slow)).toEqual({})
  })

  test('uses all columns of the index', () => {
    for (const [name, step] of Object.entries(exactPlans))
      expect(planOf(statementTexts[name as Name])[0], name).toBe(step)
  })

  test.each(reads)('uses indexes to read %s', async (_what, read) => {
    texts.length = 0
    await read(createViews(recording(), clock))
    expect(texts.length).toBeGreaterThan(0)
    expect(texts.flatMap((text) => slowViewSteps(text).map((step) => `${step}: ${text}`))).toEqual([])
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

describe('in a large store', () => {
  test('dead letters are grouped and listed exactly', async () => {
    const { groups, isComplete } = await views.deadGroups({})
    expect(isComplete).toBe(true)
    expect(groups.map((group) => group.count)).toEqual([count - 300, 300])
    const rare = await views.deadLetters({ limit: 500, group: 'Rare: boom' })
    expect(rare.data).toHaveLength(300)
    expect(rare.nextCursor).toBeNull()
    const all = await views.deadRunIds({})
    expect(all.isComplete).toBe(true)
    expect(all.runIds).toHaveLength(count)
  })

  test('all runs are counted, and large counts are cached', async () => {
    const byState = open.db
      .prepare('SELECT state, count(*) AS count FROM run WHERE handler_id = 1 GROUP BY state ORDER BY state')
      .all() as { readonly count: number }[]
    const [waiting, ready] = byState.map((row) => row.count)
    expect(waiting).toBeGreaterThan(5_000)
    const stats = await views.stats()
    expect(stats.handlers).toMatchObject([
      { handler: 'loose', waiting: 0, ready: 0, dead: count },
      { handler: 'ordered', waiting, ready, dead: 0 },
    ])
    expect(await views.deadLastHour()).toBe(count)
    expect(stats).toMatchObject({ lastSeq: count, quarantined: count, oldestOpenAt: anEvent('e0').receivedAt })
    const counts = await createRunCounts(viewStoreOf(open.db))()
    expect([...counts.values()]).toMatchObject([{ waiting, ready, oldestRun: 1 }, { dead: count }])
    open.store.transact([], () => open.store.accept([anEvent('one more')]))
    expect(await views.stats()).toMatchObject({ lastSeq: count + 1, handlers: stats.handlers })
  })
})

test('dead letters of older versions, which have no stored group, share one', async () => {
  open.db.prepare('UPDATE run SET error_group = NULL WHERE error_group IS NOT NULL AND id > ?').run(count)
  const { groups } = await views.deadGroups({})
  const group = 'unknown: no error was recorded'
  const old = groups.find((row) => row.group === group)!
  expect(old).toMatchObject({ frame: null, sample: { error: { message: 'boom' } } })
  expect((await views.deadRunIds({ group })).runIds).toHaveLength(old.count)
})

test('a slow count is cached for twenty times its duration, then repeated in the background; after a minute, calls wait', async () => {
  let [now, value] = [0, 0]
  const counted: (() => void)[] = []
  const kept = createCachedCount(
    () => new Promise<number>((resolve) => counted.push(() => resolve((value += 1)))),
    () => true,
    () => now,
  )
  const [first, same] = [kept(), kept()]
  now += 200
  counted.shift()?.()
  expect(await Promise.all([first, same])).toEqual([1, 1])
  now += 4_000
  expect([await kept(), counted.length]).toEqual([1, 0])
  now += 1
  expect([await kept(), await kept(), counted.length]).toEqual([1, 1, 1])
  counted.shift()?.()
  expect(await kept()).toBe(1)
  await new Promise(setImmediate)
  expect(await kept()).toBe(2)
  now += 200_000
  const waiting = kept()
  counted.shift()?.()
  expect(await waiting).toBe(3)
})

test('a count that fails after three seconds is not repeated for a minute; one that fails within a second is', async () => {
  let [now, calls, tookMs] = [0, 0, 3_000]
  const fail = async () => {
    now += tookMs
    throw new Error(`failed ${++calls}`)
  }
  const kept = createCachedCount(fail, undefined, () => now)
  await expect(kept()).rejects.toThrow('failed 1')
  now += 59_999
  await expect(kept()).rejects.toThrow('failed 1')
  ;[now, tookMs] = [now + 1, 999]
  await expect(kept()).rejects.toThrow('failed 2')
  await expect(kept()).rejects.toThrow('failed 3')
})
