import { describe, expect, test } from 'vitest'
import type { Lease } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, anEvent, boom, idsOf, noRuns } from './stage.ts'

/** What `settle` and `release` promise. */
export function describeSettle(harness: ConformanceHarness): void {
  describe('settle', () => {
    test('gives one result per outcome, in order', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
      const [a, b, c] = await stage.claim()
      const times = { startedAt: 1, endedAt: 2 }
      const results = await stage.inbox.settle([
        { runId: a!.runId, token: a!.token, ...times, kind: 'done' },
        { runId: a!.runId, token: a!.token, ...times, kind: 'dead', error: boom },
        { runId: b!.runId, token: b!.token, ...times, kind: 'retry', at: stage.clock.now() + 1, error: boom },
        { runId: b!.runId, token: c!.token, ...times, kind: 'done' },
        { runId: c!.runId, token: c!.token, ...times, kind: 'dead', error: boom },
        { runId: 4_711, token: a!.token, ...times, kind: 'done' },
      ])
      expect(results).toEqual(['applied', 'stale', 'applied', 'stale', 'applied', 'stale'])
      expect(await stage.states('a', 'b', 'c')).toEqual(['done', 'ready', 'dead'])
    })

    test('takes an empty list', async () => {
      await using stage = await Stage.open(harness)
      expect(await stage.inbox.settle([])).toEqual([])
      await stage.inbox.release([])
    })

    test('done ends a run', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      expect(await stage.done(await stage.claimOne())).toEqual(['applied'])
      expect(await stage.run('a')).toMatchObject({ state: 'done', attempt: 1, runAt: null })
      expect(await stage.stats()).toEqual(noRuns)
      expect(await stage.isWaiting(stage.claim())).toBe(true)
    })

    test('retry makes a run ready for its time', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const at = stage.clock.now() + 12_345
      await stage.retry(await stage.claimOne(), at)
      expect(await stage.run('a')).toMatchObject({ state: 'ready', attempt: 1, runAt: at })
    })

    test('dead makes a dead letter, which nothing but a requeue brings back', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.dead(await stage.claimOne())
      expect(await stage.run('a')).toMatchObject({ state: 'dead', attempt: 1, runAt: null })
      const claims = [stage.claim(), stage.claim({ suspects: true })]
      await stage.clock.advance(24 * 3_600_000)
      expect(await stage.isWaiting(Promise.race(claims))).toBe(true)
    })

    test('counts failures separately from attempts: crashes and releases do not count, and a requeue resets them', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.crashRun(1)
      await stage.retry(await stage.claimOne({ suspects: true }))
      await stage.release(await stage.claimOne())
      const lease = await stage.claimOne()
      expect(lease).toMatchObject({ attempt: 3, failed: 1, crashed: 0 })
      await stage.dead(lease)
      await stage.inbox.requeueDead('all')
      expect(await stage.claimOne()).toMatchObject({ attempt: 1, failed: 0, crashed: 0 })
    })

    test('counts attempts from 1 and keeps a record of each', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const attempts: number[] = []
      for (const kind of ['retry', 'retry', 'done'] as const) {
        const { runId, token, attempt } = await stage.claimOne()
        attempts.push(attempt)
        const outcome = { runId, token, startedAt: 10 * attempt, endedAt: 10 * attempt + 3 }
        await stage.inbox.settle([
          kind === 'done' ? { ...outcome, kind } : { ...outcome, kind, at: stage.clock.now(), error: boom },
        ])
      }
      expect(attempts).toEqual([1, 2, 3])
      expect((await stage.run('a')).attempts).toEqual([
        { attempt: 1, startedAt: 10, endedAt: 13, outcome: 'retry', error: boom },
        { attempt: 2, startedAt: 20, endedAt: 23, outcome: 'retry', error: boom },
        { attempt: 3, startedAt: 30, endedAt: 33, outcome: 'done', error: null },
      ])
    })

    test('keeps an error without a stack, and one with odd text', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const error = { name: 'TypeError', message: 'line\nbreak \u0000 \u{1F600} "quoted"' }
      const { runId, token } = await stage.claimOne()
      await stage.inbox.settle([{ runId, token, startedAt: 1, endedAt: 2, kind: 'dead', error }])
      expect((await stage.run('a')).attempts).toMatchObject([{ outcome: 'dead', error }])
      expect((await stage.inbox.deadLetters({ limit: 1 })).data).toMatchObject([{ error }])
    })
  })

  describe('fencing', () => {
    const ends: [string, (stage: Stage, lease: Lease) => Promise<unknown>][] = [
      ['was settled as done', (stage, lease) => stage.done(lease)],
      ['was settled as dead', (stage, lease) => stage.dead(lease)],
      ['is to be retried', (stage, lease) => stage.retry(lease, stage.clock.now() + 9)],
      ['was released', (stage, lease) => stage.release(lease)],
      ['was reaped', (stage) => stage.inbox.reap('worker')],
    ]

    test.each(ends)('a lease whose run %s can change nothing', async (_, end) => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }))
      const first = await stage.claimOne()
      await stage.release(first)
      const second = await stage.claimOne()
      await end(stage, second)
      const everything = () => Promise.all([stage.detail('a'), stage.detail('b'), stage.stats()])
      const before = await everything()
      for (const late of [first, second]) {
        expect(await stage.done(late)).toEqual(['stale'])
        expect(await stage.retry(late)).toEqual(['stale'])
        expect(await stage.dead(late)).toEqual(['stale'])
        await stage.release(late)
      }
      expect(await everything()).toEqual(before)
    })

    test('a late report does not end the lease of a later claim', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const late = await stage.claimOne()
      await stage.retry(late)
      const current = await stage.claimOne()
      expect(current.token).not.toBe(late.token)
      expect([await stage.done(late), await stage.dead(late)]).toEqual([['stale'], ['stale']])
      await stage.release(late)
      expect(await stage.run('a')).toMatchObject({ state: 'running', attempt: 2 })
      expect(await stage.done(current)).toEqual(['applied'])
    })

    test('of concurrent reports one is applied', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const lease = await stage.claimOne()
      const results = await Promise.all(Array.from({ length: 20 }, () => stage.done(lease)))
      expect(results.flat().filter((result) => result === 'applied')).toHaveLength(1)
      expect((await stage.run('a')).attempts).toHaveLength(1)
    })

    test('a token that was never given changes nothing', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const lease = await stage.claimOne()
      const forged = { ...lease, token: lease.token + 1 }
      expect(await stage.done(forged)).toEqual(['stale'])
      await stage.release(forged)
      expect(await stage.states('a')).toEqual(['running'])
    })
  })

  describe('release', () => {
    test('charges no attempt and leaves no record', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const before = await stage.detail('a')
      const first = await stage.claimOne()
      await stage.release(first)
      expect(await stage.detail('a')).toEqual(before)
      const second = await stage.claimOne()
      expect(second).toMatchObject({ runId: first.runId, attempt: 1, crashed: 0 })
      expect(second.token).not.toBe(first.token)
    })

    test('gives a run back to its place in line', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a', { key: 'k' }), anEvent('b'), anEvent('c', { key: 'k' }))
      await stage.clock.advance(10)
      await stage.accept(anEvent('d'))
      await stage.release(...(await stage.claim()))
      expect(idsOf(await stage.claim())).toEqual(['a', 'b', 'd'])
    })

    test('keeps the count of attempts that had a verdict', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.retry(await stage.claimOne())
      await stage.release(await stage.claimOne())
      expect(await stage.claimOne()).toMatchObject({ attempt: 2 })
    })

    test('can be repeated', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const lease = await stage.claimOne()
      await stage.release(lease, lease)
      await stage.release(lease)
      expect(await stage.run('a')).toMatchObject({ state: 'ready', attempt: 0 })
      expect(idsOf(await stage.claim())).toEqual(['a'])
    })
  })
}
