import { describe, expect, it } from 'vitest'
import { RetryableError, TerminalError } from '../../src/base/errors.ts'
import { defineSink, type SinkContext, type SinkDefinition, type SinkItem } from '../../src/dispatch/define-sink.ts'
import { parseDefinition } from '../../src/dispatch/parse-definition.ts'
import { anEvent } from '../conformance/stage.ts'
import { counts } from '../counts.ts'
import { eventBytes } from '../support/signed.ts'
import { numbered, stageDispatcher } from './dispatcher-stage.ts'

type Send = (items: readonly SinkItem[], ctx: SinkContext) => void | Promise<void>

/** A sink for all events; `calls` counts claims and released runs. */
async function stageSink(send: Send, options: Partial<SinkDefinition> = {}, { suspects = false } = {}) {
  const sent: string[] = []
  const calls = { claim: 0, released: 0 }
  const sink = defineSink({
    name: 'h1',
    type: '*',
    retry: { attempts: 1_000, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    ...options,
    async send(items, ctx) {
      sent.push(...items.map(({ event }) => event.id))
      await send(items, ctx)
    },
  })
  const { run, ...parsed } = parseDefinition(sink, 'sink.ts', '')
  const stage = await stageDispatcher({
    handlers: [{ ...parsed, run: (_event, ctx) => run(ctx) }],
    suspects,
    work: (inbox) => ({
      claim(request) {
        calls.claim++
        return inbox.claim(request)
      },
      release(leases) {
        calls.released += leases.length
        return inbox.release(leases)
      },
    }),
  })
  if (!suspects) stage.dispatcher.start()
  return { ...stage, sent, calls }
}

/** A sink whose sends end on request. */
async function stageGated(options: Partial<SinkDefinition>) {
  const sends: (PromiseWithResolvers<void> & { readonly size: number })[] = []
  let sending = 0
  let most = 0
  const stage = await stageSink(
    async ({ length: size }) => {
      const send = { ...Promise.withResolvers<void>(), size }
      most = Math.max(most, ++sending)
      sends.push(send)
      await send.promise
      sending--
    },
    { order: 'none', ...options },
  )
  const endUntil = (isOver: () => boolean) =>
    stage.until(() => {
      for (const send of sends) send.resolve()
      return isOver()
    })
  return { ...stage, sends, most: () => most, endUntil }
}

const down: Send = () => {
  throw new Error('it is down')
}

describe('the breaker of a sink', () => {
  it('opens after consecutive failures; other items wait uncharged, and one is a trial after the cooldown', async () => {
    const stage = await stageSink(down, { concurrency: 1 })
    await stage.accept(...numbered(20))
    expect(stage.sent).toEqual(['evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5'])
    expect(await stage.run('evt_6')).toMatchObject({ state: 'ready', attempt: 0 })
    await stage.pass(4_999)
    expect(stage.sent).toHaveLength(5)
    await stage.pass(1)
    expect(stage.sent).toHaveLength(6)
  })

  it('sends one item at once when an operator has it tried, and nothing more if that fails', async () => {
    let isDown = true
    const stage = await stageSink(() => (isDown ? down([], {} as SinkContext) : undefined), { concurrency: 1 })
    await stage.accept(...numbered(20))
    stage.dispatcher.trySink('h1')
    await stage.pass(0)
    expect(stage.sent).toHaveLength(6)
    stage.dispatcher.trySink('another')
    await stage.pass(0)
    expect(stage.sent).toHaveLength(6)
    isDown = false
    stage.dispatcher.trySink('h1')
    await stage.pass(1_000)
    expect(stage.settled.filter((result) => result === 'h1 done').length).toBeGreaterThan(10)
  })

  it('stays closed if only one item fails repeatedly', async () => {
    const stage = await stageSink(([item]) => {
      if (item?.event.id === 'poison') throw new Error('it is refused')
    })
    await stage.accept({ id: 'poison' })
    while (stage.sent.length < 8) await stage.pass(500)
    await stage.accept({ id: 'evt_1' })
    expect(stage.sent.at(-1)).toBe('evt_1')
  })

  it('counts no TerminalError, and starts again after a success', async () => {
    const stage = await stageSink(
      ([item]) => {
        const number = Number(item?.event.id.slice(4))
        if (number <= 10) throw new TerminalError('never')
        if (number % 5 !== 0) throw new Error('not now')
      },
      { concurrency: 1 },
    )
    await stage.accept(...numbered(40))
    expect(stage.sent).toHaveLength(40)
  })

  it('tries the next item if the trial was unmatched or a dead letter', async () => {
    let isDown = true
    const stage = await stageSink(
      ([item]) => {
        if (isDown) throw new Error('it is down')
        if (item?.event.id !== 'evt_40') throw new TerminalError('never')
      },
      {
        concurrency: 1,
        retry: { attempts: 1_000, baseMs: 60_000, capMs: 60_000 },
        match: ({ id }) => !['evt_7', 'evt_8'].includes(id),
      },
    )
    await stage.accept(...numbered(40))
    expect(stage.sent).toHaveLength(5)
    isDown = false
    await stage.pass(5_000)
    expect(stage.sent.at(-1)).toBe('evt_40')
    expect(stage.settled.filter((result) => result === 'h1 unmatched')).toHaveLength(2)
  })

  it('releases items that wait for a batch', async () => {
    const stage = await stageGated({ batch: 4, concurrency: 1, breaker: { failures: 1 } })
    await stage.accept({ id: 'first' })
    await stage.accept(...numbered(8))
    expect(stage.sent).toEqual(['first'])
    stage.sends[0]?.reject(new Error('it is down'))
    await stage.turns()
    expect(stage.sent).toEqual(['first'])
    expect(stage.settled).toEqual(['h1 retry'])
    expect(await stage.run('evt_1')).toMatchObject({ state: 'ready', attempt: 0 })
    await stage.pass(5_000)
    // One item, not a batch.
    expect(stage.sent).toHaveLength(2)
    await stage.endUntil(() => stage.sent.length > 9)
    // How many are claimed in one turn of the event loop depends on the machine.
    const largest = Math.max(...stage.sends.map(({ size }) => size))
    expect(largest).toBeGreaterThan(1)
    expect(largest).toBeLessThanOrEqual(4)
  })

  it('sends each suspect once while it is open', async () => {
    const stage = await stageSink(down, { breaker: { failures: 1 }, batch: 2 }, { suspects: true })
    await stage.accept(...numbered(10))
    await stage.inbox.claim({ handlers: ['h1'], max: 10, owner: 'crashed', suspects: false })
    await stage.inbox.reap('crashed')
    stage.calls.claim = 0
    stage.dispatcher.start()
    await stage.turns(200)
    expect(stage.settled).toEqual(Array.from({ length: 10 }, () => 'h1 retry'))
    expect(stage.calls).toMatchObject({ released: 0 })
    expect(stage.calls.claim).toBeLessThanOrEqual(22)
  })

  it('claims nothing while it is open, and one run per trial', async () => {
    const stage = await stageSink(down, { breaker: { failures: 5, cooldownMs: 60_000, capMs: 60_000 } })
    for (let n = 0; n < counts.breakerBacklog / 1_000; n++) {
      await stage.inbox.accept(
        numbered(1_000).map(({ id }) => ({ ...anEvent(`${n}-${id}`), raw: eventBytes({ id: `${n}-${id}` }) })),
      )
    }
    await stage.turns()
    const sent = stage.sent.length
    expect(sent).toBeLessThanOrEqual(5 + 8)
    const { claim, released } = stage.calls
    await stage.pass(59_000)
    expect(stage.calls.claim).toBe(claim)
    expect(stage.sent).toHaveLength(sent)
    await stage.pass(10 * 60_000)
    expect(stage.sent).toHaveLength(sent + 10)
    expect(stage.calls.claim - claim).toBeLessThanOrEqual(40)
    expect(stage.calls.released - released).toBeLessThanOrEqual(10)
  }, 30_000)
})

it('ctx.pause pauses all items uncharged, and its failure does not count for the breaker', async () => {
  let isLimited = true
  const stage = await stageSink(
    (_items, ctx) => {
      if (!isLimited) return
      ctx.pause(30_000)
      throw new RetryableError('too many', { retryAfterMs: 30_000 })
    },
    { concurrency: 1, breaker: { failures: 1 } },
  )
  await stage.accept(...numbered(10))
  expect(stage.sent).toEqual(['evt_1'])
  isLimited = false
  await stage.pass(29_999)
  expect(stage.sent).toHaveLength(1)
  await stage.pass(1)
  expect(stage.settled.filter((result) => result === 'h1 done').length).toBeGreaterThanOrEqual(9)
  expect((await stage.run('evt_2')).attempts).toHaveLength(1)
})

it('ctx.pause pauses for at most an hour, and refuses an invalid time', async () => {
  const stage = await stageSink((_items, ctx) => ctx.pause(Infinity), { concurrency: 1 })
  await stage.accept(...numbered(2))
  await stage.pass(3_599_999)
  expect(stage.sent).toHaveLength(1)
  await stage.pass(1)
  expect(stage.sent).toHaveLength(2)
  const refused = await stageSink((_items, ctx) => ctx.pause(NaN))
  await refused.accept({ id: 'evt_1' })
  expect(refused.settled).toEqual(['h1 dead'])
})

it.each([1, 5])('the batches of a sink keep to its concurrency with %i items, also after a change', async (batch) => {
  const stage = await stageGated({ batch, concurrency: 2 })
  await stage.accept(...numbered(100))
  expect(stage.most()).toBe(2)
  stage.dispatcher.setConcurrency('h1', 6)
  await stage.turns()
  expect(stage.most()).toBe(6)
  await stage.endUntil(() => stage.settled.length === 100)
  expect(stage.sent).toHaveLength(100)
  expect(Math.max(...stage.sends.map(({ size }) => size))).toBe(batch)
  expect(stage.most()).toBe(6)
})

it('the batches of a sink start the timeout of an item with its send', async () => {
  const stage = await stageGated({ batch: 2, concurrency: 1, timeoutMs: 1_000 })
  await stage.accept({ id: 'evt_1' })
  await stage.accept({ id: 'evt_2' })
  await stage.pass(900)
  stage.sends[0]?.resolve()
  await stage.turns()
  expect(stage.sends).toHaveLength(2)
  await stage.pass(900)
  await stage.endUntil(() => stage.settled.length === 2)
  expect(stage.settled).toEqual(['h1 done', 'h1 done'])
})
