import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { StateCache } from '../../src/dispatch/state-cache.ts'
import { TerminalError } from '../../src/base/errors.ts'
import { type StateEntry, type StateQuery } from '../../src/inbox/port.ts'
import { aContext } from '../support/run-context.ts'
import { stageDispatcher } from './dispatcher-stage.ts'

const lease = (runId: number) => ({ runId, token: 1 })

/** A store with these values, and the queries it received. */
function stored(values: Readonly<Record<string, unknown>> = {}) {
  const asked: StateQuery[] = []
  const entries = Object.entries(values).map(([key, value]): StateEntry => ({
    key,
    value: JSON.stringify(value),
    version: 5,
    expiresAt: null,
  }))
  const readState = async (query: StateQuery) => {
    asked.push(query)
    if ('key' in query) return entries.filter(({ key }) => key === query.key)
    return entries.filter(({ key }) => key.startsWith(query.prefix) && key > (query.after ?? '')).slice(0, query.limit)
  }
  return { readState, asked }
}

describe('ctx.state', () => {
  test('returns a copy of a stored value, and undefined for a missing key', async () => {
    const { state } = aContext(stored({ k: { n: [1] } }))
    const value = await state.get<{ n: number[] }>('k')
    value?.n.push(2)
    expect(await state.get('k')).toEqual({ n: [1] })
    expect(await state.get('other')).toBeUndefined()
  })

  test('shows writes to their own run at once, and to other runs only after its end', async () => {
    const state = new StateCache(stored({ k: 1, gone: 1 }).readState)
    const [one, other] = [aContext({ state }), aContext({ state })]
    one.state.set('k', 2)
    one.state.delete('gone')
    expect([await one.state.get('k'), await one.state.get('gone')]).toEqual([2, undefined])
    expect([await other.state.get('k'), await other.state.get('gone')]).toEqual([1, 1])
    expect(one.end()).toEqual({
      reads: [],
      writes: [
        { key: 'k', value: '2', expiresAt: null },
        { key: 'gone', value: null, expiresAt: null },
      ],
      items: [],
    })
  })

  test('returns the reads of a run once each, with the version that was read', async () => {
    const context = aContext(stored({ k: 1 }))
    await Promise.all([context.state.get('k'), context.state.get('k'), context.state.get('none')])
    expect(context.end()?.reads).toEqual([
      { query: { key: 'k' }, found: [{ key: 'k', version: 5 }] },
      { query: { key: 'none' }, found: [] },
    ])
  })

  test('lists stored and written values in the order of their keys', async () => {
    const { state } = aContext(stored({ 'a:1': 1, 'a:2': 2, 'a:3': 3, 'a:4': 4, b: 5 }))
    state.delete('a:1')
    state.set('a:2', 'two')
    state.set('a:\u{1f600}', 'last')
    state.set('a:\uffff', 'before it')
    state.set('c', 'no')
    expect(await state.list('a:')).toEqual([
      ['a:2', 'two'],
      ['a:3', 3],
      ['a:4', 4],
      ['a:\uffff', 'before it'],
      ['a:\u{1f600}', 'last'],
    ])
    expect(await state.list('a:', { limit: 2 })).toEqual([
      ['a:2', 'two'],
      ['a:3', 3],
    ])
    expect(await state.list('a:', { after: 'a:4', limit: 1 })).toEqual([['a:\uffff', 'before it']])
  })

  test('forgets a value when its time is over, also one of the same run', async () => {
    const clock = createTestClock()
    const state = new StateCache(stored({}).readState)
    const one = aContext({ clock, state })
    one.state.set('k', 1, { ttlMs: 1_000 })
    const effects = one.end()!
    const { writes } = effects
    expect(writes).toEqual([{ key: 'k', value: '1', expiresAt: clock.now() + 1_000 }])
    state.anticipate(lease(9), effects)
    const next = aContext({ clock, state })
    expect(await next.state.get('k')).toBe(1)
    await clock.advance(1_000)
    const last = aContext({ clock, state })
    expect([await next.state.get('k'), await last.state.get('k')]).toEqual([undefined, undefined])
    expect(last.end()?.reads).toEqual([{ query: { key: 'k' }, found: [] }])
  })

  const unusable: [string, (state: ReturnType<typeof aContext>['state']) => unknown, RegExp][] = [
    ['an empty key', (state) => state.get(''), /1 to 512 characters/],
    ['a key that is not well-formed', (state) => state.get('\ud800'), /well-formed/],
    ['a key that is too long', (state) => state.get('k'.repeat(513)), /512/],
    ['a key with NUL', (state) => state.delete('a\0b'), /U\+0000/],
    ['a value that is no JSON', (state) => state.set('k', () => 1), /received function/],
    ['no value', (state) => state.set('k', undefined), /received undefined/],
    ['a BigInt', (state) => state.set('k', 1n), /BigInt/],
    ['a value that is too long', (state) => state.set('k', 'x'.repeat(300_000)), /at most 262144/],
    ['a time to live that is none', (state) => state.set('k', 1, { ttlMs: Number.NaN }), /ttlMs/],
    ['a limit that is none', (state) => state.list('', { limit: 0 }), /from 1 to 1000/],
    [
      'too many keys',
      (state) => {
        for (let n = 0; n <= 1_000; n++) state.set(`k${n}`, n)
      },
      /1000 state keys/,
    ],
  ]

  test.each(unusable)('refuses %s for good', async (_, use, message) => {
    const { state } = aContext()
    const thrown = await (async () => use(state))().catch((error: unknown) => error)
    expect(thrown).toBeInstanceOf(TerminalError)
    expect((thrown as Error).message).toMatch(message)
  })

  test('cannot be used once the run is over, and neither can the outbox', async () => {
    const context = aContext({ sinks: new Map([['mail', 'key']]) })
    const { state } = context
    expect(context.end()).toBeUndefined()
    await expect(state.get('k')).rejects.toThrow(/after its run had ended/)
    expect(() => state.set('k', 1)).toThrow(/after its run had ended/)
    expect(() => context.enqueue('mail', 1)).toThrow(/after its run had ended/)
  })
})

describe('the state cache of a thread', () => {
  const write = (key: string, value: unknown) => ({
    reads: [],
    writes: [{ key, value: JSON.stringify(value), expiresAt: null }],
  })

  test('includes writes of ended runs before they are stored; if storing fails, the key is read again', async () => {
    const { readState, asked } = stored({ k: 1 })
    const state = new StateCache(readState)
    state.anticipate(lease(8), write('k', 2))
    expect(await aContext({ state }).state.get('k')).toBe(2)
    state.settled(lease(8), true)
    expect(await aContext({ state }).state.get('k')).toBe(2)
    expect(asked).toEqual([])
    state.anticipate(lease(9), write('k', 3))
    state.settled(lease(9), false)
    expect(await aContext({ state }).state.get('k')).toBe(1)
  })

  test('keeps the write of a run that ended during a read of its key', async () => {
    const gate = Promise.withResolvers<StateEntry[]>()
    const state = new StateCache(() => gate.promise)
    const reading = aContext({ state }).state.get('k')
    state.anticipate(lease(8), write('k', 'new'))
    gate.resolve([{ key: 'k', value: '"old"', version: 1, expiresAt: null }])
    expect(await reading).toBe('new')
  })

  test('delays a list until the writes under its prefix are stored', async () => {
    const { readState, asked } = stored()
    const state = new StateCache(readState)
    state.anticipate(lease(8), write('a:1', 1))
    state.anticipate(lease(9), write('b:1', 1))
    const listing = aContext({ state }).state.list('a:')
    await new Promise((resolve) => setImmediate(resolve))
    expect(asked).toEqual([])
    state.settled(lease(8), true)
    expect(await listing).toEqual([])
    expect(asked).toHaveLength(1)
  })

  test('is bounded', async () => {
    const { readState, asked } = stored()
    const state = new StateCache(readState)
    for (let n = 0; n < 100; n++) state.anticipate(lease(n), write(`k${n}`, 'x'.repeat(100_000)))
    await aContext({ state }).state.get('k99')
    expect(asked).toEqual([])
    await aContext({ state }).state.get('k0')
    expect(asked).toEqual([{ key: 'k0' }])
  })
})

test.each(['throws', 'snoozes'])('a retry after a run that %s reads its state again', async (how) => {
  let reads = 0
  const stage = await stageDispatcher({
    handlers: [
      {
        async run(_event, ctx) {
          await ctx.state.get('account')
          if (how === 'throws') throw new Error('not known yet')
          ctx.snooze(500)
        },
      },
    ],
    work: (inbox) => ({
      readState: (handler, query) => {
        reads++
        return inbox.readState(handler, query)
      },
    }),
  })
  stage.dispatcher.start()
  await stage.accept({ id: 'evt_1' })
  expect(reads).toBe(1)
  await stage.pass(1_000)
  expect(reads).toBeGreaterThanOrEqual(2)
})

test('of runs that all change one value, some get done all the time, though the store is slower than they are', async () => {
  const runs = 40
  let calls = 0
  const after = (ms: number) => new Promise<void>((resolve) => stage.clock.after(ms, resolve))
  const stage = await stageDispatcher({
    handlers: [
      {
        order: 'none',
        concurrency: 4,
        async run(_, ctx) {
          calls += 1
          const count = (await ctx.state.get<number>('count')) ?? 0
          await after((calls * 7_919) % 5)
          ctx.state.set('count', count + 1)
        },
      },
    ],
    work: (inbox) => ({
      settle: (outcomes) => after(5).then(() => inbox.settle(outcomes)),
      readState: (handler, query) => after(1).then(() => inbox.readState(handler, query)),
    }),
  })
  await stage.accept(...Array.from({ length: runs }, (_, n) => ({ id: `e${n}` })))
  stage.dispatcher.start()
  await stage.pass(1_000)
  expect(await stage.inbox.readState('h1', { key: 'count' })).toMatchObject([{ value: String(runs) }])
  expect(calls).toBeLessThan(10 * runs)
})

describe('ctx.enqueue', () => {
  const sinks = new Map([
    ['mail', 'key'],
    ['bulk', 'none'],
  ] as const)

  test('leaves items with their place in the run, in the order of the event, or of the key that is given', () => {
    const context = aContext({ sinks, lease: { key: 'solana:x' } })
    context.enqueue('mail', { to: 'x' })
    context.enqueue('mail', null, { key: 'mine' })
    context.enqueue('mail', 1, { key: null })
    context.enqueue('bulk', 2, { key: 'mine' })
    expect(context.end()?.items).toEqual([
      { sink: 'mail', key: 'solana:x', payload: '{"to":"x"}', idempotencyKey: 'h:evt_1:0' },
      { sink: 'mail', key: 'mine', payload: 'null', idempotencyKey: 'h:evt_1:1' },
      { sink: 'mail', key: null, payload: '1', idempotencyKey: 'h:evt_1:2' },
      { sink: 'bulk', key: null, payload: '2', idempotencyKey: 'h:evt_1:3' },
    ])
  })

  test('an event that has no order gives none to its items', () => {
    const context = aContext({ sinks })
    context.enqueue('mail', 1)
    expect(context.end()?.items).toMatchObject([{ key: null }])
  })

  test.each([
    ['a sink that is not there', 'nobody', 1, {}, 'unknown sink nobody; known sinks: mail, bulk'],
    ['a payload that is no JSON', 'mail', undefined, {}, /payload for the sink mail cannot be written as JSON/],
    ['a payload that is too long', 'mail', 'x'.repeat(1024 * 1024), {}, /at most/],
    ['an empty key', 'mail', 1, { key: '' }, /key of an item/],
  ])('refuses %s for good', (_, sink, payload, options, message) => {
    const enqueue = () => aContext({ sinks }).enqueue(sink, payload, options)
    expect(enqueue).toThrow(TerminalError)
    expect(enqueue).toThrow(message)
  })
})
