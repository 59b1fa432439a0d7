import { describe, expect } from 'vitest'
import { internalLabel } from '../../src/inbox/port.ts'
import { type ConformanceHarness, type Stage, stageTest, anEvent } from './stage.ts'

const hour = 3_600_000

/** `startServing`, `gaps` and `acknowledgeGaps`. */
export function describeGaps(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  const createdAt = (ms: number) => ({ createdAt: new Date(ms).toISOString() })
  const restart = async (stage: Stage, downMs: number) => {
    await stage.reopen()
    await stage.clock.advance(downMs)
    await stage.inbox.startServing()
  }

  describe('a gap', () => {
    test('is recorded, and counts its late events once, across restarts', async ({ stage }) => {
      const { clock } = stage
      await stage.inbox.startServing()
      await stage.accept(anEvent('before'))
      expect(await stage.inbox.gaps()).toEqual([])
      const from = clock.now()
      await restart(stage, 3 * hour)
      const to = clock.now()
      const counts = { lost: null, arrived: 0, arrivedLost: 0, lastArrivalAt: null, acknowledgedAt: null }
      const gap = { from, to, kind: 'stopped', retriedUntil: to + 8 * hour + 30_000, ...counts }
      expect(await stage.inbox.gaps()).toEqual([gap])

      await clock.advance(60_000)
      const during = anEvent('during', createdAt(from + hour))
      const older = anEvent('older', createdAt(from - 1))
      await stage.accept(during, anEvent('last', createdAt(to - 1)), older, anEvent('new', createdAt(to)))
      expect(await stage.inbox.gaps()).toEqual([{ ...gap, arrived: 2, lastArrivalAt: to + 60_000 }])
      await stage.inbox.accept([during, anEvent('odd', { createdAt: 'not a time' })])
      // Warnings of the inbox itself don't count.
      await stage.accept(anEvent('inbox:disk_low', { ...createdAt(from + hour), secretLabel: internalLabel }))
      expect(await stage.inbox.gaps()).toMatchObject([{ arrived: 2 }])

      await restart(stage, 2_000)
      await stage.accept(anEvent('late', createdAt(from)))
      expect(await stage.inbox.gaps()).toMatchObject([
        { from: to + 60_000, arrived: 0 },
        { from, arrived: 3 },
      ])
    })

    test('does not begin with the first start, a restart within a second, or a process that accepts no deliveries', async ({
      stage,
    }) => {
      await stage.inbox.startServing()
      // A future receipt time hides no gap.
      await stage.accept(anEvent('a', { receivedAt: stage.clock.now() + 5 * hour }))
      await restart(stage, 900)
      const from = stage.clock.now()
      await stage.reopen()
      await stage.clock.advance(60_000)
      expect(await stage.inbox.gaps()).toEqual([])
      await restart(stage, hour)
      if (!harness.hasOwnClock) await restart(stage, -hour)
      expect(await stage.inbox.gaps()).toMatchObject([{ from, to: from + 60_000 + hour, kind: 'stopped' }])
    })

    test('with lost events is listed until it is acknowledged', async ({ stage }) => {
      const { clock } = stage
      await stage.inbox.startServing()
      const from = clock.now()
      await restart(stage, 24 * hour)
      const lost = { from, to: from + 13.4 * hour }
      const late = (id: string, ms: number) => stage.accept(anEvent(id, createdAt(ms)))
      await late('lost', from)
      await late('too', lost.to - 1)
      await late('retried', lost.to)
      const gap = { from, lost, arrived: 3, arrivedLost: 2, acknowledgedAt: null }
      // The sender retries nothing any more.
      await clock.advance(12 * hour)
      for (let n = 0; n < 25; n += 1) await restart(stage, 2_000)
      expect((await stage.inbox.gaps()).at(-1)).toMatchObject(gap)
      await late('late', from + hour)
      expect((await stage.inbox.gaps()).at(-1)).toMatchObject({ ...gap, arrived: 4, arrivedLost: 3 })

      expect(await stage.inbox.acknowledgeGaps('ann')).toEqual({ missingSeqs: 0, gaps: 1 })
      const acknowledgedAt = clock.now()
      await stage.reopen()
      expect((await stage.inbox.gaps()).filter(({ lost: some }) => some !== null)).toEqual([])
      expect(await stage.inbox.acknowledgeGaps()).toEqual({ missingSeqs: 0, gaps: 0 })
      expect((await stage.inbox.audit({ limit: 9 })).data).toMatchObject([
        { action: 'gaps.acknowledge', at: acknowledgedAt, detail: { missingSeqs: 0, gaps: 1 }, by: 'ann' },
      ])
    })
  })
}
