import { expect, it } from 'vitest'
import type { DispatchStore } from '../../src/inbox/port.ts'
import {
  claimingAfter,
  gatedHandler,
  numbered,
  stageDispatcher,
  stageRun,
  type TestHandler,
} from './dispatcher-stage.ts'

const graceMs = 10_000
const abortGraceMs = 500

it('a dispatcher that stops lets runs finish, and releases the others uncharged', async () => {
  const gate = gatedHandler()
  const stage = await stageDispatcher({ handlers: [{ run: gate.run, concurrency: 2 }] })
  stage.dispatcher.start()
  await stage.accept(...numbered(4))
  expect(await stage.run('evt_4')).toMatchObject({ state: 'running', attempt: 1 })
  const stopped = stage.dispatcher.stop(graceMs, abortGraceMs)
  await stage.turns()
  expect(await stage.run('evt_4')).toMatchObject({ state: 'ready', attempt: 0, attempts: [] })
  for (const end of gate.running.values()) end.resolve()
  expect(await stopped).toEqual([])
  expect(gate.started).toEqual(['evt_1', 'evt_2'])
  // Outcomes are stored before `stop` resolves, because the thread ends then.
  expect(await stage.run('evt_1')).toMatchObject({ state: 'done' })
  expect(await stage.run('evt_2')).toMatchObject({ state: 'done' })
})

it('a dispatcher that stops returns the outcome of a handler that ignores its timeout', async () => {
  const handler = { run: () => new Promise<never>(() => {}), timeoutMs: 9_000 }
  const stage = await stageRun(handler)
  const stopped = stage.dispatcher.stop(graceMs, abortGraceMs)
  await stage.pass(graceMs + 2 * abortGraceMs)
  const outcome = { kind: 'retry', error: { name: 'handler_timeout' } }
  expect(await stopped).toMatchObject([{ lease: { event: { id: 'evt_1' } }, outcome }])
  expect(await stage.run('evt_1')).toMatchObject({ state: 'running', attempts: [] })
})

it('a dispatcher that stops releases runs that a claim returns during the stop', async () => {
  const arriving = Promise.withResolvers<void>()
  const ran: string[] = []
  const handlers: TestHandler[] = [{ run: ({ id }) => void ran.push(id) }]
  const stage = await stageDispatcher({ handlers, work: claimingAfter(arriving.promise) })
  stage.dispatcher.start()
  await stage.accept({ id: 'evt_1' })
  const stopped = stage.dispatcher.stop(graceMs, abortGraceMs)
  await stage.turns()
  arriving.resolve()
  await stopped
  expect(ran).toEqual([])
  expect(await stage.run('evt_1')).toMatchObject({ state: 'ready', attempt: 0 })
})

it('a dispatcher that stops aborts runs in time, even if its store is slow', async () => {
  const retired = Promise.withResolvers<void>()
  const work = (inbox: DispatchStore) => ({
    retire: (owner: string) => retired.promise.then(() => inbox.retire(owner)),
  })
  let signal: AbortSignal | undefined
  const run: TestHandler['run'] = (_, ctx) => {
    ;({ signal } = ctx)
    return new Promise(() => {})
  }
  const stage = await stageDispatcher({ handlers: [{ run }], work })
  stage.dispatcher.start()
  await stage.accept({ id: 'evt_1' })
  const stopped = stage.dispatcher.stop(graceMs, abortGraceMs)
  await stage.pass(graceMs)
  expect(signal?.aborted).toBe(true)
  retired.resolve()
  await stage.pass(2 * abortGraceMs)
  expect(await stopped).toMatchObject([{ outcome: 'interrupted' }])
})

it('a dispatcher that stops does not wait for a failed store', async () => {
  const never = () => new Promise<never>(() => {})
  const refuse = async () => {
    throw new Error('gone')
  }
  const work = () => ({ claim: never, retire: refuse, release: refuse, settle: refuse })
  const stage = await stageDispatcher({ handlers: [{ run: () => {} }], work })
  stage.dispatcher.start()
  expect(await stage.dispatcher.stop(graceMs, abortGraceMs)).toEqual([])
})
