import { describe, expect, it } from 'vitest'
import { gatedHandler, stageDispatcher } from './dispatcher-stage.ts'

describe('a handler that takes too long', () => {
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
})
