import { describe, expect, test } from 'vitest'
import { type ConformanceHarness, Stage, anEvent, boom, hex, idsOf, loose, ordered } from './stage.ts'

/** What `claim` promises, and order per key. */
export function describeClaim(harness: ConformanceHarness): void {
  describe('claim', () => {
    test('gives what is ready at once, oldest first', async () => {
      await using stage = await Stage.open(harness)
      const ids = Array.from({ length: 20 }, (_, i) => `e${(i * 7) % 20}`)
      for (const id of ids) {
        await stage.accept(anEvent(id))
        await stage.clock.advance(1)
      }
      expect(idsOf(await stage.claim())).toEqual(ids)
    })

    test('gives a lease that carries the event and its first attempt', async () => {
      await using stage = await Stage.open(harness)
      const event = anEvent('a', { key: 'solana:Abc', type: 'wallet.pnl', receivedAt: 1_700_000_000_001 })
      await stage.accept(event)
      const lease = await stage.claimOne()
      expect(lease).toMatchObject({ handler: 'ordered', attempt: 1, crashed: 0 })
      const { raw, ...rest } = lease.event
      const { id, type, createdAt, receivedAt, key, secretLabel } = event
      expect(rest).toEqual({ seq: 1, id, type, createdAt, receivedAt, key, secretLabel, trace: null })
      expect(hex(raw)).toBe(hex(event.raw))
    })

    test('counts the attempt before it gives the lease', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      expect(await stage.run('a')).toMatchObject({ state: 'ready', attempt: 0, attempts: [] })
      const { runId } = await stage.claimOne()
      expect(await stage.run('a')).toMatchObject({ runId, state: 'running', attempt: 1, crashed: 0, runAt: null })
    })

    test('waits until an event is accepted', async () => {
      await using stage = await Stage.open(harness)
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.accept(anEvent('a'))
      expect(idsOf(await claim)).toEqual(['a'])
    })

    test('is woken when a verdict frees the key', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }), anEvent('c', { key: 'k' }))
      const first = await stage.claim()
      expect(idsOf(first)).toEqual(['a'])
      const second = stage.claim()
      expect(await stage.isWaiting(second)).toBe(true)
      await stage.done(...first)
      expect(idsOf(await second)).toEqual(['b'])
      const third = stage.claim()
      expect(await stage.isWaiting(third)).toBe(true)
      await stage.dead(...(await second))
      expect(idsOf(await third)).toEqual(['c'])
    })

    test('is woken by a release', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const lease = await stage.claimOne()
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.release(lease)
      expect(idsOf(await claim)).toEqual(['a'])
    })

    test('is woken by requeued dead letters', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.killReady()
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.inbox.requeueDead('all')
      expect(idsOf(await claim)).toEqual(['a'])
    })

    test('is woken when a retry falls due, and not before', async () => {
      await using stage = await Stage.open(harness)
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

    test('is woken by a retry that falls due earlier than the one it waits for', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('late'), anEvent('soon'))
      const [late, soon] = await stage.claim()
      await stage.retry(late!, stage.clock.now() + 60_000)
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.retry(soon!, stage.clock.now() + 1_000)
      await stage.clock.advance(1_000)
      expect(idsOf(await claim)).toEqual(['soon'])
    })

    test('gives a retry at once when its time is now or past', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.retry(await stage.claimOne(), stage.clock.now() - 10)
      await stage.retry(await stage.claimOne(), stage.clock.now())
      expect(await stage.claimOne()).toMatchObject({ attempt: 3 })
    })

    test.skipIf(harness.hasOwnClock)(
      'gets what was due when the clock was set back, and a retry keeps the wait it had',
      async () => {
        await using stage = await Stage.open(harness)
        await stage.accept(anEvent('retried'), anEvent('crashed'))
        await stage.retry(await stage.claimOne(), stage.clock.now() + 10_000)
        await stage.crashRun(1)
        await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }))
        await stage.clock.advance(-3_600_000)

        const [a] = await stage.claim()
        expect(a).toMatchObject({ event: { id: 'a' } })
        expect(idsOf(await stage.claim({ suspects: true }))).toEqual(['crashed'])
        const claim = stage.claim()
        await stage.done(a!)
        expect(idsOf(await claim)).toEqual(['b'])
        const next = stage.claim()
        await stage.accept(anEvent('c'))
        expect(idsOf(await next)).toEqual(['c'])
        expect(await stage.run('retried')).toMatchObject({ runAt: stage.clock.now() + 10_000 })
      },
    )

    test.skipIf(harness.hasOwnClock)(
      'keeps the wait and the order of what is stored right after the clock was set back',
      async () => {
        await using stage = await Stage.open(harness)
        await stage.accept(anEvent('retried'), anEvent('a'), anEvent('b'))
        const retried = await stage.claimOne()
        await stage.killReady()
        await stage.inbox.requeueDead([(await stage.run('a')).runId])
        await stage.clock.advance(-3_600_000)
        await stage.inbox.requeueDead('all')
        await stage.clock.advance(-3_600_000)
        await stage.retry(retried, stage.clock.now() + 10_000)
        expect(await stage.run('retried')).toMatchObject({ runAt: stage.clock.now() + 10_000 })
        expect(idsOf(await stage.claim())).toEqual(['a', 'b'])
      },
    )

    test.skipIf(harness.hasOwnClock)(
      'keeps the wait that a verdict asked for before the clock was set back',
      async () => {
        await using stage = await Stage.open(harness)
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
      },
    )

    test('is woken for its own handler only', async () => {
      const routes = [ordered, { name: 'other', types: ['token.migrated'], order: 'key' }] as const
      await using stage = await Stage.open(harness, routes)
      const other = stage.claim({ handlers: ['other'] })
      const unknown = stage.claim({ handlers: ['nobody registered this'] })
      await stage.accept(anEvent('a'))
      expect(idsOf(await stage.claim())).toEqual(['a'])
      expect(await stage.isWaiting(Promise.race([other, unknown]))).toBe(true)
      await stage.accept(anEvent('b', { type: 'token.migrated' }))
      expect(idsOf(await other)).toEqual(['b'])
    })

    test('takes runs of any of its handlers, no more than max in all', async () => {
      const handlers = ['ordered', 'second', 'nobody registered this']
      await using stage = await Stage.open(harness, [ordered, { ...ordered, name: 'second' }])
      await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }), anEvent('c'))
      const taken = [...(await stage.claim({ handlers, max: 3 })), ...(await stage.claim({ handlers, max: 3 }))]
      const names = taken.map(({ handler, event }) => `${handler} ${event.id}`)
      expect(names.toSorted()).toEqual(['ordered a', 'ordered c', 'second a', 'second c'])
      const claim = stage.claim({ handlers })
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.done(...taken.filter(({ handler }) => handler === 'second'))
      expect((await claim).map(({ handler, event }) => `${handler} ${event.id}`)).toEqual(['second b'])
    })

    test('waits for whichever of its handlers has a run first', async () => {
      const routes = ['x', 'y', 'z'].map((name) => ({ name, types: [name], order: 'key' }) as const)
      await using stage = await Stage.open(harness, routes)
      const handlers = ['x', 'y', 'z']
      for (const type of handlers) await stage.accept(anEvent(type, { type }))
      const now = stage.clock.now()
      for (const lease of await stage.claim({ handlers })) await stage.retry(lease, now + 100 * (4 - lease.event.seq))
      for (const id of ['z', 'y', 'x']) {
        const claim = stage.claim({ handlers })
        expect(await stage.isWaiting(claim)).toBe(true)
        await stage.clock.advance(100)
        expect(idsOf(await claim)).toEqual([id])
      }
    })

    test('gives a fresh run at once, whenever its event says that it was received', async () => {
      await using stage = await Stage.open(harness)
      const now = stage.clock.now()
      await stage.accept(anEvent('future', { receivedAt: now + 3_600_000 }), anEvent('past', { receivedAt: 1 }))
      expect(idsOf(await stage.claim()).toSorted()).toEqual(['future', 'past'])
    })

    test('gives no more than max, and the rest to the next claim', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...['a', 'b', 'c', 'd', 'e'].map((id) => anEvent(id)))
      expect(idsOf(await stage.claim({ max: 2 }))).toEqual(['a', 'b'])
      expect(idsOf(await stage.claim({ max: 1 }))).toEqual(['c'])
      expect(idsOf(await stage.claim({ max: 3 }))).toEqual(['d', 'e'])
    })

    test('serves claims that wait in the order they came', async () => {
      await using stage = await Stage.open(harness)
      const claims = ['x', 'y', 'z'].map((owner) => stage.claim({ owner, max: 1 }))
      expect(await stage.isWaiting(Promise.race(claims))).toBe(true)
      await stage.accept(anEvent('a'))
      expect(idsOf(await claims[0]!)).toEqual(['a'])
      await stage.accept(anEvent('b'), anEvent('c'))
      expect(idsOf(await claims[1]!)).toEqual(['b'])
      expect(idsOf(await claims[2]!)).toEqual(['c'])
    })

    test('gives each run to one of many concurrent claims', async () => {
      await using stage = await Stage.open(harness, [loose])
      const ids = Array.from({ length: 40 }, (_, i) => `e${i}`)
      await stage.accept(...ids.map((id) => anEvent(id)))
      const claims = ids.map((_, i) => stage.claim({ handlers: ['loose'], max: 1, owner: `o${i % 3}` }))
      const leases = (await Promise.all(claims)).flat()
      expect(idsOf(leases).toSorted()).toEqual(ids.toSorted())
      expect(new Set(leases.map(({ runId }) => runId)).size).toBe(40)
    })
  })

  describe('order', () => {
    const sameKey = (...ids: readonly string[]) => ids.map((id) => anEvent(id, { key: 'k' }))

    test('a handler that keeps order has at most one lease per key', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...sameKey('a', 'b'), anEvent('c', { key: 'other' }), ...sameKey('d'))
      const leases = await stage.claim()
      expect(idsOf(leases)).toEqual(['a', 'c'])
      expect(await stage.states('a', 'b', 'c', 'd')).toEqual(['running', 'waiting', 'running', 'waiting'])
      const claim = stage.claim({ owner: 'another' })
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.done(leases[1]!)
      expect(await stage.isWaiting(claim)).toBe(true)
    })

    test('a handler that keeps no order has as many leases per key as it asks for', async () => {
      await using stage = await Stage.open(harness, [loose])
      await stage.accept(...sameKey('a', 'b', 'c'))
      expect(idsOf(await stage.claim({ handlers: ['loose'] }))).toEqual(['a', 'b', 'c'])
    })

    test('a retry of a handler that keeps no order holds up nothing', async () => {
      await using stage = await Stage.open(harness, [loose])
      await stage.accept(...sameKey('a', 'b'))
      await stage.retry(await stage.claimOne({ handlers: ['loose'] }), stage.clock.now() + 1_000)
      expect(idsOf(await stage.claim({ handlers: ['loose'] }))).toEqual(['b'])
    })

    test('the same key of two handlers is two keys', async () => {
      await using stage = await Stage.open(harness, [ordered, { ...ordered, name: 'second' }])
      await stage.accept(...sameKey('a', 'b'))
      expect(idsOf(await stage.claim())).toEqual(['a'])
      const second = await stage.claim({ handlers: ['second'] })
      expect(idsOf(second)).toEqual(['a'])
      await stage.done(...second)
      expect(await stage.run('b', 'ordered')).toMatchObject({ state: 'waiting' })
      expect(await stage.run('b', 'second')).toMatchObject({ state: 'ready' })
    })

    test('runs of a key start in accept order, across batches and retries', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...sameKey('z', 'y'))
      await stage.accept(...sameKey('x'))
      const started: string[] = []
      for (let n = 0; n < 6; n += 1) {
        const lease = await stage.claimOne({ max: 10 })
        started.push(lease.event.id)
        if (lease.attempt === 1) await stage.retry(lease)
        else await stage.done(lease)
      }
      expect(started).toEqual(['z', 'z', 'y', 'y', 'x', 'x'])
    })

    test('a retry that is not due holds up its key and no other', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...sameKey('a', 'b'), anEvent('c'))
      await stage.retry(await stage.claimOne(), stage.clock.now() + 5_000)
      expect(idsOf(await stage.claim())).toEqual(['c'])
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      expect(await stage.states('a', 'b')).toEqual(['ready', 'waiting'])
      await stage.clock.advance(5_000)
      expect(idsOf(await claim)).toEqual(['a'])
    })

    test('an event that arrives while its key is being retried waits behind it', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...sameKey('a'))
      await stage.retry(await stage.claimOne(), stage.clock.now() + 5_000)
      await stage.accept(...sameKey('b'))
      expect(await stage.states('a', 'b')).toEqual(['ready', 'waiting'])
    })

    test('a run keeps the order that its handler had when the run was created', async () => {
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

    test('a key is free again after its last run', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...sameKey('a'))
      await stage.done(await stage.claimOne())
      await stage.accept(...sameKey('b'))
      expect(idsOf(await stage.claim())).toEqual(['b'])
    })
  })
}
