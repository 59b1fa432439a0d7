import { describe, expect } from 'vitest'
import {
  type ConformanceHarness,
  Stage,
  stageTest,
  aQuarantined,
  anEvent,
  bytes,
  idsOf,
  noRuns,
  ordered,
} from './stage.ts'

/** `prune`. */
export function describePrune(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  const dayMs = 24 * 3_600_000
  const olderThan = (stage: Stage, days: number) =>
    stage.inbox.prune({ receivedBefore: stage.clock.now() - days * dayMs, maxBytes: null })

  const pruned = (events: number, quarantined = 0) => ({ events, quarantined, isTooLarge: false })

  async function withOld(...ids: string[]): Promise<Stage> {
    const stage = await Stage.open(harness)
    await stage.accept(...ids.map((id) => anEvent(id, { receivedAt: stage.clock.now() })))
    return stage
  }

  describe('prune', () => {
    test('deletes the body and runs of an ended event, and keeps the event and its status', async () => {
      await using stage = await withOld('a', 'b')
      const [a, b] = await stage.claim()
      await stage.retry(a!)
      await stage.done(await stage.claimOne())
      await stage.settle(b!, 'expired', 0)
      await stage.clock.advance(2 * dayMs)
      await stage.accept(anEvent('young', { receivedAt: stage.clock.now() }))
      await stage.done(await stage.claimOne())
      expect(await olderThan(stage, 1)).toEqual(pruned(2))
      expect(await stage.detail('a')).toMatchObject({ status: 'done', runs: [], type: 'wallet.large_trade', key: 'a' })
      expect((await stage.detail('a')).pruned).toBe(true)
      expect((await stage.detail('young')).pruned).toBe(false)
      expect((await stage.detail('a')).raw).toHaveLength(0)
      expect((await stage.detail('young')).raw.length).toBeGreaterThan(0)
      const { data } = await stage.inbox.events({ limit: 9 })
      expect(data.map(({ id, status }) => [id, status])).toEqual([
        ['young', 'done'],
        ['b', 'expired'],
        ['a', 'done'],
      ])
      expect((await stage.inbox.events({ limit: 9, status: 'expired' })).data.map(({ id }) => id)).toEqual(['b'])
      expect(await olderThan(stage, 1)).toEqual(pruned(0))
      expect((await stage.inbox.audit({ limit: 9 })).data).toEqual([])
    })

    test('deletes old bodies from quarantine, with an audit record if requested; they may be delivered again', async ({
      stage,
    }) => {
      const accept = (name: string) => stage.accept(aQuarantined(name, { receivedAt: stage.clock.now() }))
      await accept('a')
      await accept('b')
      await stage.clock.advance(2 * dayMs)
      await accept('young')
      const receivedBefore = stage.clock.now() - dayMs
      expect(await stage.inbox.prune({ receivedBefore, maxBytes: null }, 'noted')).toEqual(pruned(0, 2))
      const listed = async () => (await stage.inbox.quarantine({ limit: 9 })).data.map(({ id }) => id)
      expect(await listed()).toEqual(['sha256:young'])
      const [record] = (await stage.inbox.audit({ limit: 1 })).data
      expect(record).toMatchObject({ action: 'prune', detail: { events: 0, quarantined: 2 } })
      await accept('a')
      expect(await listed()).toEqual(['sha256:a', 'sha256:young'])
      expect(await olderThan(stage, 1)).toEqual(pruned(0))
    })

    test('keeps event ids for good, and never reuses run ids', async () => {
      await using stage = await withOld('a')
      const first = await stage.claimOne()
      await stage.done(first)
      await stage.clock.advance(2 * dayMs)
      await olderThan(stage, 1)
      await stage.reopen()
      expect(await stage.inbox.accept([anEvent('a'), anEvent('a', { raw: bytes('other') })])).toEqual([
        'duplicate',
        'duplicate',
      ])
      expect(await stage.detail('a')).toMatchObject({ duplicates: 2, conflicts: 0 })
      await stage.accept(anEvent('b'))
      expect((await stage.claimOne()).runId).toBeGreaterThan(first.runId)
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 2, missingSeqs: 0 })
    })

    test('keeps events that a backfill still needs', async () => {
      const ids = Array.from({ length: 1_200 }, (_, n) => `e${n}`)
      await using stage = await withOld(...ids)
      await stage.done(...(await stage.claim({ max: 2_000 })))
      const late = { ...ordered, name: 'late', from: 'beginning' } as const
      await stage.inbox.register([ordered, late])
      await stage.inbox.setPaused('late', true)
      await stage.until(async () => (await stage.stats('late')).ready >= 1_000)
      await stage.accept(anEvent('live', { receivedAt: stage.clock.now() }))
      await stage.done(await stage.claimOne())
      await stage.clock.advance(1_000)
      await stage.inbox.prune({ receivedBefore: stage.clock.now() - 1, maxBytes: null })
      await stage.inbox.setPaused('late', false)
      const seen = new Set<string>()
      while (seen.size < 1_201) {
        await stage.clock.advance(600)
        const leases = await stage.claim({ handlers: ['late'], owner: `late ${seen.size}`, max: 2_000 })
        for (const id of idsOf(leases)) seen.add(id)
        await stage.done(...leases)
      }
      expect(seen.has('live')).toBe(true)
    })

    test('keeps no events for the backfill of a removed handler', async () => {
      const ids = Array.from({ length: 1_200 }, (_, n) => `e${n}`)
      await using stage = await withOld(...ids)
      await stage.done(...(await stage.claim({ max: 2_000 })))
      const late = { ...ordered, name: 'late', from: 'beginning' } as const
      await stage.inbox.register([ordered, late])
      await stage.until(async () => (await stage.stats('late')).ready >= 1_000)
      await stage.inbox.register([ordered])
      await stage.done(...(await stage.claim({ handlers: ['late'], max: 2_000 })))
      await stage.clock.advance(2 * dayMs)
      expect(await stage.stats('late')).toEqual(noRuns)
      expect(await olderThan(stage, 1)).toMatchObject({ events: 1_200 })
      await stage.accept(anEvent('new', { receivedAt: stage.clock.now() }))
      await stage.inbox.register([ordered, late])
      await stage.clock.advance(2 * dayMs)
      expect(idsOf(await stage.claim({ handlers: ['late'] }))).toEqual(['new'])
    })

    test('continues past an event received while the clock was ahead', async ({ stage }) => {
      const receivedAt = stage.clock.now()
      await stage.accept(anEvent('ahead', { receivedAt: receivedAt + 365 * dayMs }), anEvent('a', { receivedAt }))
      await stage.done(...(await stage.claim()))
      await stage.clock.advance(2 * dayMs)
      expect(await olderThan(stage, 1)).toEqual(pruned(1))
      expect((await stage.detail('a')).raw).toHaveLength(0)
    })
  })
}
