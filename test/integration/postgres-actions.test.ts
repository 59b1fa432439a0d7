import { describe, expect, onTestFinished, test } from 'vitest'
import { createTestClock, type TestClock } from '../../src/base/clock.ts'
import type { StepResult } from '../../src/inbox/jobs.ts'
import type { HandlerRoute, NewReplay } from '../../src/inbox/port.ts'
import type { Database } from '../../src/inbox/postgres/database.ts'
import { createActions } from '../../src/inbox/postgres/operator-actions.ts'
import { measureSize } from '../../src/inbox/postgres/prune.ts'
import { createReplays } from '../../src/inbox/postgres/replays.ts'
import { anEvent, bytes, loose, ordered } from '../conformance/stage.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { openStage, runState } from './postgres-stage.ts'

const server = usePostgres()
const { ready, waiting } = runState
const late: HandlerRoute = { ...loose, name: 'late', from: 'beginning' }
const all: NewReplay = { filter: { from: 0 }, perSecond: null, newKeys: false }
const many = (count: number) => Array.from({ length: count }, (_, n) => `e${n}`)

/** Operator actions, replays and backfills, without the rest of an inbox. */
async function open(routes: readonly HandlerRoute[], clock: TestClock = createTestClock()) {
  const stage = await openStage(await server.createDatabase(), routes, { clock })
  onTestFinished(() => stage[Symbol.asyncDispose]())
  const { db, accept, definitions, work } = stage
  const wake = () => work.wake()
  const actionsOn = (on: Database) => createActions({ db: on, clock, accept, definitions, wake })
  const replaysOn = (on: Database) => createReplays({ db: on, definitions, isLeader: () => true, wake })
  const replays = replaysOn(db)
  return {
    ...stage,
    actions: actionsOn(db),
    replays,
    actionsOn,
    replaysOn,
    /** Registers routes. Returns the ids of handlers with a backfill. */
    async register(...given: readonly HandlerRoute[]): Promise<readonly number[]> {
      await stage.register(...given)
      await replays.refresh()
      return replays.jobs().map(({ name }) => Number(name.replace('backfill ', '')))
    },
    acceptIds: (...ids: readonly string[]) => stage.acceptNew(...ids.map((id) => anEvent(id))),
    /** Sets all open runs to `done`. */
    endAll: () => db.query(`UPDATE inbox.run SET state = 6, owner = NULL WHERE state < 5`),
  }
}

/** The database, with `work` before each exclusive transaction. */
function before(db: Database, work: () => Promise<unknown>): Database {
  return {
    ...db,
    async exclusively(inside) {
      await work()
      return db.exclusively(inside)
    },
  }
}

/** Keys with open runs, of which not exactly one is at the head. */
const wrongKeys = `SELECT handler_id, replay_id, key, array_agg(state ORDER BY id) FROM inbox.run WHERE state < 5 AND key IS NOT NULL
  GROUP BY handler_id, replay_id, key HAVING count(*) FILTER (WHERE state >= 1) <> 1`

describe('prune', () => {
  const limits = { receivedBefore: Date.UTC(2100, 0, 1), maxBytes: null }

  /** `count` events with done runs and bodies of 4,000 bytes. */
  async function openFilled(count: number) {
    const stage = await open([loose])
    const raw = Buffer.alloc(4_000, 'x')
    await stage.acceptNew(...many(count).map((id) => anEvent(id, { raw, receivedAt: stage.clock.now() })))
    await stage.endAll()
    await stage.clock.advance(1)
    return stage
  }

  test('skips an event that got a run after it was chosen', async () => {
    const stage = await openFilled(3)
    const requeue = () => stage.db.query(`UPDATE inbox.run SET state = 1 WHERE event_seq = 3`)
    expect(await stage.actionsOn(before(stage.db, requeue)).prune(limits)).toMatchObject({ events: 2 })
    expect((await stage.runs()).map(({ event }) => event)).toEqual(['e2'])
    expect(await stage.db.query(`SELECT final_status AS status FROM inbox.event ORDER BY seq`)).toEqual([
      { status: 4 },
      { status: 4 },
      { status: null },
    ])
  })

  test('prunes the oldest bodies down to the size limit, and keeps young ones', async () => {
    const stage = await openFilled(4_000)
    // Autovacuum would do the same: it counts the bodies, and creates files that count.
    await stage.db.query(`VACUUM (ANALYZE)`)
    const { usedBytes, totalBytes } = await measureSize(stage.db)
    expect(usedBytes).toBeGreaterThan(totalBytes * 0.9)
    const bySize = { receivedBefore: null, maxBytes: usedBytes - 2_800_000 }
    expect(await stage.actions.prune(bySize)).toEqual({ events: 0, quarantined: 0, isTooLarge: true })
    await stage.clock.advance(2 * 3_600_000)
    const { events, isTooLarge } = await stage.actions.prune(bySize)
    expect(isTooLarge).toBe(false)
    expect(events).toBeGreaterThan(400)
    expect(events).toBeLessThan(600)
    expect(await stage.db.query(`SELECT min(seq) AS first, count(*) AS count FROM inbox.body`)).toEqual([
      { first: events + 1, count: 4_000 - events },
    ])
    // The files are as large as before, but their free space doesn't count.
    const again = await stage.actions.prune(bySize)
    expect(again.events).toBeLessThan(100)
    expect(again.isTooLarge).toBe(false)
  })
})

describe('replays', () => {
  test('of two leaders create each run once', async () => {
    const stage = await open([loose])
    await stage.acceptIds(...many(1_500))
    await stage.endAll()
    const { id } = await stage.replays.start(all)
    await Promise.all(
      [stage.replays, stage.replaysOn(stage.db)].map(async ({ step }) => {
        let result: StepResult
        do {
          result = await step(id, 200)
          if (result.next === 'waits') await stage.endAll()
        } while (result.next !== 'ended')
      }),
    )
    const runs = await stage.runs(`r.replay_id = ${id}`)
    expect(new Set(runs.map(({ event }) => event)).size).toBe(1_500)
    expect(await stage.db.query(`SELECT state, events, runs, skipped, next_seq AS next FROM inbox.replay`)).toEqual([
      { state: 1, events: 1_500, runs: runs.length, skipped: 0, next: 1_501 },
    ])
  })

  test('create nothing if they are cancelled during a step', async () => {
    const stage = await open([ordered])
    await stage.acceptIds('a', 'b')
    const { id } = await stage.replays.start(all)
    const { step } = stage.replaysOn(before(stage.db, () => stage.replays.cancel(id)))
    expect(await step(id, 200)).toMatchObject({ created: 0 })
    expect(await stage.runs(`r.replay_id = ${id}`)).toEqual([])
  })

  test('replays and backfills wait until a replica has registered handlers', async () => {
    const stage = await open([])
    await stage.acceptIds('a')
    const { id } = await stage.replays.start(all)
    await stage.db.query(`INSERT INTO inbox.handler (name, backfill_seq, backfill_from) VALUES ('late', 1, 0)`)
    await stage.replays.refresh()
    expect(await stage.replays.step(id, 200)).toEqual({ created: 0, next: 'waits' })
    expect(stage.replays.jobs()).toMatchObject([{ name: `replay ${id}` }])
    expect(await stage.register(loose, late)).toHaveLength(2)
    expect(await stage.replays.step(id, 200)).toEqual({ created: 2, next: 'more' })
  })

  test('use the keys that accept uses, and find ids with U+0000', async () => {
    const stage = await open([{ ...ordered, keyPaths: ['data.pair'] }])
    const raw = bytes(JSON.stringify({ data: { pair: 'p\0' } }))
    await stage.acceptNew(...['a\0', 'b', 'a\u0001'].map((id) => anEvent(id, { raw })))
    const live = await stage.runs()
    const { id } = await stage.replays.start({ ...all, filter: { ids: ['a\0', 'b'] } })
    await stage.replays.step(id, 200)
    const replayed = await stage.runs(`r.replay_id = ${id}`)
    expect(replayed.map(({ event, key, state }) => [event, key, state])).toEqual([
      [live[0]?.event, live[0]?.key, ready],
      [live[1]?.event, live[1]?.key, waiting],
    ])
  })
})

describe('a backfill', () => {
  test('creates each run once and in order, while events are accepted', async () => {
    const stage = await open([loose])
    const of = (n: number) => anEvent(`e${n}`, { key: `k${n % 7}` })
    let count = 900
    await stage.acceptNew(...Array.from({ length: count }, (_, n) => of(n)))
    const [handlerId = 0] = await stage.register(loose, { ...ordered, name: 'late', from: 'beginning' })
    let hasEnded = false
    const accepting = (async () => {
      while (!hasEnded) {
        await stage.acceptNew(...Array.from({ length: 10 }, (_, n) => of(count + n)))
        count += 10
      }
    })()
    for (let next: StepResult['next'] = 'more'; next !== 'ended';) {
      ;({ next } = await stage.replays.backfill(handlerId, 200))
      if (next === 'waits') await stage.endAll()
    }
    hasEnded = true
    await accepting
    await stage.acceptNew(of(count++), of(count++))
    expect(stage.replays.jobs()).toEqual([])
    expect((await stage.runs(`h.name = 'late'`)).map(({ event }) => event)).toEqual(many(count))
    expect(await stage.db.query(wrongKeys)).toEqual([])
  })

  test('includes events accepted during its last step', async () => {
    const stage = await open([loose])
    await stage.acceptIds(...many(300))
    const [handlerId = 0] = await stage.register(loose, late)
    const { backfill } = stage.replaysOn(before(stage.db, () => stage.acceptIds('between')))
    expect(await backfill(handlerId, 400)).toEqual({ created: 300, next: 'more' })
    expect(await stage.replays.backfill(handlerId, 400)).toEqual({ created: 1, next: 'ended' })
    await stage.acceptIds('after')
    expect((await stage.runs(`h.name = 'late'`)).map(({ event }) => event)).toEqual([...many(300), 'between', 'after'])
  })
})
