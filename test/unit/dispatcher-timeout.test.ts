import { describe, expect, it } from 'vitest'
import type { InboxError } from '../../src/errors.ts'
import { gatedHandler, numbered, stageDispatcher } from './dispatcher-stage.ts'

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

  it('is settled 5 s later if it ignores that, and keeps its slot until it really ends', async () => {
    const gate = gatedHandler()
    const handler = { run: gate.run, concurrency: 2, timeoutMs: 1_000, retry: { attempts: 1, baseMs: 1, capMs: 1 } }
    const stage = await stageDispatcher({ handlers: [handler] })
    stage.dispatcher.start()
    await stage.accept(...numbered(3))
    gate.running.get('evt_2')!.resolve()
    await stage.until(() => gate.started.length === 3)
    await stage.clock.advance(5_999)
    expect(await stage.run('evt_1')).toMatchObject({ state: 'running' })
    gate.running.get('evt_3')!.resolve()
    await stage.clock.advance(1)
    await stage.turns()
    expect(await stage.run('evt_1')).toMatchObject({
      state: 'dead',
      attempts: [{ error: { name: 'handler_timeout' } }],
    })
    expect(stage.stuck).toEqual([])
    await stage.accept({ id: 'evt_4' }, { id: 'evt_5' })
    expect([...gate.running.keys()]).toEqual(['evt_1', 'evt_4'])
    gate.running.get('evt_1')!.resolve()
    await stage.until(() => gate.running.has('evt_5'))
  })

  it('is reported as stuck once such runs hold all its slots, or all there are', async () => {
    const handlers = ['a', 'b'].map((name) => ({ name, run: ignoreSignal, concurrency: 2, timeoutMs: 1_000 }))
    const own = await stageDispatcher({ handlers })
    own.dispatcher.start()
    await own.accept({ id: 'evt_1' })
    await own.clock.advance(6_000)
    expect(own.stuck).toEqual([])
    await own.accept({ id: 'evt_2' })
    await own.clock.advance(6_000)
    expect(own.stuck.toSorted()).toEqual(['a', 'b'])

    const all = await stageDispatcher({ handlers, concurrency: 1 })
    all.dispatcher.start()
    await all.accept({ id: 'evt_1' })
    await all.clock.advance(6_000)
    expect(all.stuck).toHaveLength(1)
  })
})
