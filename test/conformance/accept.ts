import { describe, expect } from 'vitest'
import { type ConformanceHarness, Stage, stageTest, aQuarantined, anEvent, bytes, hex, odd } from './stage.ts'

/** `accept` and `register`. */
export function describeAccept(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('accept', () => {
    test('returns one result per delivery, in order, and numbers events without gaps', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      const batch = [anEvent('b'), anEvent('a'), aQuarantined('q'), anEvent('a', { raw: bytes('other') }), anEvent('c')]
      expect(await stage.inbox.accept(batch)).toEqual(['accepted', 'duplicate', 'quarantined', 'conflict', 'accepted'])
      expect(await stage.inbox.accept([])).toEqual([])
      const { data } = await stage.inbox.events({ limit: 10 })
      expect(data.map(({ seq, id }) => `${seq} ${id}`)).toEqual(['3 c', '2 b', '1 a'])
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 3, missingSeqs: 0 })
    })

    test('stores all fields of an event, with any text', async ({ stage }) => {
      const place = { network: 'solana', address: 'Abc' }
      const given = { ...place, key: 'solana:Abc', createdAt: ' 2026-13-99 ', secretLabel: odd }
      const event = anEvent(odd, { ...given, type: odd, trace: odd, headers: `{"a":"${odd}"}`, receivedAt: 123_456 })
      await stage.accept(event, anEvent('b'))
      const { raw, ...detail } = await stage.detail(odd)
      const { kind: _, raw: __, ...stored } = event
      expect(detail).toMatchObject({ ...stored, seq: 1, duplicates: 0, conflicts: 0 })
      expect(hex(raw)).toBe(hex(event.raw))
      expect(await stage.detail('b')).toMatchObject({ network: null, address: null })
      const { data } = await stage.inbox.events({ limit: 9, type: odd, ...place, q: 'id' })
      expect(data).toMatchObject([{ id: odd, type: odd, ...place }])
      expect(await stage.inbox.unknownIds([odd, `${odd}!`])).toEqual([`${odd}!`])
    })

    test('stores any bytes unchanged', async ({ stage }) => {
      const bodies = [
        new Uint8Array(0),
        Uint8Array.from({ length: 256 }, (_, i) => i),
        bytes('\u{FEFF}{"id":"\\u0000 \u{1F600}"}\r\n'),
        new Uint8Array(2 ** 20).fill(0xff),
      ]
      await stage.accept(...bodies.map((raw, i) => anEvent(`e${i}`, { raw })))
      const leases = await stage.claim()
      for (const [i, raw] of bodies.entries()) {
        expect(hex((await stage.detail(`e${i}`)).raw)).toBe(hex(raw))
        expect(hex(leases[i]!.event.raw)).toBe(hex(raw))
      }
    })

    test('copies the bytes before it resolves', async ({ stage }) => {
      const raw = bytes('{"id":"a"}')
      await stage.accept(anEvent('a', { raw: raw.subarray(0, 5) }), aQuarantined('q', { raw }))
      raw.fill(0)
      expect(hex((await stage.detail('a')).raw)).toBe(hex(bytes('{"id"')))
      const lease = await stage.claimOne()
      lease.event.raw.fill(0)
      expect(hex((await stage.detail('a')).raw)).toBe(hex(bytes('{"id"')))
      const { data } = await stage.inbox.quarantine({ limit: 1 })
      expect(hex(data[0]!.raw)).toBe(hex(bytes('{"id":"a"}')))
    })

    test('counts duplicates within a batch and in later ones, even of a finished run', async ({ stage }) => {
      expect(await stage.inbox.accept([anEvent('a'), anEvent('a'), anEvent('a')])).toEqual([
        'accepted',
        'duplicate',
        'duplicate',
      ])
      await stage.done(await stage.claimOne())
      expect(await stage.inbox.accept([anEvent('a')])).toEqual(['duplicate'])
      expect(await stage.isWaiting(stage.claim())).toBe(true)
      const detail = await stage.detail('a')
      expect(detail).toMatchObject({ duplicates: 3, conflicts: 0 })
      expect(detail.runs).toHaveLength(1)
    })

    test('accepts one of many concurrent deliveries of an event; all resolve after it is stored', async ({ stage }) => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const [result] = await stage.inbox.accept([anEvent('a')])
          return { result, seen: (await stage.inbox.event('a')) !== null }
        }),
      )
      expect(answers.filter(({ result }) => result === 'accepted')).toHaveLength(1)
      expect(answers.filter(({ result }) => result === 'duplicate')).toHaveLength(49)
      expect(answers.every(({ seen }) => seen)).toBe(true)
      expect(await stage.stats()).toMatchObject({ ready: 1 })
    })

    test('keeps the first body and records a conflict', async ({ stage }) => {
      const first = anEvent('a')
      const other = anEvent('a', { raw: bytes('other'), type: 'token.migrated' })
      expect(await stage.inbox.accept([first, other])).toEqual(['accepted', 'conflict'])
      expect(await stage.inbox.stats()).toMatchObject({ conflicts: 1 })
      expect(await stage.inbox.accept([other, first])).toEqual(['conflict', 'duplicate'])
      const detail = await stage.detail('a')
      expect(detail).toMatchObject({ type: first.type, conflicts: 2, duplicates: 1 })
      expect(hex(detail.raw)).toBe(hex(first.raw))
      expect(detail.runs).toHaveLength(1)
    })

    test('distinguishes similar ids', async ({ stage }) => {
      const long = 'x'.repeat(254)
      const ids = ['a', 'A', 'a ', 'a\u0000', 'a\u0000b', '1', '01', '1.0', '\u00e9', 'e\u0301', `${long}y`, `${long}z`]
      await stage.accept(...ids.map((id) => anEvent(id)))
      expect(await stage.inbox.accept(ids.map((id) => anEvent(id)))).toEqual(ids.map(() => 'duplicate'))
      expect(new Set(idsOfDetails(await Promise.all(ids.map((id) => stage.detail(id)))))).toEqual(new Set(ids))
    })

    test('counts repeated quarantined bodies, never dispatches them, and separates their ids from event ids', async ({
      stage,
    }) => {
      const claim = stage.claim()
      expect(await stage.inbox.accept([aQuarantined('q'), aQuarantined('q')])).toEqual(['quarantined', 'quarantined'])
      await stage.accept(aQuarantined('q'), { ...aQuarantined('r'), raw: Buffer.alloc(0) })
      expect(await stage.isWaiting(claim)).toBe(true)
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 0, quarantined: 2, oldestOpenAt: null })
      const { data } = await stage.inbox.quarantine({ limit: 10 })
      expect(data.map(({ id, count, raw }) => [id, count, raw.length > 0])).toEqual([
        ['sha256:r', 1, false],
        ['sha256:q', 3, true],
      ])
      await stage.accept(anEvent('sha256:q'))
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 1, quarantined: 2, conflicts: 0 })
    })
  })

  describe('routes', () => {
    const handlersOf = async (stage: Stage, type: string) => {
      await stage.accept(anEvent(type, { type }))
      return (await stage.detail(type)).runs.map(({ handler }) => handler).toSorted()
    }
    const routes = [
      { name: 'all', types: ['*'], order: 'none' },
      { name: 'exact', types: ['wallet.pnl', 'token.migrated'], order: 'none' },
      { name: 'prefix', types: ['wallet.*'], order: 'none' },
      { name: 'several', types: ['wallet.pnl', 'wallet.*', 'wallet.pnl'], order: 'none' },
    ] as const

    test('create one run per matching handler', async () => {
      await using stage = await Stage.open(harness, routes)
      const expected: Readonly<Record<string, readonly string[]>> = {
        'wallet.pnl': ['all', 'exact', 'prefix', 'several'],
        'token.migrated': ['all', 'exact'],
        'wallet.pnl.daily': ['all', 'prefix', 'several'],
        wallet: ['all'],
        'wallets.pnl': ['all'],
        'Wallet.pnl': ['all'],
        'token.migrated2': ['all'],
        'an unknown type': ['all'],
        '*': ['all'],
        constructor: ['all'],
      }
      for (const [type, handlers] of Object.entries(expected)) expect(await handlersOf(stage, type)).toEqual(handlers)
    })

    test('store an event without a matching handler as unhandled', async () => {
      await using stage = await Stage.open(harness, [{ name: 'exact', types: ['wallet.pnl'], order: 'key' }])
      expect(await handlersOf(stage, 'token.migrated')).toEqual([])
      expect(await stage.detail('token.migrated')).toMatchObject({ status: 'unhandled' })
    })

    test('apply to events accepted after register only', async () => {
      await using stage = await Stage.open(harness, [{ name: 'one', types: ['a'], order: 'key' }])
      await stage.accept(anEvent('first', { type: 'a' }))
      await stage.inbox.register([{ name: 'two', types: ['a'], order: 'key' }])
      await stage.accept(anEvent('second', { type: 'a' }))
      expect((await stage.detail('first')).runs.map(({ handler }) => handler)).toEqual(['one'])
      expect((await stage.detail('second')).runs.map(({ handler }) => handler)).toEqual(['two'])
    })

    test('keep runs of a removed handler claimable', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      await stage.inbox.register([])
      expect(await stage.states('a')).toEqual(['ready'])
      expect(await stage.stats()).toMatchObject({ ready: 1 })
      expect(await stage.done(await stage.claimOne())).toEqual(['applied'])
    })
  })
}

function idsOfDetails(details: readonly { readonly id: string }[]): string[] {
  return details.map(({ id }) => id)
}
