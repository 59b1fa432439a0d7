import { describe, expect } from 'vitest'
import { maxCrashes } from '../../src/inbox/port.ts'
import { type ConformanceHarness, stageTest, anEvent, idsOf } from './stage.ts'

/** `retire`, `reap` and crash suspects. */
export function describeReap(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('retire', () => {
    test('keeps the leases of the owner', async ({ stage }) => {
      await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
      const [a, b] = await stage.claim({ owner: 'x' })
      await stage.inbox.retire('x')
      await stage.inbox.retire('x')
      expect(await stage.states('a', 'b', 'c')).toEqual(['running', 'running', 'running'])
      expect(await stage.done(a!)).toEqual(['applied'])
      await stage.release(b!)
      expect(await stage.inbox.reap('x')).toMatchObject({ runs: 1 })
      expect(await stage.states('a', 'b', 'c')).toEqual(['done', 'ready', 'suspect'])
    })

    test('releases leases of runs that are not running, without charging an attempt', async ({ stage }) => {
      await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
      const [a] = await stage.claim({ owner: 'x', max: 2 })
      await stage.claim({ owner: 'y' })
      const waiting = stage.claim({ owner: 'z' })
      await stage.inbox.retire('x', [a!.runId])
      expect(idsOf(await waiting)).toEqual(['b'])
      expect(await stage.run('b')).toMatchObject({ state: 'running', attempt: 1, crashed: 0, attempts: [] })
      expect(await stage.states('a', 'c')).toEqual(['running', 'running'])
      expect(await stage.inbox.reap('x')).toMatchObject({ runs: 1 })
      expect(await stage.states('a', 'b', 'c')).toEqual(['suspect', 'running', 'running'])
    })

    test('loses no run that is leased at the same time', async ({ stage }) => {
      const claim = stage.claim({ owner: 'x' })
      const accepted = stage.accept(anEvent('a'))
      await Promise.all([accepted, stage.inbox.retire('x')])
      await stage.release(...(await claim))
      expect(idsOf(await stage.claim({ owner: 'y' }))).toEqual(['a'])
    })
  })

  describe.each(['retire', 'reap'] as const)('%s', (end) => {
    test('resolves waiting and later claims of the owner empty', async ({ stage }) => {
      const doomed = [stage.claim({ owner: 'x' }), stage.claim({ owner: 'x', suspects: true })]
      const other = stage.claim({ owner: 'y' })
      expect(await stage.isWaiting(Promise.race(doomed))).toBe(true)
      await stage.inbox[end]('x')
      expect(await Promise.all(doomed)).toEqual([[], []])
      expect(await stage.isWaiting(other)).toBe(true)
      await stage.accept(anEvent('a'), anEvent('b'))
      expect(idsOf(await other)).toEqual(['a', 'b'])
      await stage.accept(anEvent('c'))
      expect(await stage.claim({ owner: 'x' })).toEqual([])
      expect(await stage.states('c')).toEqual(['ready'])
    })
  })

  describe('suspects', () => {
    test('go behind the others when they crash again', async ({ stage }) => {
      await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
      await stage.claim({ owner: 'x' })
      await stage.inbox.reap('x')
      await stage.clock.advance(1)
      await stage.claimOne({ owner: 'y', suspects: true })
      await stage.inbox.reap('y')
      expect(idsOf(await stage.claim({ suspects: true }))).toEqual(['b', 'c', 'a'])
    })

    test(`become dead letters after ${maxCrashes} crashes without a verdict`, async ({ stage }) => {
      await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }))
      await stage.crashRun(maxCrashes - 1)
      expect(await stage.states('a', 'b')).toEqual(['suspect', 'waiting'])
      await stage.claimOne({ owner: 'last', suspects: true })
      const claim = stage.claim()
      expect(await stage.isWaiting(claim)).toBe(true)
      expect(await stage.inbox.reap('last')).toMatchObject({ runs: 1 })
      expect(idsOf(await claim)).toEqual(['b'])
      expect(await stage.run('a')).toMatchObject({ state: 'dead', attempt: maxCrashes, crashed: maxCrashes })
      const { data } = await stage.inbox.deadLetters({ limit: 10 })
      expect(data).toMatchObject([{ eventId: 'a', crashed: maxCrashes, error: { name: 'handler_crashed' } }])
      expect(data[0]!.error.message).not.toBe('')
      expect((await stage.run('a')).attempts.map(({ outcome }) => outcome)).toEqual(
        Array.from({ length: maxCrashes }, () => 'crashed'),
      )
      expect(await stage.isWaiting(stage.claim({ suspects: true }))).toBe(true)
      await stage.inbox.requeueDead('all')
      expect(await stage.run('a')).toMatchObject({ state: 'waiting', attempt: 0, crashed: 0 })
    })
  })
}
