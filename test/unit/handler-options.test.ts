import { expect, test } from 'vitest'
import { RetryableError } from '../../src/base/errors.ts'
import { gatedHandler, numbered, stageDispatcher, stageRun } from './dispatcher-stage.ts'

const nothing = () => {}

test('match records skipped events as unmatched, and runs others', async () => {
  const ran: string[] = []
  const stage = await stageDispatcher({
    handlers: [{ match: ({ id }) => id === 'evt_2', run: ({ id }) => void ran.push(id) }],
  })
  stage.dispatcher.start()
  await stage.accept(...numbered(3))
  expect(ran).toEqual(['evt_2'])
  expect(await stage.run('evt_1')).toMatchObject({ state: 'unmatched', attempt: 0 })
  expect(stage.settled.toSorted()).toEqual(['h1 done', 'h1 unmatched', 'h1 unmatched'])
})

test('match fails the attempt if it throws, and causes a dead letter if it is async', async () => {
  const broken = () => {
    throw new Error('broken')
  }
  const async = (() => Promise.resolve(false)) as never
  const stage = await stageRun({ match: broken, run: nothing }, { match: async, run: nothing })
  expect(await stage.run('evt_1', 'h1')).toMatchObject({
    state: 'ready',
    attempts: [{ error: { message: 'broken' } }],
  })
  expect(await stage.run('evt_1', 'h2')).toMatchObject({
    state: 'dead',
    attempts: [{ error: { message: expect.stringMatching(/cannot be async/) } }],
  })
})

test('maxAgeMs records older events by created_at as expired', async () => {
  const ran: string[] = []
  // The events are created at 2026-01-01T00:00:00Z.
  const stage = await stageDispatcher({ handlers: [{ maxAgeMs: 60_000, run: ({ id }) => void ran.push(id) }] })
  await stage.clock.advance(Date.parse('2026-01-01T00:00:00Z') + 60_000 - stage.clock.now())
  stage.dispatcher.start()
  await stage.accept({ id: 'evt_1' })
  await stage.clock.advance(1)
  await stage.accept({ id: 'evt_2' })
  expect(ran).toEqual(['evt_1'])
  expect(await stage.run('evt_2')).toMatchObject({ state: 'expired', attempt: 0 })
})

test('ctx.snooze postpones a run uncharged and discards its writes', async () => {
  let calls = 0
  const stage = await stageRun({
    run(_event, ctx) {
      ctx.state.set('k', ++calls)
      expect(ctx.attempt).toBe(1)
      if (calls < 3) return ctx.snooze(1_000)
    },
  })
  expect(await stage.run('evt_1')).toMatchObject({ state: 'ready', attempt: 0, runAt: stage.clock.now() + 1_000 })
  expect(await stage.inbox.readState('h1', { key: 'k' })).toEqual([])
  await stage.pass(2_000)
  expect(await stage.run('evt_1')).toMatchObject({ state: 'done', attempt: 1 })
  expect(await stage.inbox.readState('h1', { key: 'k' })).toMatchObject([{ value: '3' }])
})

test.each([-1, Number.NaN, '5' as never])('ctx.snooze refuses %s', async (ms) => {
  const stage = await stageRun({ run: (_event, ctx) => ctx.snooze(ms) })
  expect(await stage.run('evt_1')).toMatchObject({ state: 'dead' })
})

test('retry as a function receives the failure and returns the delay or null', async () => {
  const asked: object[] = []
  const stage = await stageRun({
    retry(failure) {
      asked.push(failure)
      return failure.failures < 3 ? 100 * failure.failures : null
    },
    run() {
      throw new RetryableError('busy', { retryAfterMs: 7 })
    },
  })
  await stage.pass(100)
  await stage.pass(200)
  expect(await stage.run('evt_1')).toMatchObject({ state: 'dead', attempt: 3 })
  const error = { name: 'handler_retryable', message: 'busy' }
  expect(asked).toMatchObject([1, 2, 3].map((failures) => ({ failures, error, retryAfterMs: 7 })))
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['returns no number', () => 'soon' as never],
  ['returns a negative number', () => -1],
])('retry as a function that %s is logged, and the default is used', async (_, retry) => {
  const stage = await stageRun({
    retry,
    run() {
      throw new Error('x')
    },
  })
  expect(await stage.run('evt_1')).toMatchObject({ state: 'ready', attempt: 1 })
  expect(stage.lines).toContainEqual(expect.objectContaining({ message: expect.stringMatching(/retry policy failed/) }))
})

test('a rate limits the starts per second of its handler only', async () => {
  const [slow, fast] = [[] as number[], [] as number[]]
  const stage = await stageDispatcher({
    handlers: [
      { rate: 2, run: () => void slow.push(stage.clock.now()) },
      { run: () => void fast.push(stage.clock.now()) },
    ],
  })
  const start = stage.clock.now()
  stage.dispatcher.start()
  await stage.accept(...numbered(7))
  expect([slow.length, fast.length]).toEqual([2, 7])
  await stage.pass(2_500)
  expect(slow.map((at) => at - start)).toEqual([0, 0, 500, 1_000, 1_500, 2_000, 2_500])
})

test('a rate prefetches at most one second of runs', async () => {
  const gate = gatedHandler()
  const stage = await stageDispatcher({ handlers: [{ rate: 3, concurrency: 100, run: gate.run }] })
  stage.dispatcher.start()
  await stage.accept(...numbered(50))
  const { handlers } = await stage.inbox.stats()
  expect(handlers[0]!.running).toBeLessThanOrEqual(6)
})

test.each([
  ['does not match', { match: ({ id }: { id: string }) => id === 'evt_60' }],
  ['is too old', { maxAgeMs: 1 }],
])('an event that %s needs no token', async (_what, options) => {
  const stage = await stageDispatcher({ handlers: [{ rate: 1, run: () => {}, ...options }] })
  await stage.accept(...numbered(60))
  await stage.clock.advance(10)
  stage.dispatcher.start()
  await stage.drain(60)
})

test('priority decides which handler runs next', async () => {
  const order: string[] = []
  const first = gatedHandler()
  const noting = (name: string) => ({ run: ({ id }: { id: string }) => void order.push(`${name} ${id}`) })
  const stage = await stageDispatcher({
    concurrency: 1,
    handlers: [
      { name: 'blocker', types: ['wallet.large_trade'], run: first.run },
      { name: 'low', priority: -1, ...noting('low') },
      { name: 'normal', ...noting('normal') },
      { name: 'high', priority: 5, ...noting('high') },
    ],
  })
  stage.dispatcher.start()
  await stage.accept({ id: 'evt_1' })
  await stage.until(() => first.running.has('evt_1'))
  first.running.get('evt_1')!.resolve()
  await stage.until(() => order.length === 3)
  expect(order).toEqual(['high evt_1', 'normal evt_1', 'low evt_1'])
})
