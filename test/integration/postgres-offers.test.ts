import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import type { ClaimRequest, HandlerRoute, Lease } from '../../src/inbox/port.ts'
import { createAccept } from '../../src/inbox/postgres/accept.ts'
import type { Database } from '../../src/inbox/postgres/database.ts'
import { anEvent, boom, idsOf, loose, ordered } from '../conformance/stage.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'
import { done, openTimedStage } from './postgres-work-stage.ts'

let server: PostgresInboxes

beforeAll(async () => {
  server = await startPostgresInboxes()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

async function openStage(...routes: readonly HandlerRoute[]) {
  let asked = 0
  const between = (db: Database): Database => ({
    ...db,
    async query<R>(text: string, values?: readonly unknown[]) {
      const rows = await db.query<R>(text, values)
      if (text.includes('inbox.claim(')) asked += 1
      return rows
    },
  })
  const stage = await openTimedStage(await server.createDatabase(), routes, between)
  return {
    stage,
    asked: () => asked,
    /** A claim that has found nothing, and waits. */
    async waiting(given: Partial<ClaimRequest> = {}): Promise<{ readonly leases: Promise<readonly Lease[]> }> {
      const before = asked
      const leases = stage.claim(given)
      await until(() => asked > before, 'it has asked')
      await turn()
      return { leases }
    },
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  }
}

describe('what is accepted while a claim waits', () => {
  test('is given to it at once, whole, without being asked for', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    const { leases } = await opened.waiting()
    const before = opened.asked()
    const event = anEvent('a', { key: 'k', raw: Buffer.from('{"a":1}'), trace: 'trace', receivedAt: 7 })
    await stage.accept(event)
    const [lease] = (await leases) as [Lease]
    expect(opened.asked()).toBe(before)
    expect(lease).toMatchObject({
      handler: 'ordered',
      token: 1,
      attempt: 1,
      failed: 0,
      crashed: 0,
      key: 'k',
      item: null,
    })
    const { id, type, createdAt, key, raw, secretLabel } = event
    expect(lease.event).toEqual({ seq: 1, id, type, createdAt, key, raw, secretLabel, trace: 'trace', receivedAt: 7 })
    expect(await stage.run('a')).toMatchObject({ state: 3, token: 1, attempt: 1, owner: 'replica worker' })
    expect(await stage.work.settle([done(lease)])).toEqual(['applied'])
    expect(await stage.run('a')).toMatchObject({ state: 6, owner: null })
  })

  test('is given in its order, no more than there is room for, and of a key only the first', async () => {
    await using opened = await openStage(ordered, loose)
    const { stage } = opened
    const { leases } = await opened.waiting({ max: 2 })
    const keys = { a: 'x', b: 'x', c: 'y', d: 'z' }
    await stage.accept(...Object.entries(keys).map(([id, key]) => anEvent(id, { key })))
    const given = await leases
    expect(idsOf(given)).toEqual(['a', 'c'])
    expect(idsOf(await stage.claim())).toEqual(['d'])
    await stage.work.settle(given.map((lease) => done(lease)))
    expect(idsOf(await stage.claim())).toEqual(['b'])
    expect(idsOf(await stage.claim({ handlers: ['loose'] }))).toEqual(['a', 'b', 'c', 'd'])
  })

  test.each(['the handler', 'everything'])('is not given while %s is paused', async (what) => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    await stage.db.query(
      what === 'everything' ? `INSERT INTO inbox.meta VALUES ('paused', 1)` : `UPDATE inbox.handler SET paused = true`,
    )
    const { leases } = await opened.waiting()
    await stage.accept(anEvent('a'))
    expect(await stage.run('a')).toMatchObject({ state: 1, attempt: 0 })
    await stage.db.query(`DELETE FROM inbox.meta WHERE name = 'paused'`)
    await stage.db.query(`UPDATE inbox.handler SET paused = false`)
    stage.work.wake()
    expect(idsOf(await leases)).toEqual(['a'])
  })

  test('does not go before a backlog: who finds as much as it asks for is asked for more', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    await stage.accept(anEvent('old 1', { key: '1' }), anEvent('old 2', { key: '2' }))
    expect(idsOf(await stage.claim({ max: 1 }))).toEqual(['old 1'])
    const [leases] = await Promise.all([stage.claim({ max: 1 }), stage.accept(anEvent('new', { key: '3' }))])
    expect(idsOf(leases)).toEqual(['old 2'])
  })

  test('and whose answer is lost is given back, uncharged, and given again', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    const { leases } = await opened.waiting()
    const accept = createAccept({
      db: {
        ...stage.db,
        async query(text, values) {
          await stage.db.query(text, values)
          throw new InboxError('store_unavailable', 'the connection broke')
        },
      },
      clock: stage.clock,
      definitions: stage.definitions,
      gaps: { arrived: () => {} },
      openHandoff: stage.work.openHandoff,
      wake: () => stage.work.wake(),
    })
    await expect(accept.accept([anEvent('a')])).rejects.toThrow('the connection broke')
    expect(await leases).toMatchObject([{ event: { id: 'a' }, attempt: 1, crashed: 0, token: 2 }])
  })

  test('leases nothing to a retired owner, and retire waits for a claim in progress', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    const { leases } = await opened.waiting()
    const accepted = stage.accept(anEvent('a'))
    // It is on its way.
    await turn()
    await stage.work.retire('worker')
    expect(idsOf(await leases)).toEqual(['a'])
    await accepted
    await stage.accept(anEvent('b'))
    expect(await stage.run('b')).toMatchObject({ state: 1 })
  })

  test('keeps nobody from what becomes ready meanwhile, however many accepts follow each other', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    const { leases } = await opened.waiting()
    await stage.accept(anEvent('first', { key: 'hot' }))
    const [first] = (await leases) as [Lease]
    let given: readonly Lease[] = []
    const next = stage.claim().then((got) => (given = got))
    let count = 0
    const sending = Array.from({ length: 3 }, async () => {
      while (given.length === 0 && count < 500) await stage.accept(anEvent(`e${++count}`, { key: 'hot' }))
    })
    await stage.work.settle([done(first)])
    await Promise.all(sending)
    expect(count).toBeLessThan(500)
    await next
    expect(idsOf(given)).toEqual(['e1'])
  })
})

test('a run that falls due is given, however busy claims of other handlers are', async () => {
  await using opened = await openStage(ordered, loose)
  const { stage } = opened
  await stage.accept(...Array.from({ length: 60 }, (_, n) => anEvent(`e${n}`, { key: `k${n}` })))
  const leases = await stage.claim()
  const [retried, ...others] = leases as [Lease, ...Lease[]]
  const at = stage.clock.now() + 1_000
  await stage.work.settle([
    { runId: retried.runId, token: retried.token, kind: 'retry', at, startedAt: 1, endedAt: 2, error: boom },
    ...others.map((lease) => done(lease)),
  ])
  const { leases: due } = await opened.waiting()
  let isGiven = false
  void due.then(() => (isGiven = true))
  let busy = 0
  const working = Array.from({ length: 2 }, async () => {
    while (!isGiven && busy < 60) {
      await stage.claim({ handlers: ['loose'], max: 1 })
      if (++busy === 10) await stage.clock.advance(1_000)
    }
  })
  await Promise.all(working)
  expect(isGiven).toBe(true)
  expect(busy).toBeLessThan(60)
  await stage.work.close()
})
