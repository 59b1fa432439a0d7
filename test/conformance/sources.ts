import { describe, expect } from 'vitest'
import type { HandlerRoute } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, stageTest, anEvent, bytes, idsOf, ordered } from './stage.ts'

const ofSource = (source: string, id: string, given: Parameters<typeof anEvent>[1] = {}) =>
  anEvent(`${source}/${id}`, { secretLabel: `${source}/main`, ...given })

const routes: readonly HandlerRoute[] = [
  ordered,
  { ...ordered, name: 'desk', sources: ['desk'] },
  { ...ordered, name: 'everything', sources: ['*'] },
]

/** Events of other sources than the default one. */
export function describeSources(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('sources', () => {
    test('one id from three sources is three events, each for the handlers of its source', async () => {
      await using stage = await Stage.open(harness, routes)
      const batch = [anEvent('a'), ofSource('desk', 'a'), ofSource('other', 'a')]
      expect(await stage.inbox.accept(batch)).toEqual(['accepted', 'accepted', 'accepted'])
      expect(await stage.inbox.accept(batch)).toEqual(['duplicate', 'duplicate', 'duplicate'])
      const handlersOf = async (id: string) => (await stage.detail(id)).runs.map(({ handler }) => handler).toSorted()
      expect(await handlersOf('a')).toEqual(['everything', ordered.name].toSorted())
      expect(await handlersOf('desk/a')).toEqual(['desk', 'everything'])
      expect(await handlersOf('other/a')).toEqual(['everything'])
      expect(await stage.claimOne({ handlers: ['desk'] })).toMatchObject({
        event: { id: 'desk/a', secretLabel: 'desk/main' },
      })
    })

    test('lists, replays and counts per minute keep sources apart', async ({ stage }) => {
      await stage.inbox.accept([
        anEvent('a', { type: 't' }),
        ofSource('desk', 'a', { type: 't' }),
        ofSource('desk-2', 'a'),
      ])
      const listed = async (source: string) => (await stage.inbox.events({ source, limit: 9 })).data.map(({ id }) => id)
      expect(await listed('desk')).toEqual(['desk/a'])
      expect(await listed('default')).toEqual(['a'])
      expect(await listed('nobody')).toEqual([])
      expect((await stage.detail('desk/a')).source).toBe('desk')
      expect(await stage.inbox.countReplay({ source: 'desk' })).toEqual({ events: 1, skipped: 0 })
      const activity = await stage.inbox.activity({
        from: 0,
        to: stage.clock.now() + 60_000,
        bucketMs: 60_000 * 60 * 24 * 365,
      })
      expect(activity.map(({ type }) => type).toSorted()).toEqual(['desk-2/wallet.large_trade', 'desk/t', 't'])
    })

    test('bodies that differ only in volatile parts are duplicates', async ({ stage }) => {
      const event = (attempt: number, stableDigest: string | null) =>
        ofSource('desk', 'a', { raw: bytes(`{"attempt":${attempt}}`), stableDigest })
      expect(await stage.inbox.accept([event(1, 'x'), event(2, 'x'), event(3, 'y')])).toEqual([
        'accepted',
        'duplicate',
        'conflict',
      ])
      expect(await stage.inbox.accept([event(4, 'x')])).toEqual(['duplicate'])
      expect(await stage.inbox.accept([event(5, null)])).toEqual(['conflict'])
    })

    test('a key orders the events of one source only', async () => {
      await using stage = await Stage.open(harness, [{ ...ordered, sources: ['*'] }])
      await stage.accept(
        ofSource('desk', 'a', { key: ':desk:base 1' }),
        ofSource('desk', 'b', { key: ':desk:base 1' }),
        ofSource('other', 'c', { key: ':other:base 1' }),
      )
      expect(idsOf(await stage.claim())).toEqual(['desk/a', 'other/c'])
      expect(await stage.detail('desk/a')).toMatchObject({ network: null, address: null })
    })

    test('key paths read the body as data', async () => {
      await using stage = await Stage.open(harness, [{ ...ordered, sources: ['*'], keyPaths: ['data.pair', 'id'] }])
      const raw = bytes('{"pair":"0x00000000000000000000000000000000000000AB"}')
      await stage.accept(ofSource('desk', 'a', { raw }))
      const key = ':desk:0x00000000000000000000000000000000000000ab a'
      expect(await stage.claimOne()).toMatchObject({ key })
    })

    test('replays and backfills give a handler the events of its sources', async () => {
      await using stage = await Stage.open(harness, [])
      await stage.accept(anEvent('a'), ofSource('desk', 'a'), ofSource('other', 'a'))
      await stage.inbox.register(routes.map((route) => ({ ...route, from: 'beginning' })))
      const backfilled = await stage.claim({ handlers: ['desk'] })
      expect(idsOf(backfilled)).toEqual(['desk/a'])
      await stage.done(...backfilled)
      expect(await stage.inbox.countReplay({ from: 0, handler: 'desk' })).toEqual({ events: 1, skipped: 0 })
      await stage.inbox.startReplay({ filter: { from: 0, handler: 'desk' }, perSecond: null, newKeys: false })
      expect(idsOf(await stage.claim({ handlers: ['desk'] }))).toEqual(['desk/a'])
    })

    test('fetched keys are kept per source, and replaced as a whole', async ({ stage }) => {
      const { inbox } = stage
      expect(await inbox.sourceKeys('desk')).toEqual([])
      await inbox.storeSourceKeys('desk', [{ id: '1\u0000', spki: 'MA==' }])
      await inbox.storeSourceKeys('other', [{ id: '1', spki: 'MB==' }])
      await inbox.storeSourceKeys('desk', [
        { id: '1\u0000', spki: 'MC==' },
        { id: '2', spki: 'MD==' },
      ])
      expect((await inbox.sourceKeys('desk')).toSorted((a, b) => a.id.localeCompare(b.id))).toEqual([
        { id: '1\u0000', spki: 'MC==' },
        { id: '2', spki: 'MD==' },
      ])
      expect(await inbox.sourceKeys('other')).toEqual([{ id: '1', spki: 'MB==' }])
    })
  })
}
