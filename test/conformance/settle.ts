import { describe, expect } from 'vitest'
import { type ConformanceHarness, stageTest, anEvent, boom, idsOf, odd } from './stage.ts'

/** `settle` and `release`. */
export function describeSettle(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('settle', () => {
    test('returns one result per outcome, in order', async ({ stage }) => {
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
      expect(await stage.inbox.settle([])).toEqual([])
      expect(await stage.states('a', 'b', 'c')).toEqual(['done', 'ready', 'dead'])
    })

    test('numbers attempts from 1 and stores a record of each', async ({ stage }) => {
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

    test('stores an error without a stack, with any text', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      const error = { name: odd, message: `line\nbreak "quoted" ${odd}` }
      const { runId, token } = await stage.claimOne()
      await stage.inbox.settle([{ runId, token, startedAt: 1, endedAt: 2, kind: 'dead', error }])
      expect((await stage.run('a')).attempts).toMatchObject([{ outcome: 'dead', error }])
      const { groups } = await stage.inbox.deadGroups({})
      expect(groups).toMatchObject([{ sample: { error } }])
      const { data } = await stage.inbox.deadLetters({ limit: 1, group: groups[0]!.group })
      expect(data).toMatchObject([{ error }])
    })
  })

  test('settle applies one of many concurrent outcomes', async ({ stage }) => {
    await stage.accept(anEvent('a'))
    const lease = await stage.claimOne()
    const results = await Promise.all(Array.from({ length: 20 }, () => stage.done(lease)))
    expect(results.flat().filter((result) => result === 'applied')).toHaveLength(1)
    expect((await stage.run('a')).attempts).toHaveLength(1)
  })

  test('release returns a run to its place in the order', async ({ stage }) => {
    await stage.accept(anEvent('a', { key: 'k' }), anEvent('b'), anEvent('c', { key: 'k' }))
    await stage.clock.advance(10)
    await stage.accept(anEvent('d'))
    await stage.release(...(await stage.claim()))
    expect(idsOf(await stage.claim())).toEqual(['a', 'b', 'd'])
  })
}
