import { describe, expect } from 'vitest'
import { type ConformanceHarness, Stage, stageTest, anEvent, idsOf, loose, ordered } from './stage.ts'

/** `setPaused`. */
export function describePause(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('a paused handler', () => {
    test('gets no runs until it is resumed, while events are accepted', async ({ stage }) => {
      await stage.accept(anEvent('suspect'), anEvent('retried'))
      await stage.crashRun(1)
      await stage.retry(await stage.claimOne(), stage.clock.now() + 1_000)
      expect(await stage.inbox.setPaused('ordered', true)).toBe(true)
      const claims = [stage.claim({ suspects: true }), stage.claim()]
      await stage.accept(anEvent('new'))
      await stage.clock.advance(1_000)
      expect(await stage.isWaiting(Promise.race(claims))).toBe(true)
      expect(await stage.inbox.setPaused('ordered', false)).toBe(true)
      const [suspects = [], others = []] = await Promise.all(claims)
      expect(idsOf(suspects)).toEqual(['suspect'])
      // A claim in flight when the clock advanced may return before the retry is due.
      const more = others.length < 2 ? await stage.claim() : []
      expect(idsOf([...others, ...more]).toSorted()).toEqual(['new', 'retried'])
    })

    test('does not pause others, and is shown in the stats', async () => {
      await using stage = await Stage.open(harness, [ordered, loose])
      await stage.inbox.setPaused('ordered', true)
      const claim = stage.claim({ handlers: ['ordered', 'loose'] })
      await stage.accept(anEvent('a'))
      expect((await claim).map(({ handler }) => handler)).toEqual(['loose'])
      const { paused, handlers } = await stage.inbox.stats()
      expect([paused, handlers.map((row) => [row.handler, row.paused])]).toEqual([
        false,
        expect.arrayContaining([
          ['ordered', true],
          ['loose', false],
        ]),
      ])
    })

    test('stays paused when all handlers are paused and resumed; an unknown handler is refused', async () => {
      await using stage = await Stage.open(harness, [ordered, loose])
      expect(await stage.inbox.setPaused('unknown', true)).toBe(false)
      await stage.inbox.setPaused('ordered', true)
      await stage.inbox.setPaused(null, true)
      expect((await stage.inbox.stats()).paused).toBe(true)
      const claim = stage.claim({ handlers: ['ordered', 'loose'] })
      await stage.accept(anEvent('a'))
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.inbox.setPaused(null, false)
      expect((await claim).map(({ handler }) => handler)).toEqual(['loose'])
      expect(await stage.isWaiting(stage.claim())).toBe(true)
    })

    test('stays paused after a crash', async () => {
      await using stage = await Stage.open(harness, [ordered, loose])
      await stage.inbox.setPaused('ordered', true)
      await stage.crash([ordered, loose])
      const claim = stage.claim({ handlers: ['ordered', 'loose'] })
      await stage.accept(anEvent('a'))
      expect((await claim).map(({ handler }) => handler)).toEqual(['loose'])
      await stage.inbox.setPaused(null, true)
      await stage.crash([ordered, loose])
      expect((await stage.inbox.stats()).paused).toBe(true)
    })
  })
}
