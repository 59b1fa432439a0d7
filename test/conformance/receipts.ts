import { describe, expect } from 'vitest'
import type { HandlerRoute } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, stageTest, aQuarantined, anEvent, idsOf, loose, ordered } from './stage.ts'

const headers = JSON.stringify({ 'content-type': 'application/json', 'user-agent': 'sender/1' })
const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

/** Stored data about the receipt of an event and its runs. */
export function describeReceipts(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('the receipt of an event', () => {
    test('is stored: headers, trace and commit time', async ({ stage }) => {
      const receivedAt = stage.clock.now()
      await stage.clock.advance(7)
      await stage.accept(anEvent('a', { headers, trace, receivedAt }), anEvent('b', { receivedAt }))
      expect(await stage.detail('a')).toMatchObject({ headers, trace, receivedAt, storedAt: receivedAt + 7 })
      expect(await stage.detail('b')).toMatchObject({ headers: null, trace: null, storedAt: receivedAt + 7 })
    })

    test('is not changed by a duplicate with other headers', async ({ stage }) => {
      await stage.accept(anEvent('a', { headers, trace }))
      const again = anEvent('a', { headers: '{"via":"other"}', trace: trace.replace('4bf9', '5bf9') })
      expect(await stage.inbox.accept([again])).toEqual(['duplicate'])
      expect(await stage.detail('a')).toMatchObject({ headers, trace, duplicates: 1 })
    })

    test('keeps each set of headers, also after a reopen', async ({ stage }) => {
      const sets = [headers, '{"via":"a"}', headers, null, '{"via":"b"}', '{"via":"a"}']
      for (const [index, set] of sets.entries()) await stage.accept(anEvent(`e${index}`, { headers: set }))
      await stage.reopen()
      await stage.accept(anEvent('later', { headers: '{"via":"b"}' }))
      for (const [index, set] of sets.entries()) expect((await stage.detail(`e${index}`)).headers).toBe(set)
      expect((await stage.detail('later')).headers).toBe('{"via":"b"}')
    })

    test('passes its trace to leases: direct, claimed and replayed', async ({ stage }) => {
      const claim = stage.claim()
      await stage.accept(anEvent('a', { trace }))
      expect((await claim).map(({ event }) => event.trace)).toEqual([trace])
      await stage.accept(anEvent('b', { trace }))
      const [b] = await stage.claim()
      expect(b?.event.trace).toBe(trace)
      await stage.done(...(await claim), b!)
      await stage.inbox.startReplay({ filter: { ids: ['a'] }, perSecond: null, newKeys: false })
      await stage.clock.advance(100)
      expect((await stage.claimOne()).event.trace).toBe(trace)
    })

    test('is stored for an event that was in quarantine', async ({ stage }) => {
      await stage.accept(aQuarantined('x', { receivedAt: stage.clock.now() }))
      await stage.clock.advance(50)
      await stage.inbox.retryQuarantined('sha256:x', anEvent('a'))
      expect(await stage.detail('a')).toMatchObject({ storedAt: stage.clock.now(), headers: null })
    })

    test('survives pruning', async () => {
      await using stage = await Stage.open(harness, [])
      await stage.accept(anEvent('a', { headers, trace, receivedAt: 5 }))
      await stage.inbox.prune({ receivedBefore: 6, maxBytes: null })
      expect(await stage.detail('a')).toMatchObject({ pruned: true, headers, trace, runs: [] })
    })
  })

  describe('a run', () => {
    test('has the times of its latest start and its end', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      expect(await stage.run('a')).toMatchObject({ startedAt: null, endedAt: null })
      await stage.clock.advance(10)
      const claimedAt = stage.clock.now()
      const lease = await stage.claimOne()
      expect(await stage.run('a')).toMatchObject({ startedAt: claimedAt, endedAt: null })
      await stage.clock.advance(20)
      await stage.retry(lease)
      expect(await stage.run('a')).toMatchObject({ state: 'ready', startedAt: claimedAt, endedAt: null })
      await stage.clock.advance(20)
      await stage.done(await stage.claimOne())
      const now = stage.clock.now()
      expect(await stage.run('a')).toMatchObject({ startedAt: now - 5, endedAt: now })
    })

    test('has no start and no end after a requeue', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      await stage.killReady()
      const now = stage.clock.now()
      expect(await stage.run('a')).toMatchObject({ startedAt: now - 5, endedAt: now })
      await stage.inbox.requeueDead('all')
      expect(await stage.run('a')).toMatchObject({ startedAt: null, endedAt: null })
    })

    test('has an end when it is dropped, expires or crashes too often', async ({ stage }) => {
      await stage.accept(anEvent('expired'))
      await stage.settle(await stage.claimOne(), 'expired', 0)
      await stage.accept(anEvent('crashed'))
      await stage.crashRun(3)
      await stage.accept(anEvent('dropped'))
      await stage.clock.advance(30)
      await stage.inbox.discardPendingRuns('ordered', 'gone')
      const now = stage.clock.now()
      expect(await stage.run('expired')).toMatchObject({ startedAt: null, endedAt: now - 30 })
      expect(await stage.run('crashed')).toMatchObject({ startedAt: now - 30, endedAt: now - 30 })
      expect(await stage.run('dropped')).toMatchObject({ startedAt: null, endedAt: now })
    })

    test('lists the state keys that it wrote last, and its outbox item', async () => {
      const sink: HandlerRoute = { name: 'sink', types: [], order: 'none' }
      await using stage = await Stage.open(harness, [ordered, loose, sink])
      await stage.accept(anEvent('a'), anEvent('b'))
      const [a, b] = await stage.claim()
      const [other] = await stage.claim({ handlers: ['loose'], max: 1 })
      const write = (key: string, value: string | null = '1') => ({ key, value, expiresAt: null })
      const item = { sink: 'sink', key: null, payload: '{"n":1}', idempotencyKey: 'a/1' }
      const settle = (lease: typeof a, writes: ReturnType<typeof write>[], items: (typeof item)[] = []) =>
        stage.inbox.settle([
          { ...lease!, startedAt: 0, endedAt: 0, kind: 'done', effects: { reads: [], writes, items } },
        ])
      await settle(a, [write('x'), write('B'), write('a'), write('gone', null)], [item])
      await settle(other, [write('x'), write('mine')])
      expect(await stage.run('a')).toMatchObject({ stateKeys: ['B', 'a', 'x'], item: null })
      await settle(b, [write('x'), write('B', null)])
      expect((await stage.run('a')).stateKeys).toEqual(['a'])
      expect((await stage.run('b')).stateKeys).toEqual(['x'])
      expect(await stage.run('a', 'loose')).toMatchObject({ stateKeys: ['mine', 'x'] })
      const { payload, idempotencyKey } = item
      expect(await stage.run('a', 'sink')).toMatchObject({ stateKeys: [], item: { payload, idempotencyKey } })
    })
  })

  describe('events of the inbox itself', () => {
    test('go to handlers that name their types, not to *', async () => {
      const own: HandlerRoute = { ...loose, name: 'own', types: ['inbox.*'] }
      const named: HandlerRoute = { ...loose, name: 'named', types: ['inbox.warning', 'wallet.*'] }
      await using stage = await Stage.open(harness, [loose, own, named])
      await stage.accept(
        anEvent('w', { type: 'inbox.warning' }),
        anEvent('r', { type: 'inbox.resolved' }),
        anEvent('t', { type: 'inboxes.none' }),
      )
      const taken = async (name: string) => idsOf(await stage.claim({ handlers: [name] }))
      expect(await taken('own')).toEqual(['w', 'r'])
      expect(await taken('named')).toEqual(['w'])
      expect(await taken('loose')).toEqual(['t'])
    })

    test('are counted by a replay without a handler', async () => {
      await using stage = await Stage.open(harness, [loose])
      await stage.accept(anEvent('w', { type: 'inbox.warning' }), anEvent('t'))
      expect(await stage.inbox.countReplay({ from: 0 })).toMatchObject({ events: 2 })
      expect(await stage.inbox.countReplay({ from: 0, handler: 'loose' })).toMatchObject({ events: 1 })
    })
  })
}
