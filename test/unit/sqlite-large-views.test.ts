import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { mostDeadIds, type Lease } from '../../src/inbox/port.ts'
import { collectDeadIds } from '../../src/inbox/sqlite/dead-views.ts'
import { openMemoryStore, type OpenStore } from '../../src/inbox/sqlite/open.ts'
import { sumQuarantine } from '../../src/inbox/sqlite/quarantine-views.ts'
import { createViews, type SqliteViews } from '../../src/inbox/sqlite/views.ts'
import { aQuarantined, anEvent, boom, loose, ordered } from '../conformance/stage.ts'
import { readAll } from '../conformance/views.ts'

// More than a view looks at in one call: 20,000.
const count = 20_500
const clock = createTestClock(1_000)
let open: OpenStore
let views: SqliteViews

beforeAll(async () => {
  open = await openMemoryStore({ clock })
  views = createViews(open.db, clock)
  const { store } = open
  store.transact([], () => store.register([ordered, loose]))
  const leases: Lease[] = []
  const claim = { handlers: ['loose'], max: count, owner: 'o', suspects: false, leases, bytes: 0 }
  const events = Array.from({ length: count }, (_, n) => {
    // Two in three have keys, and every other one of these waits.
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
})
afterAll(() => open.close())

describe('where there is more than a view looks at in one call', () => {
  test('groups of dead letters say that they are of the newest only', () => {
    const { groups, isComplete } = views.deadGroups({})
    expect(isComplete).toBe(false)
    expect(groups.reduce((total, group) => total + group.count, 0)).toBeLessThanOrEqual(20_000)
  })

  test('a page of dead letters comes back short, with a cursor that leads to all there are', async () => {
    const first = views.deadLetters({ limit: 500, group: 'Rare: boom' })
    expect(first.data.length).toBeLessThan(300)
    expect(first.nextCursor).not.toBeNull()
    const all = await readAll(async (cursor) => views.deadLetters({ ...cursor, limit: 500, group: 'Rare: boom' }))
    expect(new Set(all.map(({ runId }) => runId)).size).toBe(300)
    expect(all).toHaveLength(300)
  })

  test('all run ids are found, part after part', async () => {
    let parts = 0
    const { runIds: found, isComplete } = await collectDeadIds({}, async (part) => {
      parts += 1
      return views.deadRunIds(part)
    })
    expect(parts).toBeGreaterThan(1)
    expect(isComplete).toBe(true)
    expect(found).toHaveLength(count)
    expect(found).toEqual(found.toSorted((a, b) => a - b))
  })

  test.each([
    [mostDeadIds, true],
    [mostDeadIds + 1, false],
  ])('of %d run ids as many as are found at once are given, and whether these are all', async (there, isAll) => {
    const partSize = 30_000
    const { runIds, isComplete } = await collectDeadIds({}, async ({ behind: [, below] }) => {
      // The first part begins at no run id: below 0 there is none.
      const top = below === 0 ? there : below - 1
      const ids = Array.from({ length: Math.min(partSize, top) }, (_, n) => top - n)
      return { runIds: ids, behind: top > partSize ? [0, top - partSize + 1] : null }
    })
    expect([runIds.length, runIds.at(-1), isComplete]).toEqual([mostDeadIds, there, isAll])
    expect(runIds[0]).toBe(there - mostDeadIds + 1)
  })

  test('the quarantine is summed up whole, part after part', async () => {
    const groups = await sumQuarantine(async (after) => views.quarantineGroups(after))
    expect(groups).toMatchObject([{ reason: 'not_json', count }])
  })

  test('runs are counted whole in parts, and the same counts are given again for a while', async () => {
    const byHandler = open.db
      .prepare('SELECT state, count(*) AS count FROM run WHERE handler_id = 1 GROUP BY state ORDER BY state')
      .all() as { readonly count: number }[]
    const [waiting, ready] = byHandler.map((row) => row.count)
    expect(waiting).toBeGreaterThan(5_000)
    const stats = await views.stats()
    expect(stats.handlers).toMatchObject([
      { handler: 'loose', waiting: 0, ready: 0, dead: count },
      { handler: 'ordered', waiting, ready, dead: 0 },
    ])
    expect(stats).toMatchObject({ lastSeq: count, quarantined: count, oldestOpenAt: anEvent('e0').receivedAt })
    const { store } = open
    store.transact([], () => store.accept([anEvent('one more')]))
    const again = views.stats()
    expect(again).not.toBeInstanceOf(Promise)
    expect(await again).toMatchObject({ lastSeq: count + 1, handlers: stats.handlers })
  })
})

test('dead letters from before their groups were noted are grouped all the same', () => {
  open.db.prepare('UPDATE run SET error_group = NULL WHERE error_group IS NOT NULL AND id > ?').run(count)
  const groups = views.deadGroups({}).groups.map(({ group }) => group)
  expect(groups).toContain('Error: boom')
})
