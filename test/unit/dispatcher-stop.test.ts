import { describe, expect, it } from 'vitest'
import type { HandlerContext } from '../../src/dispatch/define.ts'
import { gatedHandler, numbered, stageDispatcher } from './dispatcher-stage.ts'

const graceMs = 10_000
const abortGraceMs = 500

const untilAborted = (_event: unknown, ctx: HandlerContext) =>
  new Promise<never>((_end, fail) => ctx.signal.addEventListener('abort', () => fail(ctx.signal.reason as Error)))

describe('a dispatcher that stops', () => {
  it('lets runs finish, and gives back what was not started, uncharged', async () => {
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
    // The verdicts are stored by the time it says that it has stopped: its thread is ended then.
    expect(await stage.run('evt_1')).toMatchObject({ state: 'done' })
    expect(await stage.run('evt_2')).toMatchObject({ state: 'done' })
  })

  it('aborts what runs after the grace, and gives it back uncharged', async () => {
    const stage = await stageDispatcher({ handlers: [{ run: untilAborted }] })
    stage.dispatcher.start()
    await stage.accept({ id: 'evt_1' })
    const stopped = stage.dispatcher.stop(graceMs, abortGraceMs)
    await stage.pass(graceMs - 1)
    expect(await stage.run('evt_1')).toMatchObject({ state: 'running' })
    await stage.pass(1)
    expect(await stopped).toEqual([])
    expect(await stage.run('evt_1')).toMatchObject({ state: 'ready', attempt: 0, attempts: [] })
  })

  it('hands over the runs of handlers that run on, instead of having them tried again meanwhile', async () => {
    const stage = await stageDispatcher({ handlers: [{ run: () => new Promise<never>(() => {}) }] })
    stage.dispatcher.start()
    await stage.accept({ id: 'evt_1' })
    const stopped = stage.dispatcher.stop(graceMs, abortGraceMs)
    await stage.pass(graceMs + abortGraceMs)
    const leftovers = await stopped
    expect(leftovers.map(({ lease, outcome }) => [lease.event.id, outcome])).toEqual([['evt_1', 'interrupted']])
    expect(await stage.run('evt_1')).toMatchObject({ state: 'running' })
    await stage.inbox.release(leftovers.map(({ lease }) => lease))
    expect(await stage.run('evt_1')).toMatchObject({ state: 'ready', attempt: 0, attempts: [] })
  })

  it('hands over the verdict on a handler that ignores its timeout until the end', async () => {
    const handler = { run: () => new Promise<never>(() => {}), timeoutMs: 9_000 }
    const stage = await stageDispatcher({ handlers: [handler] })
    stage.dispatcher.start()
    await stage.accept({ id: 'evt_1' })
    const stopped = stage.dispatcher.stop(graceMs, abortGraceMs)
    await stage.pass(graceMs + 2 * abortGraceMs)
    const outcome = { kind: 'retry', error: { name: 'handler_timeout' } }
    expect(await stopped).toMatchObject([{ lease: { event: { id: 'evt_1' } }, outcome }])
    expect(await stage.run('evt_1')).toMatchObject({ state: 'running', attempts: [] })
  })

  it('does not start what a claim still brings, and gives it back', async () => {
    const arriving = Promise.withResolvers<void>()
    const ran: string[] = []
    const stage = await stageDispatcher({
      handlers: [{ run: ({ id }) => void ran.push(id) }],
      work: (inbox) => ({
        async claim(request) {
          const leases = await inbox.claim(request)
          await arriving.promise
          return leases
        },
      }),
    })
    stage.dispatcher.start()
    await stage.accept({ id: 'evt_1' })
    const stopped = stage.dispatcher.stop(graceMs, abortGraceMs)
    await stage.turns()
    arriving.resolve()
    await stopped
    expect(ran).toEqual([])
    expect(await stage.run('evt_1')).toMatchObject({ state: 'ready', attempt: 0 })
  })

  it('does not wait for a store that is gone', async () => {
    const never = () => new Promise<never>(() => {})
    const refuse = async () => {
      throw new Error('gone')
    }
    const work = () => ({ claim: never, retire: refuse, release: refuse, settle: refuse })
    const stage = await stageDispatcher({ handlers: [{ run: () => {} }], work })
    stage.dispatcher.start()
    expect(await stage.dispatcher.stop(graceMs, abortGraceMs)).toEqual([])
  })
})
