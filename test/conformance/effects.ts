import { describe, expect } from 'vitest'
import { versionOf, type Effects, type Lease, type NewItem, type StateQuery } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, stageTest, anEvent, idsOf, loose, odd, ordered } from './stage.ts'

const mail = { name: 'mail', types: [], order: 'key' } as const
const nothing: Effects = { reads: [], writes: [], items: [] }

/** `readState`, and effects of `done`. */
export function describeEffects(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  const open = () => Stage.open(harness, [ordered, loose, mail])

  describe('state', () => {
    test('contains values stored with done, per handler, with the version of their lease', async () => {
      await using stage = await open()
      await stage.accept(anEvent('a'))
      const lease = await stage.claimOne()
      expect(await done(stage, lease, { writes: [put('k', '{"n":1}'), put('l', '2')] })).toBe('applied')
      const version = versionOf(lease)
      expect(await stage.inbox.readState('ordered', { key: 'k' })).toEqual([
        { key: 'k', value: '{"n":1}', version, expiresAt: null },
      ])
      expect(await keys(stage)).toEqual(['k', 'l'])
      for (const name of ['loose', 'unknown']) expect(await stage.inbox.readState(name, all)).toEqual([])
    })

    test('is overwritten and deleted', async () => {
      await using stage = await open()
      await stage.accept(anEvent('a'), anEvent('b'))
      const [a, b] = await stage.claim()
      await done(stage, a!, { writes: [put('k', '1'), put('l', '1')] })
      await done(stage, b!, { writes: [put('k', '2'), { key: 'l', value: null, expiresAt: null }] })
      expect(await stage.inbox.readState('ordered', all)).toEqual([
        { key: 'k', value: '2', version: versionOf(b!), expiresAt: null },
      ])
    })

    test('is listed by prefix in UTF-8 order, page by page', async () => {
      await using stage = await open()
      await stage.accept(anEvent('a'))
      const written = ['a', 'b', 'a:2', 'a:1', 'a:\u0001', 'a:\0', 'a:', 'a:\u{1f600}', 'a:\uffff', 'a:1:x', 'a;']
      await done(stage, await stage.claimOne(), { writes: written.map((key) => put(key, '0')) })
      const page = (after: string | null, limit = 100) => keys(stage, { prefix: 'a:', after, limit })
      const listed = ['a:', 'a:\0', 'a:\u0001', 'a:1', 'a:1:x', 'a:2', 'a:\uffff', 'a:\u{1f600}']
      expect(await page(null)).toEqual(listed)
      expect(await page(null, 2)).toEqual(listed.slice(0, 2))
      expect(await page('a:1', 2)).toEqual(listed.slice(4, 6))
      expect(await page('a:\u{1f600}')).toEqual([])
      expect(await page('', 1)).toEqual(['a:'])
      expect(await page('b')).toEqual([])
    })

    test('is absent once it has expired, until it is written again', async () => {
      await using stage = await open()
      await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
      const [a, b, c] = await stage.claim()
      const expiresAt = stage.clock.now() + 1_000
      await done(stage, a!, { writes: [{ ...put('k', '1'), expiresAt }, put('l', '1')] })
      await stage.clock.advance(999)
      expect(await keys(stage)).toEqual(['k', 'l'])
      await stage.clock.advance(1)
      expect(await keys(stage)).toEqual(['l'])
      expect(await stage.inbox.readState('ordered', { key: 'k' })).toEqual([])
      // A read from before the expiry conflicts; a read after it does not.
      const before = [{ query: { key: 'k' }, found: [{ key: 'k', version: versionOf(a!) }] }]
      expect(await done(stage, b!, { reads: before })).toBe('conflict')
      const reads = [{ query: { key: 'k' }, found: [] }]
      expect(await done(stage, c!, { reads, writes: [put('k', '3')] })).toBe('applied')
      expect(await keys(stage)).toEqual(['k', 'l'])
    })

    test('is deleted after its expiry by later writes of expiring entries', async ({ skip }) => {
      if (harness.freesLater) skip('this inbox frees space later')
      await using stage = await open()
      await stage.accept(anEvent('a'), anEvent('b'))
      const [a, b] = await stage.claim()
      const value = JSON.stringify('x'.repeat(100_000))
      const expiring = (key: string, of: string) => ({ key, value: of, expiresAt: stage.clock.now() + 1_000 })
      const sizeBytes = async () => (await stage.inbox.stats()).sizeBytes ?? skip('the size is unknown')
      await done(stage, a!, { writes: Array.from({ length: 8 }, (_, n) => expiring(`k${n}`, value)) })
      const before = await sizeBytes()
      expect(before).toBeGreaterThan(800_000)
      await stage.clock.advance(1_000)
      await done(stage, b!, { writes: [expiring('l', '1'), expiring('m', '1')] })
      expect(await sizeBytes()).toBeLessThan(before - 700_000)
      expect(await keys(stage)).toEqual(['l', 'm'])
    })

    test('survives a reopen', async () => {
      await using stage = await open()
      await stage.accept(anEvent('a'))
      await done(stage, await stage.claimOne(), { writes: [put('k', '1')], items: [anItem('i')] })
      await stage.reopen([ordered, loose, mail])
      expect(await keys(stage)).toEqual(['k'])
      expect(await stage.claimOne({ handlers: ['mail'] })).toMatchObject({ item: { idempotencyKey: 'i' } })
    })
  })

  describe('a run that read state', () => {
    test('sees writes of earlier outcomes in the batch', async () => {
      await using stage = await open()
      await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
      const [a, b, c] = await stage.claim()
      const onTopOf = (lease: Lease) => [{ query: { key: 'n' }, found: [{ key: 'n', version: versionOf(lease) }] }]
      const results = await stage.inbox.settle([
        { ...times(a!), kind: 'done', effects: { ...nothing, writes: [put('n', '1')] } },
        { ...times(b!), kind: 'done', effects: { ...nothing, reads: onTopOf(a!), writes: [put('n', '2')] } },
        { ...times(c!), kind: 'done', effects: { ...nothing, reads: onTopOf(a!), writes: [put('n', '3')] } },
      ])
      expect(results).toEqual(['applied', 'applied', 'conflict'])
      expect(await stage.inbox.readState('ordered', { key: 'n' })).toMatchObject([{ value: '2' }])
    })

    test.each([
      ['a key was added', [put('p2', '1')]],
      ['a key was deleted', [{ key: 'p1', value: null, expiresAt: null }]],
      ['a value was written', [put('p1', '1')]],
    ])('by prefix conflicts when %s', async (_, writes) => {
      await using stage = await open()
      await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'), anEvent('d'))
      const [a, b, c, d] = await stage.claim()
      await done(stage, a!, { writes: [put('p1', '1')] })
      const query = { prefix: 'p', after: null, limit: 10 }
      const reads = [{ query, found: [{ key: 'p1', version: versionOf(a!) }] }]
      expect(await done(stage, b!, { reads, writes: [put('q', '1')] })).toBe('applied')
      await done(stage, c!, { writes })
      expect(await done(stage, d!, { reads })).toBe('conflict')
    })
  })

  describe('the outbox', () => {
    test('delivers an item to its sink with the event, also to a waiting claim', async () => {
      await using stage = await open()
      const claim = stage.claim({ handlers: ['mail'] })
      await stage.accept(anEvent('a', { key: 'k' }))
      await done(stage, await stage.claimOne(), { items: [{ ...anItem(odd), payload: JSON.stringify({ to: odd }) }] })
      const [lease] = await claim
      expect(lease).toMatchObject({ handler: 'mail', attempt: 1, event: { id: 'a', key: 'k', secretLabel: 'main' } })
      expect(lease!.item).toEqual({ payload: JSON.stringify({ to: odd }), idempotencyKey: odd })
      expect((await stage.detail('a')).runs.map(({ handler, state }) => [handler, state])).toEqual([
        ['ordered', 'done'],
        ['loose', 'ready'],
        ['mail', 'running'],
      ])
    })

    test('stores an item for a sink that is registered later', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      await done(stage, await stage.claimOne(), { items: [anItem('i')] })
      await stage.inbox.register([ordered, mail])
      expect(idsOf(await stage.claim({ handlers: ['mail'] }))).toEqual(['a'])
    })
  })
}

const all: StateQuery = { prefix: '', after: null, limit: 100 }

function put(key: string, value: string) {
  return { key, value, expiresAt: null }
}

function anItem(idempotencyKey: string): NewItem {
  return { sink: 'mail', key: null, payload: 'null', idempotencyKey }
}

function times({ runId, token }: Lease) {
  return { runId, token, startedAt: 1, endedAt: 2 }
}

async function done(stage: Stage, lease: Lease, effects: Partial<Effects>) {
  const [result] = await stage.inbox.settle([{ ...times(lease), kind: 'done', effects: { ...nothing, ...effects } }])
  return result
}

async function keys(stage: Stage, query: StateQuery = all): Promise<string[]> {
  return (await stage.inbox.readState('ordered', query)).map(({ key }) => key)
}
