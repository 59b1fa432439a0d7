import { describe, expect } from 'vitest'
import {
  type ConformanceHarness,
  Stage,
  stageTest,
  aQuarantined,
  anEvent,
  bytes,
  hex,
  idsOf,
  loose,
  ordered,
} from './stage.ts'

/** Data after a close, for harnesses that can reopen. */
export function describeReopen(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  const testSetBack = test.skipIf(harness.hasOwnClock)
  describe('after a reopen', () => {
    test('events, runs, quarantine, dead letters and stats are unchanged', async () => {
      await using stage = await Stage.open(harness, [ordered, loose])
      const raw = Uint8Array.from({ length: 256 }, (_, i) => i)
      await stage.accept(anEvent('a', { key: 'k', raw, network: 'solana', address: 'A' }), aQuarantined('q', { raw }))
      await stage.accept(...['b', 'c', 'd', 'e'].map((id) => anEvent(id, { key: id === 'e' ? 'k' : id })))
      await stage.inbox.accept([anEvent('b'), anEvent('b', { raw: bytes('other') }), aQuarantined('q', { raw })])
      const [a, b, c, d] = await stage.claim()
      await stage.retry(a!, stage.clock.now() + 60_000)
      await stage.dead(b!)
      await stage.done(c!)
      await stage.release(d!)
      const everything = async () => {
        const details = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => stage.detail(id)))
        const { data: quarantine } = await stage.inbox.quarantine({ limit: 10 })
        return {
          details: details.map((detail) => ({ ...detail, raw: hex(detail.raw) })),
          quarantine: quarantine.map((body) => ({ ...body, raw: hex(body.raw) })),
          events: await stage.inbox.events({ limit: 10 }),
          dead: await stage.inbox.deadLetters({ limit: 10 }),
          stats: await stage.inbox.stats(),
        }
      }
      const before = await everything()
      await stage.reopen([ordered, loose])
      expect(await everything()).toEqual(before)
      // Duplicates and conflicts are known, and accept-sequence numbers continue.
      const batch = [anEvent('b'), anEvent('c', { raw: bytes('other') }), anEvent('f')]
      expect(await stage.inbox.accept(batch)).toEqual(['duplicate', 'conflict', 'accepted'])
      expect(await stage.detail('f')).toMatchObject({ seq: 6 })
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 6, missingSeqs: 0 })
    })

    testSetBack('a clock that was set back shifts a retry once, not at every start', async ({ stage }) => {
      await stage.accept(anEvent('a', { receivedAt: stage.clock.now() }))
      await stage.retry(await stage.claimOne(), stage.clock.now() + 10_000)
      await stage.clock.advance(-3_600_000)
      for (let start = 0; start < 3; start++) {
        await stage.reopen()
        expect(await stage.run('a')).toMatchObject({ runAt: stage.clock.now() + 10_000 })
      }
    })

    test('accepted events are stored, and rejected ones can be accepted again', async ({ stage }) => {
      const ids = Array.from({ length: 20 }, (_, i) => `e${i}`)
      const calls = ids.map((id) => stage.inbox.accept([anEvent(id)]))
      const [answers] = await Promise.all([Promise.allSettled(calls), stage.inbox.close()])
      await stage.reopen()
      const again = await stage.inbox.accept(ids.map((id) => anEvent(id)))
      for (const [i, answer] of answers.entries()) {
        if (answer.status === 'fulfilled') expect(again[i]).toBe('duplicate')
        else expect(answer.reason).toMatchObject({ code: 'shutting_down' })
      }
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 20, missingSeqs: 0 })
    })
  })
}

/** Data after a `kill -9`, for harnesses that can crash. */
export function describeCrash(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('after a kill', () => {
    test('accepted events and quarantined bodies are stored', async ({ stage }) => {
      const raw = Uint8Array.from({ length: 256 }, (_, i) => i)
      await stage.accept(anEvent('a', { raw }), aQuarantined('q', { raw }))
      await stage.crash()
      expect(hex((await stage.detail('a')).raw)).toBe(hex(raw))
      expect((await stage.inbox.quarantine({ limit: 1 })).data).toMatchObject([{ id: 'sha256:q' }])
      expect(await stage.inbox.accept([anEvent('a', { raw })])).toEqual(['duplicate'])
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 1, missingSeqs: 0 })
      expect(idsOf(await stage.claim())).toEqual(['a'])
    })

    test('the event of a reported duplicate is stored', async ({ stage }) => {
      const first = stage.inbox.accept([anEvent('a')]).catch(() => [])
      expect(await stage.inbox.accept([anEvent('a')])).toEqual(['duplicate'])
      await stage.crash()
      expect(await stage.detail('a')).toMatchObject({ seq: 1 })
      expect(await stage.inbox.accept([anEvent('a')])).toEqual(['duplicate'])
      void first
    })
  })
}
