import { describe, expect, test } from 'vitest'
import { type ConformanceHarness, Stage, aQuarantined, anEvent, bytes, hex, loose, ordered } from './stage.ts'

/** What `accept` and `register` promise. */
export function describeAccept(harness: ConformanceHarness): void {
  describe('accept', () => {
    test('gives one result per arrival, in order', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      const batch = [anEvent('b'), anEvent('a'), aQuarantined('q'), anEvent('a', { raw: bytes('other') }), anEvent('c')]
      expect(await stage.inbox.accept(batch)).toEqual(['accepted', 'duplicate', 'quarantined', 'conflict', 'accepted'])
    })

    test('takes an empty batch', async () => {
      await using stage = await Stage.open(harness)
      expect(await stage.inbox.accept([])).toEqual([])
    })

    test('stores an event as it came', async () => {
      await using stage = await Stage.open(harness)
      const given = {
        network: 'solana',
        address: 'Abc',
        key: 'solana:Abc',
        createdAt: ' 2026-13-99 ',
        secretLabel: 'old',
      }
      const event = anEvent('a', { ...given, type: 'token.migrated', receivedAt: 1_234_567_890_123 })
      await stage.accept(event, anEvent('b'))
      const { raw, ...detail } = await stage.detail('a')
      expect(detail).toMatchObject({ ...given, seq: 1, id: 'a', type: 'token.migrated', receivedAt: 1_234_567_890_123 })
      expect(detail).toMatchObject({ duplicates: 0, conflicts: 0 })
      expect(hex(raw)).toBe(hex(event.raw))
      expect(await stage.detail('b')).toMatchObject({ network: null, address: null })
    })

    test('keeps the bytes identical, whatever they are', async () => {
      await using stage = await Stage.open(harness)
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

    test('has bytes of its own once it has answered', async () => {
      await using stage = await Stage.open(harness)
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

    test('numbers events 1, 2, 3 without gaps, whatever else arrives between them', async () => {
      await using stage = await Stage.open(harness)
      await stage.inbox.accept([anEvent('a'), anEvent('a'), aQuarantined('q'), anEvent('b')])
      await stage.inbox.accept([anEvent('a', { raw: bytes('other') }), anEvent('b')])
      await stage.inbox.accept([anEvent('c')])
      const { data } = await stage.inbox.events({ limit: 10 })
      expect(data.map(({ seq, id }) => [seq, id])).toEqual([
        [3, 'c'],
        [2, 'b'],
        [1, 'a'],
      ])
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 3, missingSeqs: 0 })
    })

    test('knows a duplicate within one batch and in a later one, and counts it', async () => {
      await using stage = await Stage.open(harness)
      expect(await stage.inbox.accept([anEvent('a'), anEvent('a'), anEvent('a')])).toEqual([
        'accepted',
        'duplicate',
        'duplicate',
      ])
      expect(await stage.inbox.accept([anEvent('a')])).toEqual(['duplicate'])
      const detail = await stage.detail('a')
      expect(detail).toMatchObject({ duplicates: 3, conflicts: 0 })
      expect(detail.runs).toHaveLength(1)
    })

    test('accepts one of many concurrent deliveries of an event, and resolves none before it is stored', async () => {
      await using stage = await Stage.open(harness)
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

    test('keeps the first bytes of a conflict and records it', async () => {
      await using stage = await Stage.open(harness)
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

    test('does not bring a finished run back for a duplicate', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.done(await stage.claimOne())
      expect(await stage.inbox.accept([anEvent('a')])).toEqual(['duplicate'])
      expect(await stage.isWaiting(stage.claim())).toBe(true)
    })

    test('tells ids apart that only look alike', async () => {
      await using stage = await Stage.open(harness)
      const long = 'x'.repeat(254)
      const ids = ['a', 'A', 'a ', 'a\u0000', 'a\u0000b', '1', '01', '1.0', '\u00e9', 'e\u0301', `${long}y`, `${long}z`]
      await stage.accept(...ids.map((id) => anEvent(id)))
      expect(await stage.inbox.accept(ids.map((id) => anEvent(id)))).toEqual(ids.map(() => 'duplicate'))
      expect(new Set(idsOfDetails(await Promise.all(ids.map((id) => stage.detail(id)))))).toEqual(new Set(ids))
    })

    test('takes hundreds of events at once', async () => {
      await using stage = await Stage.open(harness, [ordered, loose])
      await stage.accept(...Array.from({ length: 500 }, (_, i) => anEvent(`e${i}`, { key: `k${i % 7}` })))
      expect(await stage.stats('ordered')).toMatchObject({ ready: 7, waiting: 493 })
      expect(await stage.stats('loose')).toMatchObject({ ready: 500, waiting: 0 })
    })

    test('answers a repeated quarantined body with quarantined again, and counts it', async () => {
      await using stage = await Stage.open(harness)
      expect(await stage.inbox.accept([aQuarantined('q'), aQuarantined('q')])).toEqual(['quarantined', 'quarantined'])
      expect(await stage.inbox.accept([aQuarantined('q')])).toEqual(['quarantined'])
      const { data } = await stage.inbox.quarantine({ limit: 10 })
      expect(data.map(({ id, count }) => [id, count])).toEqual([['sha256:q', 3]])
    })

    test('never dispatches a quarantined body', async () => {
      await using stage = await Stage.open(harness)
      const claim = stage.claim()
      await stage.accept(aQuarantined('q'))
      expect(await stage.isWaiting(claim)).toBe(true)
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 0, quarantined: 1, oldestOpenAt: null })
    })

    test('keeps the ids of quarantined bodies and of events apart', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(aQuarantined('q'), anEvent('sha256:q'))
      await stage.accept(anEvent('sha256:r'), aQuarantined('r'))
      expect(await stage.inbox.stats()).toMatchObject({ lastSeq: 2, quarantined: 2, conflicts: 0 })
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

    test.each([
      ['wallet.pnl', ['all', 'exact', 'prefix', 'several']],
      ['token.migrated', ['all', 'exact']],
      ['wallet.pnl.daily', ['all', 'prefix', 'several']],
      ['wallet', ['all']],
      ['wallets.pnl', ['all']],
      ['Wallet.pnl', ['all']],
      ['token.migrated2', ['all']],
      ['an unknown type', ['all']],
      ['*', ['all']],
      ['constructor', ['all']],
    ])('an event of type %j gets one run for each of %j', async (type, handlers) => {
      await using stage = await Stage.open(harness, routes)
      expect(await handlersOf(stage, type)).toEqual(handlers)
    })

    test('an event that no route matches is stored without runs', async () => {
      await using stage = await Stage.open(harness, [{ name: 'exact', types: ['wallet.pnl'], order: 'key' }])
      expect(await handlersOf(stage, 'token.migrated')).toEqual([])
      expect(await stage.detail('token.migrated')).toMatchObject({ status: 'unhandled' })
    })

    test('registering anew decides about later events only', async () => {
      await using stage = await Stage.open(harness, [{ name: 'one', types: ['a'], order: 'key' }])
      await stage.accept(anEvent('first', { type: 'a' }))
      await stage.inbox.register([{ name: 'two', types: ['a'], order: 'key' }])
      await stage.accept(anEvent('second', { type: 'a' }))
      expect((await stage.detail('first')).runs.map(({ handler }) => handler)).toEqual(['one'])
      expect((await stage.detail('second')).runs.map(({ handler }) => handler)).toEqual(['two'])
    })

    test('runs of a handler that is gone stay, and can still be claimed', async () => {
      await using stage = await Stage.open(harness)
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
