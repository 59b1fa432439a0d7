import { describe, expect } from 'vitest'
import type { HandlerRoute } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, stageTest, anEvent, bytes, idsOf, noRuns, ordered } from './stage.ts'

const holding: HandlerRoute = { ...ordered, onDead: 'hold' }
const latest: HandlerRoute = { ...ordered, latestOnly: true }

function withData(id: string, data: object) {
  return anEvent(id, { network: 'solana', address: 'A', raw: bytes(JSON.stringify({ id, data })) })
}

/** The options of a route. */
export function describeOptions(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('keyPaths', () => {
    const open = (...keyPaths: string[]) => Stage.open(harness, [{ ...ordered, keyPaths }])

    test('build the key from the envelope, with EVM addresses in lower case', async () => {
      await using stage = await open('data.pair', 'data.side')
      const pair = '0x00000000000000000000000000000000000000AB'
      await stage.accept(
        withData('a', { pair, side: 1 }),
        withData('b', { pair: pair.toLowerCase(), side: 1 }),
        withData('c', { pair, side: 2 }),
      )
      const leases = await stage.claim()
      expect(idsOf(leases)).toEqual(['a', 'c'])
      expect(leases[0]).toMatchObject({ key: `${pair.toLowerCase()} 1`, event: { key: 'solana:A' } })
      await stage.done(...leases)
      expect(await stage.claimOne()).toMatchObject({ event: { id: 'b' }, key: leases[0]!.key })
    })

    test('give no key to an event without a usable value', async () => {
      await using stage = await open('data.pair')
      const data = [{}, { pair: null }, { pair: {} }, { pair: '' }]
      await stage.accept(...data.map((one, n) => withData(`e${n}`, one)))
      expect((await stage.claim()).map(({ key }) => key)).toEqual(data.map(() => null))
    })

    test('replace a long key by its digest', async () => {
      await using stage = await open('data.pair')
      const pair = 'x'.repeat(100_000)
      await stage.accept(withData('a', { pair }), withData('b', { pair }), withData('c', { pair: `${pair}y` }))
      const leases = await stage.claim()
      expect(idsOf(leases)).toEqual(['a', 'c'])
      for (const { key } of leases) expect(key).toMatch(/^sha256:/)
    })
  })

  test('latestOnly supersedes an outdated run instead of a release, a retry and a conflict', async () => {
    await using stage = await Stage.open(harness, [latest])
    const keys = ['released', 'retried', 'outdated']
    const event = (id: string, key: string) => anEvent(id, { key: `key ${key}` })
    await stage.accept(...keys.map((key) => event(key, key)))
    const [released, retried, outdated] = await stage.claim()
    await stage.accept(...keys.map((key) => event(`newer ${key}`, key)))
    await stage.release(released!)
    await stage.retry(retried!)
    const reads = [{ query: { key: 'n' }, found: [{ key: 'n', version: 1 }] }]
    const effects = { reads, writes: [], items: [] }
    const done = { ...outdated!, startedAt: 0, endedAt: 0, kind: 'done', effects } as const
    expect(await stage.inbox.settle([done])).toEqual(['conflict'])
    expect(await stage.states(...keys)).toEqual(keys.map(() => 'superseded'))
    expect(await stage.states(...keys.map((key) => `newer ${key}`))).toEqual(keys.map(() => 'ready'))
    expect(await Promise.all(keys.map(async (key) => (await stage.run(key)).attempt))).toEqual([0, 1, 0])
    expect((await stage.inbox.stats()).handlers).toMatchObject([{ superseded: 3 }])
  })

  test('latestOnly supersedes a large backlog in steps, and runs the newest last', async () => {
    await using stage = await Stage.open(harness, [ordered])
    await stage.accept(...Array.from({ length: 1_300 }, (_, n) => anEvent(`e${n}`, { key: 'k' })))
    await stage.inbox.register([latest])
    await stage.accept(anEvent('new', { key: 'k' }))
    await stage.accept(anEvent('newer', { key: 'k' }))
    await stage.accept(anEvent('newest', { key: 'k' }))
    const order: string[] = []
    while (order.at(-1) !== 'newest') {
      const lease = await stage.claimOne()
      order.push(lease.event.id)
      await stage.done(lease)
    }
    expect(order.length).toBeLessThan(1_300)
    expect(await stage.stats()).toEqual(noRuns)
  })

  test('onDead: hold applies to crashes before the handlers are registered, and survives a reopen', async () => {
    await using stage = await Stage.open(harness, [holding])
    await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }))
    for (let n = 0; n < 3; n += 1) {
      await stage.claimOne({ suspects: n > 0 })
      await stage.crash([holding])
    }
    expect(await stage.states('a', 'b')).toEqual(['held', 'waiting'])
    await stage.reopen([holding])
    await stage.accept(anEvent('c', { key: 'k' }))
    expect(await stage.isWaiting(stage.claim())).toBe(true)
    expect(await stage.states('a', 'b', 'c')).toEqual(['held', 'waiting', 'waiting'])
  })
}
