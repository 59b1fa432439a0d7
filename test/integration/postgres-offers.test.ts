import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import type { ClaimRequest, HandlerRoute, Lease } from '../../src/inbox/port.ts'
import type { Database } from '../../src/inbox/postgres/database.ts'
import { anEvent, boom, idsOf, loose, ordered } from '../conformance/stage.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'
import { done, openTimedStage } from './postgres-stage.ts'

const server = usePostgres()

async function openStage(...routes: readonly HandlerRoute[]) {
  let claims = 0
  let gate: { readonly reached: () => void; readonly opened: Promise<void> } | undefined
  let isLost = false
  const between = (db: Database): Database => ({
    ...db,
    async query<R>(text: string, values?: readonly unknown[]) {
      if (text.includes('inbox.claim(')) {
        gate?.reached()
        await gate?.opened
      }
      const rows = await db.query<R>(text, values)
      if (text.includes('inbox.claim(')) claims += 1
      if (isLost && text.includes('inbox.accept(')) {
        isLost = false
        throw new InboxError('store_unavailable', 'the connection broke')
      }
      return rows
    },
  })
  const stage = await openTimedStage(await server.createDatabase(), routes, between)
  return {
    stage,
    /** Number of claim statements. */
    claims: () => claims,
    /** Holds claim statements back from now on. Resolves `reached` with the first one. */
    holdClaims() {
      const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      gate = { reached: reached.resolve, opened: opened.promise }
      return { reached: reached.promise, open: opened.resolve }
    },
    /** Loses the response of the next accept. */
    loseNext: () => void (isLost = true),
    /** A claim that has found nothing and waits. */
    async waiting(given: Partial<ClaimRequest> = {}): Promise<{ readonly leases: Promise<readonly Lease[]> }> {
      const before = claims
      const leases = stage.claim(given)
      await until(() => claims > before, 'it has searched')
      await turn()
      return { leases }
    },
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  }
}

describe('an event accepted while a claim waits', () => {
  test('is leased to it directly, without another claim statement', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    const { leases } = await opened.waiting()
    const before = opened.claims()
    const event = anEvent('a', { key: 'k', raw: Buffer.from('{"a":1}'), trace: 'trace', receivedAt: 7 })
    await stage.acceptNew(event)
    const [lease] = (await leases) as [Lease]
    expect(opened.claims()).toBe(before)
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

  test('is leased in accept order, up to the maximum, one run per key', async () => {
    await using opened = await openStage(ordered, loose)
    const { stage } = opened
    const { leases } = await opened.waiting({ max: 2 })
    const keys = { a: 'x', b: 'x', c: 'y', d: 'z' }
    await stage.acceptNew(...Object.entries(keys).map(([id, key]) => anEvent(id, { key })))
    const given = await leases
    expect(idsOf(given)).toEqual(['a', 'c'])
    expect(idsOf(await stage.claim())).toEqual(['d'])
    await stage.work.settle(given.map((lease) => done(lease)))
    expect(idsOf(await stage.claim())).toEqual(['b'])
    expect(idsOf(await stage.claim({ handlers: ['loose'] }))).toEqual(['a', 'b', 'c', 'd'])
  })

  test.each(['the handler', 'everything'])('is not leased while %s is paused', async (what) => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    await stage.db.query(
      what === 'everything' ? `INSERT INTO inbox.meta VALUES ('paused', 1)` : `UPDATE inbox.handler SET paused = true`,
    )
    const { leases } = await opened.waiting()
    await stage.acceptNew(anEvent('a'))
    expect(await stage.run('a')).toMatchObject({ state: 1, attempt: 0 })
    await stage.db.query(`DELETE FROM inbox.meta WHERE name = 'paused'`)
    await stage.db.query(`UPDATE inbox.handler SET paused = false`)
    stage.work.wake()
    expect(idsOf(await leases)).toEqual(['a'])
  })

  test('does not overtake a backlog that was not searched yet', async () => {
    await using opened = await openStage(ordered, loose)
    const { stage } = opened
    await stage.acceptNew(anEvent('old', { key: '1' }))
    const gate = opened.holdClaims()
    const other = stage.claim({ handlers: ['loose'], max: 1 })
    await gate.reached
    const claim = stage.claim({ max: 1 })
    await stage.acceptNew(anEvent('new', { key: '2' }))
    gate.open()
    expect(idsOf(await claim)).toEqual(['old'])
    await other
  })

  test('is leased to one claim while another one searches the backlog', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    await stage.acceptNew(anEvent('old', { key: '1' }))
    const gate = opened.holdClaims()
    const claims = [stage.claim({ max: 1 }), stage.claim({ max: 1 })]
    await gate.reached
    await stage.acceptNew(anEvent('new', { key: '2' }))
    expect(idsOf((await claims[1]) ?? [])).toEqual(['new'])
    gate.open()
    expect(idsOf((await claims[0]) ?? [])).toEqual(['old'])
  })

  test('is released without a charge and leased again if the response is lost', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    const { leases } = await opened.waiting()
    opened.loseNext()
    await expect(stage.accept.accept([anEvent('a')])).rejects.toThrow('the connection broke')
    expect(await leases).toMatchObject([{ event: { id: 'a' }, attempt: 1, crashed: 0, token: 2 }])
  })

  test('leases nothing to a retired owner, and retire waits for a claim in progress', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    const { leases } = await opened.waiting()
    const accepted = stage.acceptNew(anEvent('a'))
    // Lets the statement start.
    await turn()
    await stage.work.retire('worker')
    expect(idsOf(await leases)).toEqual(['a'])
    await accepted
    await stage.acceptNew(anEvent('b'))
    expect(await stage.run('b')).toMatchObject({ state: 1 })
  })

  test('does not starve runs that become ready, even with a stream of accepts', async () => {
    await using opened = await openStage(ordered)
    const { stage } = opened
    const { leases } = await opened.waiting()
    await stage.acceptNew(anEvent('first', { key: 'hot' }))
    const [first] = (await leases) as [Lease]
    let given: readonly Lease[] = []
    const next = stage.claim().then((got) => (given = got))
    let count = 0
    const sending = Array.from({ length: 3 }, async () => {
      while (given.length === 0 && count < 500) await stage.acceptNew(anEvent(`e${++count}`, { key: 'hot' }))
    })
    await stage.work.settle([done(first)])
    await Promise.all(sending)
    expect(count).toBeLessThan(500)
    await next
    expect(idsOf(given)).toEqual(['e1'])
  })
})

test('a due run is leased while claims of other handlers are busy', async () => {
  await using opened = await openStage(ordered, loose)
  const { stage } = opened
  await stage.acceptNew(...Array.from({ length: 60 }, (_, n) => anEvent(`e${n}`, { key: `k${n}` })))
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
