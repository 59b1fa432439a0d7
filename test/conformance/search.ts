import { describe, expect } from 'vitest'
import {
  internalLabel,
  maxListedBody,
  type EventQuery,
  type EventSummary,
  type HandlerRoute,
  type NewEvent,
} from '../../src/inbox/port.ts'
import { eventExamples } from '../../schema/events.ts'
import { type ConformanceHarness, Stage, stageTest, anEvent, bytes } from './stage.ts'
import { readAll } from './views.ts'

const minuteMs = 60_000
const dayMs = 24 * 3_600_000

/** An event with the example body of its type; `data` replaces fields of the body. */
function aFullEvent(id: string, given: Partial<NewEvent> = {}, data: Readonly<Record<string, unknown>> = {}): NewEvent {
  const type = given.type ?? 'wallet.large_trade'
  const example: { readonly data?: object } = Object.entries(eventExamples).find(([name]) => name === type)?.[1] ?? {}
  const envelope = { id, type, created_at: '2026-01-01T00:00:00Z', data: { ...example.data, ...data } }
  return anEvent(id, { type, raw: bytes(JSON.stringify(envelope)), ...given })
}

/** Searches and filters of `events`, and counts of events. */
export function describeSearch(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  const idsFor = async (stage: Stage, query: Partial<EventQuery>): Promise<string[]> => {
    const data = await readAll<EventSummary>((cursor) => stage.inbox.events({ limit: 3, ...query, ...cursor }))
    return data.map(({ id }) => id)
  }

  describe('a search of bodies', () => {
    async function withBodies(bodies: Readonly<Record<string, unknown>>): Promise<Stage> {
      const stage = await Stage.open(harness)
      for (const [id, data] of Object.entries(bodies)) await stage.accept(aFullEvent(id, {}, { note: data }))
      return stage
    }

    test('finds terms anywhere in the stored bytes; ASCII letters match in either case', async ({ stage }) => {
      const raw = bytes('{"id":"evt_7Q","data":{"a":"Krümel","b":[12345678901234567890,{"c":1e-7}],"field":"0xAbC"}}')
      await stage.accept(anEvent('evt_7Q', { raw }), anEvent('other'))
      for (const q of ['Krümel', 'rüm', '2345', '1E-7', 'evt_7q', 'FIELD', '0xabc', 'abc KR'])
        expect(await idsFor(stage, { q }), q).toEqual(['evt_7Q'])
      for (const q of ['krumel', 'KRÜMEL', 'evt other', '99']) expect(await idsFor(stage, { q }), q).toEqual([])
    })

    test('requires all terms, in any order', async () => {
      await using stage = await withBodies({ a: 'oney twoy threey', b: 'threey oney', c: 'oneytwoy' })
      expect(await idsFor(stage, { q: ' threey  oney ' })).toEqual(['b', 'a'])
      expect(await idsFor(stage, { q: 'THREEY twoy' })).toEqual(['a'])
      expect(await idsFor(stage, { q: 'ytwo' })).toEqual(['c'])
      expect(await idsFor(stage, { q: ' ' })).toEqual(['c', 'b', 'a'])
    })

    test('treats no character as a wildcard', async () => {
      await using stage = await withBodies({ a: String.raw`50%_x*'`, b: 'plain' })
      for (const q of ['50%_', '%_x', "x*'"]) expect(await idsFor(stage, { q }), q).toEqual(['a'])
      for (const q of ['%', '_x']) expect(await idsFor(stage, { q }), q).toContain('a')
      for (const q of ['5_%', 'p%n', 'pl_in', "'; DROP TABLE event", '\ud800plain', 'plain\0'])
        expect(await idsFor(stage, { q }), JSON.stringify(q)).toEqual([])
    })

    test('finds no pruned body; filters by type and address still find the event', async ({ stage }) => {
      const network = { network: 'base', address: '0xab', key: 'base:0xab', receivedAt: stage.clock.now() }
      await stage.accept(aFullEvent('old', network, { note: 'needle' }))
      await stage.done(await stage.claimOne())
      expect(await idsFor(stage, { q: 'needle' })).toEqual(['old'])
      await stage.clock.advance(2 * dayMs)
      await stage.inbox.prune({ receivedBefore: stage.clock.now() - dayMs, maxBytes: null })
      for (const q of ['needle', 'old', 'wallet']) expect(await idsFor(stage, { q }), q).toEqual([])
      expect(await idsFor(stage, { type: 'wallet.large_trade', network: 'base', address: '0xab' })).toEqual(['old'])
    })
  })

  describe('a list with details', () => {
    const routes: readonly HandlerRoute[] = [
      { name: 'all', types: ['*'], order: 'none' },
      { name: 'trades', types: ['wallet.large_trade'], order: 'none' },
    ]

    test('has the body and each run with its latest error', async () => {
      await using stage = await Stage.open(harness, routes)
      await stage.accept(aFullEvent('evt_1'))
      const [first, second] = await stage.claim({ handlers: ['all', 'trades'], max: 2 })
      await stage.retry(first!)
      await stage.done(second!)
      const [event] = (await stage.inbox.events({ limit: 10, isDetailed: true })).data
      expect(Buffer.from(event?.detail?.body ?? []).toString()).toContain('"id":"evt_1"')
      const runs = event?.detail?.runs.toSorted((a, b) => a.state.localeCompare(b.state))
      const error = { name: expect.any(String), message: expect.any(String) }
      expect(runs).toEqual([
        { handler: second?.handler, state: 'done', attempt: 1, replay: null, error: null },
        { handler: first?.handler, state: 'ready', attempt: 1, replay: null, error },
      ])
      expect((await stage.inbox.events({ limit: 10 })).data[0]).not.toHaveProperty('detail')
    })

    test('leaves out a body above the limit', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(aFullEvent('large', {}, { note: 'x'.repeat(maxListedBody) }))
      const [event] = (await stage.inbox.events({ limit: 1, isDetailed: true })).data
      expect(event?.detail?.body).toBeNull()
    })

    test('of a handler has only the events with a run of it, and the queue knows its oldest event', async () => {
      await using stage = await Stage.open(harness, routes)
      await stage.accept(aFullEvent('trade'), aFullEvent('other', { type: 'token.risk_change' }))
      expect(await idsFor(stage, { handler: 'trades' })).toEqual(['trade'])
      expect(await idsFor(stage, { handler: 'all', type: 'token.risk_change' })).toEqual(['other'])
      expect(await idsFor(stage, { handler: 'nobody' })).toEqual([])
      const { handlers } = await stage.inbox.stats()
      const [trade] = (await stage.inbox.events({ limit: 1, handler: 'trades' })).data
      expect(handlers.find(({ handler }) => handler === 'trades')?.oldestOpenAt).toBe(trade?.receivedAt)
    })
  })

  describe('filters of events', () => {
    const types = ['wallet.large_trade', 'token.risk_change', 'Wallet.Large_Trade', 'x "y" *']
    const networks = ['ethereum', 'base', null]
    const words = ['alpha', 'alphabet', 'beta', 'gamma 12.5', 'Ünïcode']

    /** All combinations of a few values, not in the order of receipt. */
    const many = Array.from({ length: 240 }, (_, n) => {
      const network = networks[n % 3] ?? null
      const address = network === null ? null : `0x${n % 5}A`
      const receivedAt = Date.UTC(2026, 0, 1) + ((n * 37) % 240) * minuteMs
      const given = { type: types[n % 4]!, network, address, receivedAt }
      const id = `e${n}`
      // Without a network: like a key of another source, which has no address.
      const key = `${network ?? `:${id}`}:${address ?? '0x3A'}`
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
      { q: 'Ünïcode', network: 'ethereum' },
      { q: 'gamma 12.5', type: types[1]!, from: Date.UTC(2026, 0, 1, 1) },
      { from: Date.UTC(2026, 0, 1, 1, 30), to: Date.UTC(2026, 0, 1, 2, 10) },
      { from: Date.UTC(2026, 0, 1, 1, 30) + 1, to: Date.UTC(2026, 0, 1, 1, 31) + 1 },
      { type: types[0]!, to: Date.UTC(2026, 0, 1, 0, 20) },
      { from: Date.UTC(2027, 0, 1) },
      { to: Date.UTC(2025, 0, 1) },
      { from: Date.UTC(2026, 0, 1, 3), to: Date.UTC(2026, 0, 1, 2) },
      { status: 'pending', q: 'beta' },
      { status: 'done', type: types[1]! },
      { status: 'dead' },
      { status: 'unhandled', network: 'base' },
      { type: 'wallet.*' },
      { network: '' },
    ]

    test('return exactly the matching events, newest first, page by page', async ({ stage }) => {
      await stage.accept(...many.map(({ event }) => event))
      for (const lease of await stage.claim({ max: 30 }))
        await (lease.runId % 2 === 0 ? stage.done(lease) : stage.dead(lease))
      const all = await idsFor(stage, {})
      expect(all).toEqual(many.map(({ event }) => event.id).toReversed())
      const statuses = new Map(await Promise.all(all.map(async (id) => [id, (await stage.detail(id)).status] as const)))
      const isMatch = ({ event, word }: (typeof many)[number], query: Omit<EventQuery, 'limit'>) =>
        (query.type === undefined || query.type === event.type) &&
        (query.network === undefined || query.network === event.network) &&
        (query.address === undefined || query.address === event.address) &&
        (query.from === undefined || event.receivedAt >= query.from) &&
        (query.to === undefined || event.receivedAt < query.to) &&
        (query.status === undefined || statuses.get(event.id) === query.status) &&
        (query.q === undefined || query.q.split(' ').every((term) => word.includes(term)))
      let found = 0
      for (const query of queries) {
        const expected = many
          .filter((one) => isMatch(one, query))
          .map(({ event }) => event.id)
          .toReversed()
        expect(await idsFor(stage, query), JSON.stringify(query)).toEqual(expected)
        expect(await idsFor(stage, { ...query, limit: 1_000 }), JSON.stringify(query)).toEqual(expected)
        found += expected.length
      }
      expect(found).toBeGreaterThan(200)
    })

    test('return each event once while more are accepted', async ({ stage }) => {
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

    test('report how far back was searched', async ({ stage }) => {
      expect((await stage.inbox.events({ limit: 2, q: 'x' })).searchedTo).toBeNull()
      for (const n of [1, 2, 3]) await stage.accept(aFullEvent(`e${n}`, { receivedAt: n * minuteMs }))
      expect(await stage.inbox.events({ limit: 2 })).toMatchObject({ searchedTo: 2 * minuteMs })
      expect(await stage.inbox.events({ limit: 2, q: '"e3"' })).toMatchObject({
        searchedTo: minuteMs,
        nextCursor: null,
      })
    })
  })

  describe('the counts of events', () => {
    test('count events per time bucket', async ({ stage }) => {
      const at = Date.UTC(2026, 0, 1)
      const event = (id: string, minute: number, type: string, network: string | null) =>
        aFullEvent(id, { type, network, address: network && 'x', receivedAt: at + minute * minuteMs + 30_000 })
      await stage.accept(event('a', 0, 't', 'base'), event('b', 4, 't', 'base'), event('c', 5, 't', null))
      await stage.accept(event('d', 5, 's', null), event('e', 11, 't', null), event('f', 20, 't', null))
      const hour = { from: at, to: at + 20 * minuteMs, bucketMs: 5 * minuteMs }
      expect(await stage.inbox.activity(hour)).toEqual([
        { at, type: 't', network: 'base', count: 2 },
        { at: at + 5 * minuteMs, type: 's', network: null, count: 1 },
        { at: at + 5 * minuteMs, type: 't', network: null, count: 1 },
        { at: at + 10 * minuteMs, type: 't', network: null, count: 1 },
      ])
      expect(await stage.inbox.activity({ from: 0, to: 1, bucketMs: minuteMs })).toEqual([])
      for (const [to, bucketMs] of [[1_501 * minuteMs, minuteMs] as const, [1, 90_000] as const, [1, 0] as const])
        await expect(stage.inbox.activity({ from: 0, to, bucketMs })).rejects.toMatchObject({ code: 'bad_request' })
    })

    test('list the uses of secrets, and the wallets of events', async ({ stage }) => {
      const type = 'wallet.pnl_milestone'
      const event = (id: string, secretLabel: string, receivedAt: number, address: string, more: object = {}) =>
        aFullEvent(id, { type, secretLabel, receivedAt, network: 'base', address, key: `base:${address}`, ...more })
      await stage.accept(event('a', 'old', 10, '0x1'), event('b', 'new', 20, '0x2'), event('c', 'new', 30, '0x1'))
      await stage.accept(event('d', 'new', 40, '0x3', { type: 'token.price_alert' }))
      await stage.accept(event('e', internalLabel, 50, '0x4', { type: 'inbox.warning' }))
      expect(await stage.inbox.secretUses()).toEqual([
        { label: 'new', firstAt: 20, lastAt: 40, count: 3 },
        { label: 'old', firstAt: 10, lastAt: 10, count: 1 },
      ])
      expect(await stage.inbox.knownWallets()).toEqual([
        { network: 'base', address: '0x1', lastAt: 30 },
        { network: 'base', address: '0x2', lastAt: 20 },
      ])
    })

    test('stay after pruning, and ignore duplicates and conflicts', async ({ stage }) => {
      const receivedAt = stage.clock.now()
      await stage.accept(aFullEvent('a', { receivedAt }))
      await stage.inbox.accept([aFullEvent('a', { receivedAt }), aFullEvent('a', { receivedAt }, { note: 'other' })])
      await stage.done(await stage.claimOne())
      const hour = { from: receivedAt - 60 * minuteMs, to: receivedAt + minuteMs, bucketMs: minuteMs }
      await stage.clock.advance(2 * dayMs)
      await stage.inbox.prune({ receivedBefore: stage.clock.now() - dayMs, maxBytes: null })
      expect(await stage.inbox.activity(hour)).toMatchObject([{ type: 'wallet.large_trade', count: 1 }])
      expect(await stage.inbox.secretUses()).toMatchObject([{ count: 1 }])
    })
  })
}
