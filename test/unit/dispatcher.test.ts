import { describe, expect, it } from 'vitest'
import { InboxError, TerminalError } from '../../src/base/errors.ts'
import { claimingAfter, gatedHandler, numbered, stageDispatcher } from './dispatcher-stage.ts'

describe('the dispatcher', () => {
  it('keeps to the concurrency of each handler and the total limit', async () => {
    const [narrow, wide] = [gatedHandler(), gatedHandler()]
    let most = 0
    const counted = (gate: typeof narrow) => async (event: { id: string }) => {
      const running = gate.run(event)
      most = Math.max(most, narrow.running.size + wide.running.size)
      return running
    }
    const handlers = [
      { run: counted(narrow), concurrency: 3 },
      { run: counted(wide), concurrency: 50 },
    ]
    const stage = await stageDispatcher({ handlers, concurrency: 10 })
    stage.dispatcher.start()
    await stage.accept(...numbered(60))
    await stage.drain(120, narrow, wide)
    expect([narrow.most, most]).toEqual([3, 10])
  })

  it.each([
    ['twice the slots of a slow handler', 100, 200, 8],
    ['512 of a fast one', 0, 3_000, 512],
  ])('holds no more runs than %s', async (_what, durationMs, events, limit) => {
    let held = 0
    let most = 0
    const gate = gatedHandler()
    const run = durationMs === 0 ? () => {} : gate.run
    const stage = await stageDispatcher({
      handlers: [{ run, concurrency: 4 }],
      work: (inbox) => ({
        async claim(request) {
          const leases = await inbox.claim(request)
          held += leases.length
          most = Math.max(most, held)
          return leases
        },
        async settle(outcomes) {
          const results = await inbox.settle(outcomes)
          held -= outcomes.length
          return results
        },
      }),
    })
    await stage.accept(...numbered(events))
    stage.dispatcher.start()
    await stage.until(async () => {
      await stage.clock.advance(durationMs)
      for (const end of gate.running.values()) end.resolve()
      return stage.settled.length === events
    })
    expect(most).toBeLessThanOrEqual(limit)
    expect(most).toBeGreaterThan(limit / 2)
  })

  it('releases runs of a paused handler, and continues after the pause', async () => {
    const gate = gatedHandler()
    const stage = await stageDispatcher({ handlers: [{ run: gate.run, concurrency: 4 }, { run: () => {} }] })
    stage.dispatcher.start()
    await stage.accept(...numbered(20))
    await stage.inbox.setPaused('h1', true)
    await stage.dispatcher.recall('h1')
    await stage.drain(24, gate)
    await stage.turns()
    expect(gate.started).toHaveLength(4)
    expect((await stage.inbox.stats()).handlers[0]).toMatchObject({ running: 0 })
    await stage.inbox.setPaused('h1', false)
    await stage.drain(40, gate)
    expect(await stage.run('evt_20')).toMatchObject({ state: 'done', attempt: 1 })
  })

  it('releases runs of a claim that returns after the pause', async () => {
    const claimed = Promise.withResolvers<void>()
    const gate = gatedHandler()
    const handlers = [{ run: gate.run, concurrency: 4 }]
    const stage = await stageDispatcher({ handlers, work: claimingAfter(claimed.promise) })
    await stage.accept(...numbered(20))
    stage.dispatcher.start()
    await stage.turns()
    await stage.inbox.setPaused('h1', true)
    const recalled = stage.dispatcher.recall('h1')
    claimed.resolve()
    await recalled
    await stage.drain(4, gate)
    await stage.turns()
    expect(gate.started).toHaveLength(4)
    expect((await stage.inbox.stats()).handlers[0]).toMatchObject({ running: 0 })
  })

  it('retries a release that the store refuses', async () => {
    const gate = gatedHandler()
    let refusals = 2
    const stage = await stageDispatcher({
      handlers: [{ run: gate.run, concurrency: 1 }],
      work: (inbox) => ({
        release: (leases) =>
          refusals-- > 0 ? Promise.reject(new InboxError('store_full', 'the disk is full')) : inbox.release(leases),
      }),
    })
    stage.dispatcher.start()
    await stage.accept(...numbered(2))
    await stage.inbox.setPaused('h1', true)
    const recalled = stage.dispatcher.recall('h1')
    await stage.pass(1_000)
    await recalled
    expect((await stage.inbox.stats()).handlers[0]).toMatchObject({ ready: 1, running: 1 })
  })

  it('releases most prefetched runs when a fast handler becomes slow', async () => {
    const gate = gatedHandler()
    let isSlow = false
    const run = (event: { id: string }) => (isSlow ? gate.run(event) : undefined)
    const stage = await stageDispatcher({ handlers: [{ run: async (event) => run(event), concurrency: 4 }] })
    stage.dispatcher.start()
    await stage.accept(...numbered(2_000))
    await stage.drain(2_000)
    isSlow = true
    await stage.accept(...Array.from({ length: 600 }, (_, n) => ({ id: `slow_${n}` })))
    const running = async () => (await stage.inbox.stats()).handlers[0]?.running
    expect(await running()).toBeGreaterThan(100)
    await stage.pass(2_000)
    expect(await running()).toBeLessThanOrEqual(16)
    await stage.drain(2_600, gate)
  })

  it('prefetches little if bodies are large', async () => {
    const gates = [gatedHandler(), gatedHandler(), gatedHandler()]
    const stage = await stageDispatcher({
      handlers: gates.map(({ run }) => ({ run, concurrency: 200 })),
      concurrency: 600,
    })
    stage.dispatcher.start()
    const padding = 'x'.repeat(1_000_000)
    for (let n = 0; n < 6; n++) await stage.accept(...numbered(10).map(({ id }) => ({ id: `${n}_${id}`, padding })))
    const { handlers } = await stage.inbox.stats()
    expect(handlers.reduce((sum, { running }) => sum + running, 0)).toBeLessThan(100)
    await stage.drain(180, ...gates)
  })

  it('starts live runs before claimed replays', async () => {
    const gate = gatedHandler()
    const order: string[] = []
    const run = async (event: { id: string }, ctx: { isReplay: boolean }) => {
      order.push(ctx.isReplay ? `${event.id} again` : event.id)
      if (event.id === 'slow') await gate.run(event)
    }
    const stage = await stageDispatcher({ handlers: [{ run, concurrency: 1 }] })
    stage.dispatcher.start()
    // Fast runs first, so that the prefetch grows.
    await stage.accept(...numbered(200))
    await stage.drain(200)
    await stage.accept({ id: 'slow' })
    await stage.inbox.startReplay({ filter: { ids: ['evt_1', 'evt_2'] }, perSecond: null, newKeys: false })
    const handedOut = async () => (await stage.inbox.stats()).handlers[0]?.running
    await stage.until(async () => (await handedOut()) === 3)
    await stage.accept({ id: 'live' })
    await stage.until(async () => (await handedOut()) === 4)
    gate.running.get('slow')?.resolve()
    await stage.drain(204)
    expect(order.slice(200)).toEqual(['slow', 'live', 'evt_1 again', 'evt_2 again'])
  })

  it('yields to timers and messages while synchronous handlers run', async () => {
    let turn = 0
    let immediate = setImmediate(function count() {
      turn++
      immediate = setImmediate(count)
    })
    const turns = new Set<number>()
    const run = () => {
      turns.add(turn)
      const until = performance.now() + 5
      while (performance.now() < until);
    }
    const names = ['a', 'b', 'c', 'd', 'e']
    const stage = await stageDispatcher({ handlers: names.map((name) => ({ name, run })) })
    await stage.accept(...numbered(20))
    stage.dispatcher.start()
    await stage.drain(100)
    clearImmediate(immediate)
    // 500 ms of work, in turns of a little more than 20 ms.
    expect(turns.size).toBeGreaterThan(15)
  })

  it('logs failed attempts and dead letters, at most ten in ten seconds', async () => {
    const run = ({ id }: { id: string }) => {
      throw id === 'evt_2' ? new TerminalError('no such pair') : new Error('the desk answered 500')
    }
    const stage = await stageDispatcher({ handlers: [{ name: 'trades', run }] })
    stage.dispatcher.start()
    await stage.accept(...numbered(2))
    const frame = expect.stringMatching(/^at .*run \(.*dispatcher\.test\.ts:\d+:\d+\)$/) as string
    const failed = { handler: 'trades', attempt: 1, frame }
    expect(stage.lines).toEqual([
      {
        ...failed,
        eventId: 'evt_1',
        error: 'Error: the desk answered 500',
        nextAt: expect.stringMatching(/^2026-01-01T00:00:0[01]\.\d{3}Z$/),
        message: 'attempt failed, retry scheduled',
      },
      { ...failed, eventId: 'evt_2', error: 'handler_terminal: no such pair', message: 'run became a dead letter' },
    ])
    await stage.accept(...numbered(100).slice(2))
    await stage.drain(100)
    expect(stage.lines).toHaveLength(10)
    await stage.pass(20_000)
    expect(stage.lines[10]).toHaveProperty('leftOut')
  })

  it('tracks both attempts of a run that is claimed again while its handler runs', async () => {
    const ends: (() => void)[] = []
    const run = () => new Promise<void>((resolve) => void ends.push(resolve))
    const stage = await stageDispatcher({
      handlers: [{ run, concurrency: 2 }],
      work: (inbox) => ({
        claim: async (request) => (await inbox.claim(request)).flatMap((lease) => [{ ...lease, token: 0 }, lease]),
      }),
    })
    stage.dispatcher.start()
    await stage.accept({ id: 'evt_1' })
    expect(stage.inFlight.runs()).toEqual([1, 1])
    ends[0]?.()
    await stage.turns()
    expect(stage.inFlight.runs()).toEqual([1])
    ends[1]?.()
    await stage.drain(1)
    expect(stage.inFlight.runs()).toEqual([])
  })

  it('claims again after a claim failed', async () => {
    let isDown = true
    const stage = await stageDispatcher({
      handlers: [{ run: () => {} }],
      work: (inbox) => ({
        async claim(request) {
          if (isDown) throw new InboxError('store_unavailable', 'not now')
          return inbox.claim(request)
        },
      }),
    })
    stage.dispatcher.start()
    await stage.accept({ id: 'evt_1' })
    expect(stage.settled).toEqual([])
    isDown = false
    await stage.pass(1_000)
    expect(stage.settled).toEqual(['h1 done'])
  })
})

it('P9: a dispatcher for suspects claims and runs suspects only, one at a time over all handlers', async () => {
  const gate = gatedHandler()
  const { run } = gate
  const stage = await stageDispatcher({
    handlers: [{ run }, { run: (event) => run({ id: `2 ${event.id}` }) }],
    suspects: true,
  })
  await stage.accept(...numbered(3))
  await stage.inbox.claim({ handlers: ['h1', 'h2'], max: 4, owner: 'dead', suspects: false })
  await stage.inbox.reap('dead')
  stage.dispatcher.start()
  await stage.turns()
  // A crash of its thread must affect one run only.
  const { handlers } = await stage.inbox.stats()
  expect(handlers.reduce((sum, { running }) => sum + running, 0)).toBe(1)
  await stage.drain(4, gate)
  await stage.turns()
  expect(gate.most).toBe(1)
  expect(gate.started).toHaveLength(4)
  expect(stage.dispatcher.isIdle).toBe(true)
})
