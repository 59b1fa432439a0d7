import { describe, expect, it } from 'vitest'
import { defineSink, type SinkDefinition } from '../../src/dispatch/define-sink.ts'
import { parseDefinition } from '../../src/dispatch/parse-definition.ts'
import { numbered, stageDispatcher } from './dispatcher-stage.ts'

/** A sink whose sends end on request. */
async function stageSink(options: Partial<SinkDefinition>) {
  const sends: { readonly ids: readonly string[]; readonly end: () => void }[] = []
  let sending = 0
  let most = 0
  const sink = defineSink({
    name: 'h1',
    type: '*',
    order: 'none',
    async send(items) {
      const { promise, resolve } = Promise.withResolvers<void>()
      most = Math.max(most, ++sending)
      sends.push({ ids: items.map(({ event }) => event.id), end: resolve })
      await promise
      sending--
    },
    ...options,
  })
  const { run, ...parsed } = parseDefinition(sink, 'sink.ts', '')
  const stage = await stageDispatcher({ handlers: [{ ...parsed, run: (_event, ctx) => run(ctx) }] })
  stage.dispatcher.start()
  return {
    ...stage,
    sends,
    most: () => most,
    drained: (count: number) =>
      stage.until(() => {
        for (const { end } of sends) end()
        return stage.settled.length === count
      }),
  }
}

describe('a sink', () => {
  it.each([1, 5])('keeps to its concurrency with batches of %i, also after a change', async (batch) => {
    const stage = await stageSink({ batch, concurrency: 2 })
    await stage.accept(...numbered(100))
    expect(stage.most()).toBe(2)
    stage.dispatcher.setConcurrency('h1', 6)
    await stage.turns()
    expect(stage.most()).toBe(6)
    await stage.drained(100)
    expect(stage.sends.flatMap(({ ids }) => ids)).toHaveLength(100)
    expect(Math.max(...stage.sends.map(({ ids }) => ids.length))).toBe(batch)
    expect(stage.most()).toBe(6)
  })

  it('starts the timeout of an item with its send', async () => {
    const stage = await stageSink({ batch: 2, concurrency: 1, timeoutMs: 1_000 })
    await stage.accept({ id: 'evt_1' })
    await stage.accept({ id: 'evt_2' })
    await stage.pass(900)
    stage.sends[0]?.end()
    await stage.turns()
    expect(stage.sends).toHaveLength(2)
    await stage.pass(900)
    await stage.drained(2)
    expect(stage.settled).toEqual(['h1 done', 'h1 done'])
  })
})
