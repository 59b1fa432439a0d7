import { describe, expect, it } from 'vitest'
import type { InboxError } from '../../src/base/errors.ts'
import { gatedHandler, stageDispatcher } from './dispatcher-stage.ts'

const ignoreSignal = () => new Promise<never>(() => {})

describe('a handler that takes too long', () => {
  it('is aborted after its timeout, and its attempt is settled as soon as it ends', async () => {
    const codes: unknown[] = []
    const stage = await stageDispatcher({
      handlers: [
        {
          timeoutMs: 1_000,
          run: (_event, ctx) =>
            new Promise((_end, fail) =>
              ctx.signal.addEventListener('abort', () => {
                codes.push((ctx.signal.reason as InboxError).code)
                fail(ctx.signal.reason as Error)
              }),
            ),
        },
      ],
    })
    stage.dispatcher.start()
    await stage.accept({ id: 'evt_1' })
    await stage.clock.advance(1_000)
    await stage.turns()
    expect(codes).toEqual(['handler_timeout'])
    const { attempts } = await stage.run('evt_1')
    expect(attempts).toMatchObject([{ outcome: 'retry', error: { name: 'handler_timeout' } }])
    expect(attempts[0]!.endedAt - attempts[0]!.startedAt).toBe(1_000)
    expect(stage.stuck).toEqual([])
  })

  it('is reported as stuck 5 s later if it ignores that, and keeps its slot and its key until it ends', async () => {
    const gate = gatedHandler()
    const handler = { run: gate.run, concurrency: 2, timeoutMs: 1_000, retry: { attempts: 1, baseMs: 1, capMs: 1 } }
    const stage = await stageDispatcher({ handlers: [handler] })
    stage.dispatcher.start()
    await stage.accept(
      { id: 'evt_1', address: '0xa' },
      { id: 'evt_2', address: '0xa' },
      { id: 'evt_3', address: '0xb' },
    )
    gate.running.get('evt_3')!.resolve()
    await stage.clock.advance(5_999)
    await stage.turns()
    expect(stage.stuck).toEqual([])
    await stage.clock.advance(1)
    await stage.turns()
    expect(stage.stuck).toEqual(['h1'])

    await stage.accept({ id: 'evt_4' }, { id: 'evt_5' })
    await stage.clock.advance(900)
    await stage.turns()
    expect([...gate.running.keys()]).toEqual(['evt_1', 'evt_4'])
    expect(await stage.run('evt_1')).toMatchObject({ state: 'running', attempts: [] })
    expect(await stage.run('evt_2')).toMatchObject({ state: 'waiting' })

    gate.running.get('evt_1')!.resolve()
    await stage.until(() => gate.running.has('evt_5'))
    expect(await stage.run('evt_1')).toMatchObject({
      state: 'dead',
      attempts: [{ error: { name: 'handler_timeout' } }],
    })
    gate.running.get('evt_4')!.resolve()
    await stage.until(() => gate.running.has('evt_2'))
  })

  it('leaves its verdict to whoever ends its thread, and does not hold up the stop', async () => {
    const stage = await stageDispatcher({ handlers: [{ run: ignoreSignal, timeoutMs: 1_000 }] })
    stage.dispatcher.start()
    await stage.accept({ id: 'evt_1' })
    await stage.clock.advance(6_000)
    await stage.turns()
    expect(stage.stuck).toEqual(['h1'])
    expect(await stage.dispatcher.stop(60_000, 500)).toMatchObject([
      { lease: { event: { id: 'evt_1' } }, outcome: { kind: 'retry', error: { name: 'handler_timeout' } } },
    ])
    expect(await stage.run('evt_1')).toMatchObject({ state: 'running', attempts: [] })
  })
})
