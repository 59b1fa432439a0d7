import { describe, expect, test } from 'vitest'
import type { DriftRecord } from '../../src/inbox/index-port.ts'
import { ownLabel, type EventQuery, type EventSummary, type NewEvent } from '../../src/inbox/port.ts'
import { eventExamples } from '../../schema/event-notes.ts'
import { type ConformanceHarness, Stage, anEvent, bytes } from './stage.ts'
import { readAll } from './views.ts'

const minuteMs = 60_000
const dayMs = 24 * 3_600_000

/** An event with a body as the service sends it, but for what is given of `data`. */
export function aFullEvent(
  id: string,
  given: Partial<NewEvent> = {},
  data: Readonly<Record<string, unknown>> = {},
): NewEvent {
  const type = given.type ?? 'wallet.large_trade'
  const example = (eventExamples[type] ?? {}) as { readonly data?: object }
  const envelope = { id, type, created_at: '2026-01-01T00:00:00Z', data: { ...example.data, ...data } }
  return anEvent(id, { type, raw: bytes(JSON.stringify(envelope)), ...given })
}

/** What `events` promises of words and filters, and what the index promises. */
export function describeIndex(harness: ConformanceHarness): void {
  const idsFor = async (stage: Stage, query: Partial<EventQuery>): Promise<string[]> => {
    const data = await readAll<EventSummary>((cursor) => stage.inbox.events({ limit: 3, ...query, ...cursor }))
    return data.map(({ id }) => id)
  }

  describe('a search for words', () => {
    async function withBodies(bodies: Readonly<Record<string, unknown>>): Promise<Stage> {
      const stage = await Stage.open(harness)
      for (const [id, data] of Object.entries(bodies)) await stage.accept(aFullEvent(id, {}, { note: data }))
      return stage
    }

    test('finds texts and numbers as they were written, ids and types, and no keys', async () => {
      await using stage = await Stage.open(harness)
      const raw = bytes('{"data":{"a":"Kr\\u00fcmel","b":[12345678901234567890,{"c":1e-7}],"secretkey":true}}')
      await stage.accept(anEvent('evt_7Q', { raw, type: 'pump.graduation' }), anEvent('other'))
      const found = ['Krümel', 'krumel', '12345678901234567890', '1e', 'evt 7q', 'graduation', 'pump.grad', 'kru 123']
      for (const q of found) expect(await idsFor(stage, { q }), q).toEqual(['evt_7Q'])
      for (const q of ['secretkey', 'rumel', '2345', 'evt other']) expect(await idsFor(stage, { q }), q).toEqual([])
    })

    test('needs all of them, in any order, each a whole word or the begin of one', async () => {
      await using stage = await withBodies({ a: 'one two three', b: 'three one', c: 'onetwo' })
      expect(await idsFor(stage, { q: 'three one' })).toEqual(['b', 'a'])
      expect(await idsFor(stage, { q: 'one' })).toEqual(['c', 'b', 'a'])
      expect(await idsFor(stage, { q: 'THREE, two!' })).toEqual(['a'])
      expect(await idsFor(stage, { q: 'onetwothree' })).toEqual([])
    })

    test('finds addresses and hashes whole, in either case, and by their begin', async () => {
      const hash = `0x${'aB'.repeat(32)}`
      const signature = '5Jx7k2Vb9QmR4tYwZpNcA8sDfGhL3uEi6oTqXyBvHjKnMrPaSdFgWeUzC1V9XbNmQk7T4yRhJpLs2Gd5Ft8EaUwZ'
      await using stage = await withBodies({ a: hash, b: signature, c: `0x${'ab'.repeat(31)}cd` })
      expect(await idsFor(stage, { q: hash })).toEqual(['a'])
      expect(await idsFor(stage, { q: hash.toLowerCase() })).toEqual(['a'])
      expect(await idsFor(stage, { q: hash.slice(0, 30) })).toEqual(['c', 'a'])
      expect(await idsFor(stage, { q: signature })).toEqual(['b'])
    })

    test('takes nothing for more than words, whatever is in it', async () => {
      await using stage = await withBodies({ a: 'plain and or not near words' })
      const finding = ['"', '""', "'", 'plain"', 'words:plain', 'plain*', '^plain', '-plain', 'plain NOT words']
      finding.push('{plain}', '(plain', 'plain\0', 'NEAR(plain words)', 'plain + words', '\ud800plain', 'plain AND')
      for (const q of finding) expect(await idsFor(stage, { q }), JSON.stringify(q)).toEqual(['a'])
      const missing = ['plain OR nothing', 'plain" OR "nothing', '\ue000tplain', 'words:nothing', "'; DROP TABLE event"]
      for (const q of missing) expect(await idsFor(stage, { q }), JSON.stringify(q)).toEqual([])
    })

    test('of signs alone asks for nothing, and finds all', async () => {
      await using stage = await withBodies({ a: 'x', b: 'y' })
      expect(await idsFor(stage, { q: ' .,!' })).toEqual(['b', 'a'])
    })

    test('does not find an event whose body is gone, which is found by its type, network and address', async () => {
      await using stage = await Stage.open(harness)
      const network = { network: 'base', address: '0xab', receivedAt: stage.clock.now() }
      await stage.accept(aFullEvent('old', network, { note: 'needle' }))
      await stage.done(await stage.claimOne())
      expect(await idsFor(stage, { q: 'needle' })).toEqual(['old'])
      await stage.clock.advance(2 * dayMs)
      await stage.inbox.prune({ receivedBefore: stage.clock.now() - dayMs, maxBytes: null })
      for (const q of ['needle', 'old', 'wallet']) expect(await idsFor(stage, { q }), q).toEqual([])
      expect(await idsFor(stage, { type: 'wallet.large_trade', network: 'base', address: '0xab' })).toEqual(['old'])
    })
  })

  describe('filters of events', () => {
    const types = ['wallet.large_trade', 'token.risk_change', 'Wallet.Large_Trade', 'x "y" *']
    const networks = ['ethereum', 'base', null]
    const words = ['alpha', 'alphabet', 'beta', 'gamma 12.5', 'Ünïcode']

    /** All of a small number of combinations, received in an order of their own. */
    const many = Array.from({ length: 240 }, (_, n) => {
      const network = networks[n % 3] ?? null
      const address = network === null ? null : `0x${n % 5}A`
      const given = {
        type: types[n % 4]!,
        network,
        address,
        receivedAt: Date.UTC(2026, 0, 1) + ((n * 37) % 240) * minuteMs,
      }
      const id = `e${n}`
      const key = network === null ? id : `${network}:${address}`
      return { word: words[n % 7] ?? '', event: aFullEvent(id, { ...given, key }, { note: words[n % 7] ?? '' }) }
    })

    const queries: readonly Omit<EventQuery, 'limit'>[] = [
      { type: types[0]! },
      { type: types[3]! },
      { network: 'base' },
      { address: '0x3A' },
      { address: '0x3a' },
      { network: 'ethereum', address: '0x1A', type: types[2]! },
      { q: 'alpha' },
      { q: 'unicode', network: 'ethereum' },
      { q: 'gamma 12 5', type: types[1]!, from: Date.UTC(2026, 0, 1, 1) },
      { from: Date.UTC(2026, 0, 1, 1, 30), to: Date.UTC(2026, 0, 1, 2, 10) },
      { from: Date.UTC(2026, 0, 1, 1, 30) + 1, to: Date.UTC(2026, 0, 1, 1, 31) + 1 },
      { type: types[0]!, to: Date.UTC(2026, 0, 1, 0, 20) },
      { from: Date.UTC(2027, 0, 1) },
      { to: Date.UTC(2025, 0, 1) },
      { from: Date.UTC(2026, 0, 1, 3), to: Date.UTC(2026, 0, 1, 2) },
      { status: 'pending', q: 'beta' },
      { status: 'done', type: types[1]! },
      { status: 'dead' },
    ]

    test('find exactly what they say, newest first, page by page', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...many.map(({ event }) => event))
      for (const lease of await stage.claim({ max: 30 }))
        await (lease.runId % 2 === 0 ? stage.done(lease) : stage.dead(lease))
      const all = await idsFor(stage, {})
      expect(all).toEqual(many.map(({ event }) => event.id).toReversed())
      const statuses = new Map(await Promise.all(all.map(async (id) => [id, (await stage.detail(id)).status] as const)))
      const said = ({ event, word }: (typeof many)[number], query: Omit<EventQuery, 'limit'>) =>
        (query.type === undefined || query.type === event.type) &&
        (query.network === undefined || query.network === event.network) &&
        (query.address === undefined || query.address === event.address) &&
        (query.from === undefined || event.receivedAt >= query.from) &&
        (query.to === undefined || event.receivedAt < query.to) &&
        (query.status === undefined || statuses.get(event.id) === query.status) &&
        (query.q === undefined ||
          query.q.split(' ').every((asked) =>
            plainly(word)
              .split(/[ .]/)
              .some((found) => found.startsWith(asked)),
          ))
      let found = 0
      for (const query of queries) {
        const expected = many
          .filter((one) => said(one, query))
          .map(({ event }) => event.id)
          .toReversed()
        expect(await idsFor(stage, query), JSON.stringify(query)).toEqual(expected)
        expect(await idsFor(stage, { ...query, limit: 1_000 }), JSON.stringify(query)).toEqual(expected)
        found += expected.length
      }
      expect(found).toBeGreaterThan(200)
    })

    test('give each event once while more come', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...many.slice(0, 60).map(({ event }) => event))
      let more = 0
      const seen = await readAll<EventSummary>(async (cursor) => {
        const page = await stage.inbox.events({ limit: 4, type: types[0]!, ...cursor })
        await stage.accept(aFullEvent(`more${(more += 1)}`, { type: types[0]! }))
        return page
      })
      const expected = many.slice(0, 60).filter(({ event }) => event.type === types[0])
      expect(seen.map(({ id }) => id)).toEqual(expected.map(({ event }) => event.id).toReversed())
    })

    test('say how far back was looked', async () => {
      await using stage = await Stage.open(harness)
      expect((await stage.inbox.events({ limit: 2, q: 'x' })).searchedTo).toBeNull()
      for (const n of [1, 2, 3]) await stage.accept(aFullEvent(`e${n}`, { receivedAt: n * minuteMs }))
      expect(await stage.inbox.events({ limit: 2 })).toMatchObject({ searchedTo: 2 * minuteMs })
      expect(await stage.inbox.events({ limit: 2, q: 'e3' })).toMatchObject({ searchedTo: minuteMs, nextCursor: null })
    })
  })

  describe('the index', () => {
    test('is current when everything is in it, and made anew with a note of it', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(aFullEvent('a'), aFullEvent('b'))
      expect(await stage.inbox.indexStatus()).toMatchObject({ state: 'current', indexedSeq: 2, behind: 0, lagMs: 0 })
      await stage.inbox.rebuildIndex('operator (token) ::1')
      expect(await idsFor(stage, { q: 'wallet' })).toEqual(['b', 'a'])
      expect(await stage.inbox.indexStatus()).toMatchObject({ state: 'current', indexedSeq: 2 })
      expect((await stage.inbox.audit({ limit: 1 })).data).toMatchObject([
        { action: 'index.rebuild', by: 'operator (token) ::1' },
      ])
    })

    test('counts what came in buckets of time', async () => {
      await using stage = await Stage.open(harness)
      const at = Date.UTC(2026, 0, 1)
      const came = (id: string, minute: number, type: string, network: string | null) =>
        aFullEvent(id, { type, network, address: network && 'x', receivedAt: at + minute * minuteMs + 30_000 })
      await stage.accept(came('a', 0, 't', 'base'), came('b', 4, 't', 'base'), came('c', 5, 't', null))
      await stage.accept(came('d', 5, 's', null), came('e', 11, 't', null), came('f', 20, 't', null))
      const hour = { from: at, to: at + 20 * minuteMs, bucketMs: 5 * minuteMs }
      expect(await stage.inbox.activity(hour)).toEqual([
        { at, type: 't', network: 'base', count: 2 },
        { at: at + 5 * minuteMs, type: 's', network: null, count: 1 },
        { at: at + 5 * minuteMs, type: 't', network: null, count: 1 },
        { at: at + 10 * minuteMs, type: 't', network: null, count: 1 },
      ])
      expect(await stage.inbox.activity({ from: 0, to: 1, bucketMs: minuteMs })).toEqual([])
      const refused = { code: 'bad_request' }
      await expect(stage.inbox.activity({ from: 0, to: 1_501 * minuteMs, bucketMs: minuteMs })).rejects.toMatchObject(
        refused,
      )
      await expect(stage.inbox.activity({ from: 0, to: 1, bucketMs: 90_000 })).rejects.toMatchObject(refused)
      await expect(stage.inbox.activity({ from: 0, to: 1, bucketMs: 0 })).rejects.toMatchObject(refused)
    })

    test('learns how often events of a type come on a network', async () => {
      await using stage = await Stage.open(harness)
      const seconds = [0, 1, 3, 3, 13, 13 + 100]
      const events = seconds.map((second, n) =>
        aFullEvent(`e${n}`, { network: 'base', address: 'x', receivedAt: second * 1_000 }),
      )
      await stage.accept(...events, aFullEvent('other', { receivedAt: 50_000 }))
      expect(await stage.inbox.cadences()).toEqual([
        { type: 'wallet.large_trade', network: null, firstAt: 50_000, lastAt: 50_000, count: 1, gaps: [] },
        {
          type: 'wallet.large_trade',
          network: 'base',
          firstAt: 0,
          lastAt: 113_000,
          count: 6,
          gaps: [2, 1, 0, 1, 0, 0, 1],
        },
      ])
    })

    test('tells when secrets were used, and of which wallets there were events', async () => {
      await using stage = await Stage.open(harness)
      const came = (
        id: string,
        secretLabel: string,
        receivedAt: number,
        address: string,
        type = 'wallet.pnl_milestone',
      ) => aFullEvent(id, { type, secretLabel, receivedAt, network: 'base', address, key: `base:${address}` })
      await stage.accept(came('a', 'old', 10, '0x1'), came('b', 'new', 20, '0x2'), came('c', 'new', 30, '0x1'))
      await stage.accept(
        came('d', 'new', 40, '0x3', 'token.price_alert'),
        came('e', ownLabel, 50, '0x4', 'inbox.warning'),
      )
      expect(await stage.inbox.secretUses()).toEqual([
        { label: 'new', firstAt: 20, lastAt: 40, count: 3 },
        { label: 'old', firstAt: 10, lastAt: 10, count: 1 },
      ])
      expect(await stage.inbox.knownWallets()).toEqual([
        { network: 'base', address: '0x1', lastAt: 30 },
        { network: 'base', address: '0x2', lastAt: 20 },
      ])
    })

    test('tells how events differ from what is documented, each way once', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(aFullEvent('good', { receivedAt: 10 }), aFullEvent('own', { type: 'inbox.warning' }))
      await stage.accept(aFullEvent('bad', { receivedAt: 20 }, { amount_usd: '12', fee: { usd: 1 } }))
      await stage.accept(
        aFullEvent('bad2', { receivedAt: 30 }, { amount_usd: null }),
        aFullEvent('new', { type: 'x.y', receivedAt: 5 }),
      )
      const expected: DriftRecord[] = [
        { kind: 'wrong_type', type: 'wallet.large_trade', path: 'data.amount_usd', expected: 'a number', example: '12', count: 2, firstAt: 20, lastAt: 30, firstEventId: 'bad' }, // prettier-ignore
        { kind: 'new_field', type: 'wallet.large_trade', path: 'data.fee', expected: 'no such field', example: '{"usd":1}', count: 1, firstAt: 20, lastAt: 20, firstEventId: 'bad' }, // prettier-ignore
        { kind: 'unknown_type', type: 'x.y', path: '', expected: 'one of the 10 documented types', example: 'x.y', count: 1, firstAt: 5, lastAt: 5, firstEventId: 'new' }, // prettier-ignore
      ]
      expect(await stage.inbox.drift()).toEqual(expected)
    })

    test('keeps at most 500 ways to differ, those that came last', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(
        ...Array.from({ length: 520 }, (_, n) => aFullEvent(`e${n}`, { type: `x.${n}`, receivedAt: n })),
      )
      const drift = await stage.inbox.drift()
      expect(drift).toHaveLength(500)
      expect(drift.map(({ type }) => type)).toContain('x.519')
      expect(drift.map(({ type }) => type)).not.toContain('x.19')
    })

    test('keeps what was counted of events whose bodies are gone', async () => {
      await using stage = await Stage.open(harness)
      const receivedAt = stage.clock.now()
      await stage.accept(aFullEvent('a', { receivedAt }, { extra: 1 }))
      await stage.done(await stage.claimOne())
      const before = [await stage.inbox.drift(), await stage.inbox.cadences(), await stage.inbox.secretUses()]
      await stage.clock.advance(2 * dayMs)
      await stage.inbox.prune({ receivedBefore: stage.clock.now() - dayMs, maxBytes: null })
      expect([await stage.inbox.drift(), await stage.inbox.cadences(), await stage.inbox.secretUses()]).toEqual(before)
      expect(before[0]).toHaveLength(1)
    })

    if (harness.reopen) {
      test('is there again after a restart', async () => {
        await using stage = await Stage.open(harness)
        await stage.accept(aFullEvent('a', {}, { note: 'needle' }))
        expect(await idsFor(stage, { q: 'needle' })).toEqual(['a'])
        await stage.reopen()
        await stage.accept(aFullEvent('b', {}, { note: 'needle' }))
        expect(await idsFor(stage, { q: 'needle' })).toEqual(['b', 'a'])
      })
    }
  })
}

function plainly(text: string): string {
  return text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')
}
