import { describe, expect } from 'vitest'
import type { Lease } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, stageTest, anEvent, boom, hex, idsOf, loose, ordered } from './stage.ts'

/** `claim`, and order per key. */
export function describeClaim(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  const testSetBack = test.skipIf(harness.hasOwnClock)
  describe('claim', () => {
    test('returns ready runs at once, oldest first', async ({ stage }) => {
      const ids = Array.from({ length: 20 }, (_, i) => `e${(i * 7) % 20}`)
      for (const id of ids) {
        await stage.accept(anEvent(id))
        await stage.clock.advance(1)
      }
      expect(idsOf(await stage.claim())).toEqual(ids)
    })

    test('returns a lease with the event and the first attempt', async ({ stage }) => {
      const event = anEvent('a', { key: 'solana:Abc', type: 'wallet.pnl', receivedAt: 1_700_000_000_001 })
      await stage.accept(event)
      const lease = await stage.claimOne()
      expect(lease).toMatchObject({ handler: 'ordered', attempt: 1, crashed: 0 })
      const { raw, ...rest } = lease.event
      const { id, type, createdAt, receivedAt, key, secretLabel } = event
      expect(rest).toEqual({ seq: 1, id, type, createdAt, receivedAt, key, secretLabel, trace: null })
      expect(hex(raw)).toBe(hex(event.raw))
    })

    const wakers: [string, (stage: Stage, a: Lease) => Promise<unknown>, string][] = [
      ['a new event', (stage) => stage.accept(anEvent('c')), 'c'],
      ['the end of a run of the key', (stage, a) => stage.done(a), 'b'],
      ['the death of a run of the key', (stage, a) => stage.dead(a), 'b'],
      ['a release', (stage, a) => stage.release(a), 'a'],
    ]

    test.each(wakers)('waits until %s makes a run claimable', async (_, wake, expected) => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }))
      const a = await stage.claimOne()
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      await wake(stage, a)
      expect(idsOf(await claim)).toEqual([expected])
    })

    test('waits until a requeue makes a run claimable', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      await stage.killReady()
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.inbox.requeueDead('all')
      expect(idsOf(await claim)).toEqual(['a'])
    })

    test('returns a retry when it is due, not before', async ({ stage }) => {
      await stage.accept(anEvent('late'), anEvent('soon'))
      const [late, soon] = await stage.claim()
      await stage.retry(late!, stage.clock.now() + 60_000)
      await stage.retry(soon!, stage.clock.now() + 1_000)
      const claim = stage.claim()
      await stage.clock.advance(999)
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.clock.advance(1)
      expect(idsOf(await claim)).toEqual(['soon'])
      const next = stage.claim()
      await stage.clock.advance(58_999)
      expect(await stage.isWaiting(next)).toBe(true)
      await stage.clock.advance(1)
      expect(idsOf(await next)).toEqual(['late'])
    })

    test('returns a retry that is due before the one it waited for', async ({ stage }) => {
      await stage.accept(anEvent('late'), anEvent('soon'))
      const [late, soon] = await stage.claim()
      await stage.retry(late!, stage.clock.now() + 60_000)
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.retry(soon!, stage.clock.now() + 1_000)
      await stage.clock.advance(1_000)
      expect(idsOf(await claim)).toEqual(['soon'])
    })

    testSetBack('keeps the delay of an outcome from before the clock was set back', async ({ stage }) => {
      await stage.accept(anEvent('retried'), anEvent('snoozed'))
      const [retried, snoozed] = await stage.claim()
      const endedAt = stage.clock.now()
      const verdict = { startedAt: endedAt, endedAt, at: endedAt + 10_000 }
      await stage.clock.advance(-3_600_000)
      await stage.inbox.settle([
        { ...retried!, ...verdict, kind: 'retry', error: boom },
        { ...snoozed!, ...verdict, kind: 'snooze' },
      ])
      for (const id of ['retried', 'snoozed']) {
        expect(await stage.run(id)).toMatchObject({ runAt: stage.clock.now() + 10_000 })
      }
    })

    test('returns a new run at once, also with a future receipt time', async ({ stage }) => {
      const now = stage.clock.now()
      await stage.accept(anEvent('future', { receivedAt: now + 3_600_000 }), anEvent('past', { receivedAt: 1 }))
      expect(idsOf(await stage.claim()).toSorted()).toEqual(['future', 'past'])
    })

    test('gives each of several waiting claims a run', async ({ stage }) => {
      const claims = ['x', 'y', 'z'].map((owner) => stage.claim({ owner, max: 1 }))
      expect(await stage.isWaiting(Promise.race(claims))).toBe(true)
      await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
      expect((await Promise.all(claims)).map((leases) => idsOf(leases).join()).toSorted()).toEqual(['a', 'b', 'c'])
    })

    test('returns each run to one of many concurrent claims', async () => {
      await using stage = await Stage.open(harness, [loose])
      const ids = Array.from({ length: 40 }, (_, i) => `e${i}`)
      await stage.accept(...ids.map((id) => anEvent(id)))
      const claims = ids.map((_, i) => stage.claim({ handlers: ['loose'], max: 1, owner: `o${i % 3}` }))
      const leases = (await Promise.all(claims)).flat()
      expect(idsOf(leases).toSorted()).toEqual(ids.toSorted())
      expect(new Set(leases.map(({ runId }) => runId)).size).toBe(40)
    })
  })

  test('a run keeps the order that its handler had when it was created', async () => {
    const sameKey = (...ids: readonly string[]) => ids.map((id) => anEvent(id, { key: 'k' }))
    await using stage = await Stage.open(harness, [{ ...ordered, order: 'none' }])
    await stage.accept(...sameKey('a', 'b'))
    await stage.inbox.register([ordered])
    await stage.accept(...sameKey('c', 'd'))
    const [a, b, c] = await stage.claim()
    await stage.done(a!, b!)
    expect(await stage.states('c', 'd')).toEqual(['running', 'waiting'])
    await stage.inbox.register([{ ...ordered, order: 'none' }])
    await stage.accept(...sameKey('e'))
    expect(await stage.states('d', 'e')).toEqual(['waiting', 'ready'])
    await stage.done(c!)
    expect(await stage.states('d')).toEqual(['ready'])
  })
}
