import { describe, expect, test } from 'vitest'
import { maxCrashes } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, aQuarantined, anEvent, bytes, hex, idsOf, loose, ordered } from './stage.ts'

/** What must outlive a close, where the harness can reopen. */
export function describeReopen(harness: ConformanceHarness): void {
  describe('after it was closed and opened again', () => {
    test('everything is as it was', async () => {
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
    })

    test('events and conflicts are still known, and numbers go on', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'), anEvent('b'))
      await stage.reopen()
      const batch = [anEvent('a'), anEvent('b', { raw: bytes('other') }), anEvent('c')]
      expect(await stage.inbox.accept(batch)).toEqual(['duplicate', 'conflict', 'accepted'])
      expect(await stage.detail('c')).toMatchObject({ seq: 3 })
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 3, missingSeqs: 0 })
    })

    test('runs can be claimed, in the same order', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...['a', 'b', 'c'].map((id) => anEvent(id, { key: 'k' })), anEvent('d'))
      await stage.release(await stage.claimOne())
      await stage.reopen()
      const leases = await stage.claim()
      expect(idsOf(leases)).toEqual(['a', 'd'])
      await stage.done(...leases)
      expect(idsOf(await stage.claim())).toEqual(['b'])
    })

    test('a retry still falls due', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.retry(await stage.claimOne(), stage.clock.now() + 5_000)
      await stage.reopen()
      const claim = stage.claim()
      await stage.clock.advance(4_999)
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.clock.advance(1)
      expect(await claim).toMatchObject([{ attempt: 2 }])
    })

    test.skipIf(harness.hasOwnClock)('a clock that was set back meanwhile holds up nothing', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.clock.advance(-3_600_000)
      await stage.reopen()
      expect(idsOf(await stage.claim())).toEqual(['a'])
    })

    test.skipIf(harness.hasOwnClock)(
      'a clock that was set back is heeded once: a retry keeps its wait over further starts',
      async () => {
        await using stage = await Stage.open(harness)
        await stage.accept(anEvent('a', { receivedAt: stage.clock.now() }))
        await stage.retry(await stage.claimOne(), stage.clock.now() + 10_000)
        await stage.clock.advance(-3_600_000)
        for (let start = 0; start < 3; start++) {
          await stage.reopen()
          expect(await stage.run('a')).toMatchObject({ runAt: stage.clock.now() + 10_000 })
        }
      },
    )

    test('suspects are still suspects', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.crashRun(2)
      await stage.reopen()
      expect(await stage.claimOne({ suspects: true })).toMatchObject({ attempt: 3, crashed: 2 })
    })

    test('a token from before is stale', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const late = await stage.claimOne()
      await stage.release(late)
      await stage.reopen()
      const current = await stage.claimOne()
      expect(await stage.done(late)).toEqual(['stale'])
      expect(await stage.done(current)).toEqual(['applied'])
    })

    test('what was answered before the close is stored, and what was refused comes in again', async () => {
      await using stage = await Stage.open(harness)
      const ids = Array.from({ length: 20 }, (_, i) => `e${i}`)
      const calls = ids.map((id) => stage.inbox.accept([anEvent(id)]))
      const [answers] = await Promise.all([Promise.allSettled(calls), stage.inbox.close()])
      await stage.reopen()
      const again = await stage.inbox.accept(ids.map((id) => anEvent(id)))
      for (const [i, { status }] of answers.entries()) if (status === 'fulfilled') expect(again[i]).toBe('duplicate')
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 20, missingSeqs: 0 })
    })
  })
}

/** What must outlive a `kill -9`, where the harness can crash. */
export function describeCrash(harness: ConformanceHarness): void {
  describe('after a kill', () => {
    test('what was accepted is there', async () => {
      await using stage = await Stage.open(harness)
      const raw = Uint8Array.from({ length: 256 }, (_, i) => i)
      await stage.accept(anEvent('a', { raw }), aQuarantined('q', { raw }))
      await stage.crash()
      expect(hex((await stage.detail('a')).raw)).toBe(hex(raw))
      expect((await stage.inbox.quarantine({ limit: 1 })).data).toMatchObject([{ id: 'sha256:q' }])
      expect(await stage.inbox.accept([anEvent('a', { raw })])).toEqual(['duplicate'])
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 1, missingSeqs: 0 })
      expect(idsOf(await stage.claim())).toEqual(['a'])
    })

    test('what a duplicate was answered for is there', async () => {
      await using stage = await Stage.open(harness)
      const first = stage.inbox.accept([anEvent('a')]).catch(() => [])
      expect(await stage.inbox.accept([anEvent('a')])).toEqual(['duplicate'])
      await stage.crash()
      expect(await stage.detail('a')).toMatchObject({ seq: 1 })
      expect(await stage.inbox.accept([anEvent('a')])).toEqual(['duplicate'])
      void first
    })

    test('runs that were in flight are suspects, with the crash and the attempt counted', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }), anEvent('c'), anEvent('d'))
      const leases = await stage.claim({ max: 2 })
      expect(idsOf(leases)).toEqual(['a', 'c'])
      await stage.crash()
      expect(await stage.states('a', 'b', 'c', 'd')).toEqual(['suspect', 'waiting', 'suspect', 'ready'])
      expect(await stage.run('a')).toMatchObject({ attempt: 1, crashed: 1, attempts: [{ outcome: 'crashed' }] })
      expect(await stage.done(...leases)).toEqual(['stale', 'stale'])
      expect(idsOf(await stage.claim({ owner: 'new' }))).toEqual(['d'])
      const suspects = await stage.claim({ owner: 'new', suspects: true })
      expect(suspects).toMatchObject([
        { attempt: 2, crashed: 1 },
        { attempt: 2, crashed: 1 },
      ])
      expect(idsOf(suspects)).toEqual(['a', 'c'])
    })

    test.skipIf(harness.hasOwnClock)(
      'a clock that was set back meanwhile holds up nothing, however old the newest event is',
      async () => {
        await using stage = await Stage.open(harness)
        await stage.accept(anEvent('suspect'), anEvent('retried'))
        const hour = 3_600_000
        await stage.clock.advance(hour)
        const [suspect, retried] = await stage.claim({ owner: 'x' })
        await stage.retry(retried!, stage.clock.now() + 10_000)
        await stage.inbox.reap('x')
        await stage.claimOne({ owner: 'y', suspects: true })
        for (let start = 0; start < 2; start += 1) {
          await stage.clock.advance(-hour / 4)
          await stage.crash()
          const { runAt } = await stage.run('retried')
          expect(runAt! - stage.clock.now()).toBeGreaterThanOrEqual(10_000)
          expect(runAt! - stage.clock.now()).toBeLessThanOrEqual(11_000)
        }
        await stage.clock.advance(1_000)
        expect(idsOf(await stage.claim({ suspects: true }))).toEqual([suspect!.event.id])
      },
    )

    test('verdicts and releases are there', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...['a', 'b', 'c', 'd'].map((id) => anEvent(id)))
      const [a, b, c, d] = await stage.claim()
      const at = stage.clock.now() + 1_000
      await stage.done(a!)
      await stage.retry(b!, at)
      await stage.dead(c!)
      await stage.release(d!)
      await stage.crash()
      expect(await stage.states('a', 'b', 'c', 'd')).toEqual(['done', 'ready', 'dead', 'ready'])
      expect(await stage.run('b')).toMatchObject({ attempt: 1, crashed: 0, runAt: at })
      expect(await stage.run('d')).toMatchObject({ attempt: 0, crashed: 0, attempts: [] })
    })

    test(`a run that was in flight ${maxCrashes} times is a dead letter, and its key goes on`, async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('poison', { key: 'k' }), anEvent('next', { key: 'k' }))
      for (let n = 0; n < maxCrashes; n += 1) {
        expect(await stage.claimOne({ owner: `o${n}`, suspects: n > 0 })).toMatchObject({ attempt: n + 1, crashed: n })
        await stage.crash()
      }
      expect(await stage.states('poison', 'next')).toEqual(['dead', 'ready'])
      expect((await stage.inbox.deadLetters({ limit: 1 })).data).toMatchObject([{ error: { name: 'handler_crashed' } }])
    })
  })
}
