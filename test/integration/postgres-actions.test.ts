import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { HandlerRoute } from '../../src/inbox/port.ts'
import { measureSize } from '../../src/inbox/postgres/prune.ts'
import { anEvent, loose, ordered } from '../conformance/stage.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { describeReplaySteps } from './postgres-actions-replays.ts'
import {
  type ActionsStage,
  before,
  by,
  many,
  openActsStage,
  runState,
  statesOf,
  wrongKeys,
} from './postgres-actions-stage.ts'

let server: PostgresInboxes
beforeAll(async () => {
  server = await startPostgresInboxes()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

async function open(...routes: readonly HandlerRoute[]): Promise<ActionsStage> {
  const stage = await openActsStage(server)
  onTestFinished(() => stage[Symbol.asyncDispose]())
  await stage.register(...routes)
  return stage
}

const hourMs = 3_600_000
const { waiting, ready, running, done, dropped } = runState

describe('actions on runs', () => {
  test('leave alone what is running, whatever is asked for', async () => {
    const stage = await open(ordered)
    await stage.acceptIds(['a', 'b', 'c'], 'k')
    const [a] = await stage.claim(1)
    const before = await stage.runs(`r.id = ${a}`)
    expect(await stage.actions.requeueDead([a!])).toBe(0)
    expect(await stage.actions.dropDead([a!], 'no')).toBe(0)
    expect(await stage.actions.discardPendingRuns('ordered', 'gone')).toBe(2)
    expect(await stage.runs(`r.id = ${a}`)).toEqual(before)
    expect(await statesOf(stage)).toEqual([
      ['a', running],
      ['b', dropped],
      ['c', dropped],
    ])
  })

  test('requeue several dead letters of a key in order, behind what is open of it', async () => {
    const stage = await open(ordered)
    await stage.acceptIds(['a', 'b', 'c'], 'k')
    await stage.end(await stage.claim(1), 'dead')
    await stage.end(await stage.claim(1), 'dead')
    const wokenBefore = stage.woken()
    expect(await stage.actions.requeueDead('all', by)).toBe(2)
    expect(stage.woken()).toBeGreaterThan(wokenBefore)
    expect(await statesOf(stage)).toEqual([
      ['a', waiting],
      ['b', waiting],
      ['c', ready],
    ])
    await stage.end(await stage.claim(1))
    expect(await statesOf(stage)).toEqual([
      ['a', ready],
      ['b', waiting],
      ['c', done],
    ])
  })

  test('and whatever else happens leave no key without a head, and none with two', async () => {
    const seed = Math.trunc(Math.random() * 2 ** 32)
    const clock = createTestClock(0, seed)
    const random = () => clock.random()
    const pick = (below: number) => Math.trunc(random() * below)
    const stage = await open(ordered)
    let count = 0
    const some = (ids: readonly number[]) => ids.filter(() => random() < 0.6)
    const ids = async (where: string) => (await stage.runs(where)).map(({ id }) => id)
    const actions: (() => Promise<unknown>)[] = [
      () => stage.accept(...Array.from({ length: 1 + pick(4) }, () => anEvent(`e${count++}`, { key: `k${pick(3)}` }))),
      () => stage.claim(1 + pick(3)),
      async () => stage.end(some(await ids('r.state = 3'))),
      async () => stage.end(some(await ids('r.state = 3')), 'dead'),
      async () => stage.end(some(await ids('r.state = 3')), 'held'),
      async () => stage.actions.requeueDead(some(await ids('r.state < 6'))),
      async () => stage.actions.dropDead(some(await ids('r.state < 6')), 'x'),
      () => (pick(6) === 0 ? stage.actions.discardPendingRuns('ordered', 'x') : stage.actions.requeueDead('all')),
      async () => {
        const { id } = await stage.replays.start({ filter: { from: 0 }, perSecond: null, newKeys: false })
        await stage.replays.jobs.step(id, 1 + pick(20))
        if (pick(2) === 0) await stage.replays.cancel(id)
      },
    ]
    for (let n = 0; n < 150; n += 1) {
      const at = pick(actions.length)
      const before = await stage.runs('r.state = 3')
      await actions[at]!()
      const what = `seed ${seed}, step ${n}, action ${at}`
      if (at > 4) expect(await stage.runs('r.state = 3'), what).toEqual(before)
      expect(await stage.db.query(wrongKeys), what).toEqual([])
    }
    // All can be worked off.
    for (let left = await stage.claim(99); left.length > 0; left = await stage.claim(99)) await stage.end(left)
    await stage.end(await ids('r.state = 3'))
    await stage.actions.dropDead('all', 'x')
    for (let left = await stage.claim(99); left.length > 0; left = await stage.claim(99)) await stage.end(left)
    expect(await stage.runs('r.state < 6'), `seed ${seed}`).toEqual([])
  })
})

describe('actions on handlers and quarantine', () => {
  test('are noted with who did it, and only where they changed something', async () => {
    const stage = await open(ordered)
    expect(await stage.actions.setPaused('ordered', true, by)).toBe(true)
    expect(await stage.actions.setPaused('nobody', true, by)).toBe(false)
    expect(await stage.actions.setPaused(null, true)).toBe(true)
    expect(await stage.actions.setConcurrency('ordered', 3, by)).toBe(true)
    expect(await stage.actions.setConcurrency('nobody', 3, by)).toBe(false)
    expect(await stage.actions.discardPendingRuns('nobody', 'x')).toBeNull()
    expect(await stage.actions.dropQuarantined('sha256:x', 'x')).toBe(false)
    expect(await stage.actions.retryQuarantined('sha256:x', anEvent('a'))).toBeNull()
    await stage.actions.note('session.begin', { role: 'viewer', of: 'a\0b' }, 'a\0b')
    expect((await stage.notes()).map(({ action, by: who }) => [action, who])).toEqual([
      ['handler.pause', by],
      ['handler.pause', null],
      ['handler.set', by],
      ['session.begin', 'a\u0001\u0001b'],
    ])
    expect(await stage.runs()).toEqual([])
  })
})

describe('prune', () => {
  const limits = (stage: ActionsStage, days = 0) => ({ receivedBefore: stage.clock.now() - days, maxBytes: null })

  /** So many events that are done, of 4,000 bytes each. */
  async function filled(count: number): Promise<ActionsStage> {
    const stage = await open(loose)
    const raw = Buffer.alloc(4_000, 'x')
    for (let n = 0; n < count; n += 500) {
      const ids = many(Math.min(n + 500, count)).slice(n)
      await stage.accept(...ids.map((id) => anEvent(id, { raw, receivedAt: stage.clock.now() })))
    }
    await stage.end(await stage.claim(count))
    return stage
  }

  test('leaves out what got a run after it was looked at, and what a new handler is to get', async () => {
    const stage = await filled(3)
    const [first, , last] = await stage.runs()
    await stage.clock.advance(1)
    const requeue = before(stage.db, () =>
      stage.db.query(`UPDATE inbox.run SET state = 1 WHERE id = $1`, [last!.id]).then(),
    )
    expect(await stage.actionsOn(requeue).prune(limits(stage))).toMatchObject({ events: 2 })
    expect((await stage.runs()).map(({ id }) => id)).toEqual([last!.id])
    expect(await stage.db.query(`SELECT id, final_status AS status FROM inbox.event ORDER BY seq`)).toEqual([
      { id: 'e0', status: 4 },
      { id: 'e1', status: 4 },
      { id: 'e2', status: null },
    ])
    await stage.end(await stage.claim(1))
    await stage.register(loose, { ...loose, name: 'late', from: 'beginning' })
    expect(await stage.actions.prune(limits(stage))).toMatchObject({ events: 0 })
    await stage.register(loose)
    expect(await stage.actions.prune(limits(stage))).toMatchObject({ events: 1 })
    await stage.acceptIds(['next'])
    expect((await stage.runs())[0]!.id).toBeGreaterThan(first!.id + 2)
  })

  test('prunes the oldest bodies down to the size limit, and keeps young ones', async () => {
    const stage = await filled(4_000)
    // As autovacuum would at some time: it counts the bodies, and makes small files of its own, which are not to come in between.
    await stage.db.query(`VACUUM (ANALYZE)`)
    const { usedBytes, totalBytes } = await measureSize(stage.db)
    expect(usedBytes).toBeGreaterThan(totalBytes * 0.9)
    const maxBytes = usedBytes - 2_800_000
    const bySize = { receivedBefore: null, maxBytes }
    expect(await stage.actions.prune(bySize)).toEqual({ events: 0, quarantined: 0, isTooLarge: true })
    await stage.clock.advance(2 * hourMs)
    const { events, isTooLarge } = await stage.actions.prune(bySize)
    expect(isTooLarge).toBe(false)
    expect(events).toBeGreaterThan(400)
    expect(events).toBeLessThan(600)
    const kept = await stage.db.query<{ seq: number }>(`SELECT seq FROM inbox.body ORDER BY seq`)
    expect(kept.map(({ seq }) => seq)).toEqual(Array.from({ length: 4_000 - events }, (_, n) => events + 1 + n))
    // Its files are as large as before; but what was pruned is not in the way of what comes.
    const again = await stage.actions.prune(bySize)
    expect(again.events).toBeLessThan(100)
    expect(again.isTooLarge).toBe(false)
  })
})

describeReplaySteps(open, () => openActsStage(server))
