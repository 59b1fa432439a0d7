import { describe, expect, it, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { Attempt } from '../../src/dispatch/attempt.ts'
import { handlerDefaults, type HandlerContext } from '../../src/dispatch/define.ts'
import { type InboxError, RetryableError } from '../../src/base/errors.ts'
import type { Lease, RunError } from '../../src/inbox/port.ts'

import { silentLogger, type Logger } from '../../src/base/log.ts'
import type { TestHandler } from './dispatcher-stage.ts'
import { aContext } from '../support/run-context.ts'
import type { ResolvedHandler } from '../../src/dispatch/resolved-handler.ts'

const timeoutMs = 1_000
const overrunGraceMs = 5_000

/** Starts an attempt on a test clock. */
function attemptOf(run: TestHandler['run'], given: Partial<Lease> = {}) {
  const clock = createTestClock()
  const startedAt = clock.now()
  const handler: ResolvedHandler = {
    ...handlerDefaults,
    kind: 'handler',
    name: 'h',
    types: ['*'],
    timeoutMs,
    file: 'h.ts',
    run: (ctx) => run(ctx.event, ctx),
  }
  const context = aContext({ clock, lease: given })
  return { clock, startedAt, attempt: new Attempt({ handler, context, clock, overrunGraceMs, tracer: null }) }
}

async function errorOf(run: TestHandler['run']): Promise<RunError> {
  const outcome = await attemptOf(run).attempt.outcome
  if (outcome === 'interrupted' || !('error' in outcome)) throw new Error('the attempt did not fail')
  return outcome.error
}

const forever = () => new Promise<never>(() => {})
const untilAborted = (ctx: HandlerContext) =>
  new Promise<never>((_resolve, reject) =>
    ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
  )
const fail = (thrown: unknown) => () => {
  throw thrown
}

test('log lines of a replayed run have the number of the replay', () => {
  const fields: object[] = []
  const log = Object.assign(Object.create(silentLogger) as Logger, {
    child(given: object) {
      fields.push(given)
      return silentLogger
    },
  })
  void aContext({ log }).log
  void aContext({ log, lease: { replay: { id: 3, newKeys: false } } }).log
  const live = { handler: 'h', eventId: 'evt_1', attempt: 1 }
  expect(fields).toEqual([live, { ...live, replay: 3 }])
})

describe('an attempt', () => {
  it('records the causes of an error', async () => {
    const deep = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
    const failed = new TypeError('fetch failed', { cause: new Error('no answer', { cause: deep }) })
    expect((await errorOf(fail(failed))).message).toBe('fetch failed: no answer: ECONNREFUSED')
    const withPassword = await errorOf(fail(new Error('connect postgres://user:hunter2@db.example/x failed')))
    expect([withPassword.message, withPassword.stack].join()).not.toContain('hunter2')
    const endless = new Error('a')
    endless.cause = endless
    expect((await errorOf(fail(endless))).message).toBe('a')
    const refused = () => fetch('http://127.0.0.1:9').then(() => {})
    expect((await errorOf(refused)).message).toMatch(/^fetch failed: .*\b(ECONNREFUSED|bad port)\b/)
  })

  it('is retried when the handler throws or rejects', async () => {
    for (const run of [fail(new TypeError('boom')), () => Promise.reject(new TypeError('boom'))]) {
      const { startedAt, attempt } = attemptOf(run)
      const outcome = await attempt.outcome
      expect(outcome).toMatchObject({ kind: 'retry', error: { name: 'TypeError', message: 'boom' } })
      expect(outcome).toHaveProperty('error.stack', expect.stringContaining('attempt.test.ts'))
      expect(outcome !== 'interrupted' && outcome.kind === 'retry' && outcome.at - startedAt).toSatisfy(
        (ms: number) => ms >= 500 && ms <= 1_000,
      )
    }
  })

  it('is a dead letter after its last failure', async () => {
    expect(await attemptOf(fail(new Error('x')), { attempt: 19, failed: 8 }).attempt.outcome).toMatchObject({
      kind: 'retry',
    })
    expect(await attemptOf(fail(new Error('x')), { attempt: 10, failed: 9 }).attempt.outcome).toMatchObject({
      kind: 'dead',
    })
  })

  it('waits as long as a RetryableError asks', async () => {
    const { startedAt, attempt } = attemptOf(fail(new RetryableError('busy', { retryAfterMs: 123_456 })))
    expect(await attempt.outcome).toMatchObject({ kind: 'retry', at: startedAt + 123_456 })
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an object without a prototype', Object.create(null)],
    ['an error whose name is a symbol', Object.assign(new Error('x'), { name: Symbol('x') })],
    ['an error whose message is an object', Object.assign(new Error(''), { message: { deep: true } })],
    ['an error whose stack is a number', Object.assign(new Error('x'), { stack: 1 })],
    ['an error whose message cannot be read', Object.defineProperty(new Error('x'), 'message', { get: fail('no') })],
    ['an error whose message has half a character', new Error('\ud800')],
    ['an error of a megabyte', new Error('x'.repeat(1_000_000))],
  ])('P9: has a storable outcome when %s is thrown', async (_what, thrown) => {
    const error = await errorOf(fail(thrown))
    expect(Object.values(error).every((text) => typeof text === 'string' && text.isWellFormed())).toBe(true)
    expect(JSON.stringify(error).length).toBeLessThan(30_000)
    expect(error.name).not.toBe('')
  })
})

it('an attempt that times out aborts the signal, and is a timeout as soon as the handler ends', async () => {
  const { clock, startedAt, attempt } = attemptOf((_event, ctx) => untilAborted(ctx))
  await clock.advance(timeoutMs)
  const outcome = await attempt.outcome
  expect(outcome).toMatchObject({ kind: 'retry', endedAt: startedAt + timeoutMs, error: { name: 'handler_timeout' } })
  expect(outcome).toHaveProperty('error.message', expect.stringContaining('handler h took longer than 1000 ms'))
  expect(attempt.hasOverrun).toBe(false)
  expect(clock.nextTimerAt()).toBeNull()
})

it('an attempt that times out resolves 5 s later if the handler ignores its signal, and ends with the handler', async () => {
  const handler = Promise.withResolvers<void>()
  const { clock, startedAt, attempt } = attemptOf(() => handler.promise)
  let hasOutcome = false
  let hasEnded = false
  void attempt.outcome.then(() => (hasOutcome = true))
  void attempt.ended.then(() => (hasEnded = true))
  await clock.advance(timeoutMs + overrunGraceMs - 1)
  expect(hasOutcome).toBe(false)
  await clock.advance(1)
  const endedAt = startedAt + timeoutMs + overrunGraceMs
  expect(await attempt.outcome).toMatchObject({ kind: 'retry', endedAt, error: { name: 'handler_timeout' } })
  expect([attempt.hasOverrun, hasEnded]).toEqual([true, false])
  handler.resolve()
  await attempt.ended
})

it('an attempt that times out aborts a signal that is read only afterwards', async () => {
  const slow = Promise.withResolvers<void>()
  const { clock, attempt } = attemptOf(async (_event, ctx) => {
    await slow.promise
    seen.push(ctx.signal.aborted, (ctx.signal.reason as InboxError).code)
  })
  const seen: unknown[] = []
  await clock.advance(timeoutMs)
  slow.resolve()
  await attempt.ended
  expect(seen).toEqual([true, 'handler_timeout'])
})

it('an attempt that is stopped is interrupted if its handler throws or returns', async () => {
  for (const run of [untilAborted, (ctx: HandlerContext) => untilAborted(ctx).catch(() => {})]) {
    const { attempt } = attemptOf((_event, ctx) => run(ctx))
    attempt.stop('shutdown')
    expect(await attempt.outcome).toBe('interrupted')
  }
})

it('an attempt that is stopped can be abandoned, and keeps the first reason', async () => {
  const stopped = attemptOf(forever)
  stopped.attempt.stop('shutdown')
  stopped.attempt.abandon()
  expect(await stopped.attempt.outcome).toBe('interrupted')
  expect(stopped.attempt.hasOverrun).toBe(true)

  const late = attemptOf(forever)
  await late.clock.advance(timeoutMs)
  late.attempt.stop('shutdown')
  late.attempt.abandon()
  expect(await late.attempt.outcome).toMatchObject({ kind: 'retry', error: { name: 'handler_timeout' } })
})
