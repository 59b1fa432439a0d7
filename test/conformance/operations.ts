import { describe, expect } from 'vitest'
import { type ConformanceHarness, Stage, stageTest, aQuarantined, anEvent, hex, loose, odd, ordered } from './stage.ts'

/** The quarantine, `stats`, `health` and `close`. */
export function describeOperations(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  test('the quarantine lists bodies newest first, byte for byte', async ({ stage }) => {
    const raw = Uint8Array.of(0, 0xff, 0x7b)
    await stage.accept(aQuarantined('old'))
    await stage.accept(aQuarantined('new', { raw, reason: odd, receivedAt: 77, secretLabel: odd }))
    const { data, nextCursor } = await stage.inbox.quarantine({ limit: 10 })
    expect(data.map(({ id }) => id)).toEqual(['sha256:new', 'sha256:old'])
    expect(nextCursor).toBeNull()
    expect(data[0]).toMatchObject({ reason: odd, receivedAt: 77, secretLabel: odd, sizeBytes: 3, count: 1 })
    expect(hex(data[0]!.raw)).toBe(hex(raw))
  })

  describe('stats', () => {
    test('of an empty inbox', async ({ stage }) => {
      const empty = { lastSeq: 0, quarantined: 0, conflicts: 0, oldestOpenAt: null, missingSeqs: 0 }
      expect(await stage.inbox.stats()).toMatchObject(empty)
      expect(await stage.inbox.events({ limit: 9 })).toEqual({ data: [], nextCursor: null, searchedTo: null })
      expect(await stage.inbox.event('a')).toBeNull()
    })

    test('contain the receipt time of the oldest event with an open run', async ({ stage }) => {
      const oldest = async () => (await stage.inbox.stats()).oldestOpenAt
      await stage.accept(anEvent('a', { receivedAt: 10 }), anEvent('b', { receivedAt: 20, key: 'k' }))
      await stage.accept(anEvent('c', { receivedAt: 30, key: 'k' }))
      expect(await oldest()).toBe(10)
      const [a, b] = await stage.claim()
      expect(await oldest()).toBe(10)
      await stage.done(a!)
      expect(await oldest()).toBe(20)
      await stage.dead(b!)
      expect(await oldest()).toBe(30)
      await stage.done(await stage.claimOne())
      expect(await oldest()).toBeNull()
      await stage.inbox.requeueDead('all')
      expect(await oldest()).toBe(20)
    })
  })

  test("a paused handler is shown in the stats, and does not pause others; an unknown one can't be paused", async () => {
    await using stage = await Stage.open(harness, [ordered, loose])
    expect(await stage.inbox.setPaused('unknown', true)).toBe(false)
    await stage.inbox.setPaused('ordered', true)
    const claim = stage.claim({ handlers: ['ordered', 'loose'] })
    await stage.accept(anEvent('a'))
    expect((await claim).map(({ handler }) => handler)).toEqual(['loose'])
    const { paused, handlers } = await stage.inbox.stats()
    expect(paused).toBe(false)
    expect(Object.fromEntries(handlers.map((row) => [row.handler, row.paused]))).toEqual({
      loose: false,
      ordered: true,
    })
  })

  describe('close', () => {
    const shuttingDown = expect.objectContaining({ code: 'shutting_down' })

    test('resolves waiting and later claims empty', async ({ stage }) => {
      const claims = [stage.claim(), stage.claim({ suspects: true }), stage.claim({ handlers: ['unknown'] })]
      expect(await stage.isWaiting(Promise.race(claims))).toBe(true)
      await stage.inbox.close()
      expect(await Promise.all(claims)).toEqual([[], [], []])
      expect(await stage.claim()).toEqual([])
    })

    test('rejects calls that need a commit', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      const lease = await stage.claimOne()
      await stage.inbox.close()
      await expect(stage.inbox.accept([anEvent('b')])).rejects.toEqual(shuttingDown)
      await expect(stage.inbox.accept([anEvent('a')])).rejects.toEqual(shuttingDown)
      await expect(stage.done(lease)).rejects.toEqual(shuttingDown)
    })

    test('can be repeated, also at the same time', async ({ stage }) => {
      await Promise.all([stage.inbox.close(), stage.inbox.close()])
      await stage.inbox.close()
    })

    test('an open inbox is healthy', async ({ stage }) => {
      expect(stage.inbox.health()).toMatchObject({ ok: true })
      stage.inbox.onFailure(() => expect.unreachable())
      await stage.accept(anEvent('a'))
      expect(stage.inbox.health()).toMatchObject({ ok: true })
    })
  })
}
