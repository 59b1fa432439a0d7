import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClaimRequest, EventStatus, HandlerRoute, NewReplay, Outcome } from '../../src/inbox/port.ts'
import { Model, type ModelReplay, type ModelRun } from './model.ts'
import { type ConformanceHarness, Stage, anEvent, bytes, loose, noRuns, ordered } from './stage.ts'

const routes: readonly HandlerRoute[] = [
  ordered,
  loose,
  { ...ordered, name: 'holding', onDead: 'hold' },
  { ...ordered, name: 'latest', latestOnly: true },
  { name: 'sink', types: [], order: 'key' },
]
/** Registered when there are events already. */
const lateRoutes: readonly HandlerRoute[] = [
  { ...ordered, name: 'late', from: 'beginning' },
  { ...ordered, name: 'late latest', from: 'beginning', latestOnly: true },
]

const names = routes.map(({ name }) => name)
const allNames = [...names, ...lateRoutes.map(({ name }) => name)]
const stateKeys = ['s0', 's1']
const jobStepMs = 5
const maxJobSteps = 400

type Step =
  | { readonly do: 'accept'; readonly picks: readonly (readonly [id: number, body: number])[] }
  | {
      readonly do: 'claim'
      readonly handlers: readonly string[]
      readonly owner: string
      readonly max: number
      readonly suspects: boolean
    }
  | { readonly do: 'settle'; readonly pick: number; readonly kind: Outcome['kind']; readonly delayMs: number }
  | { readonly do: 'release' | 'repeat an old outcome' | 'requeue one'; readonly pick: number }
  | {
      readonly do: 'settle with effects'
      readonly pick: number
      readonly key: string
      /** True: its reads don't match the stored state. */
      readonly isOutdated: boolean
      readonly isDeleted: boolean
      readonly itemKeys: readonly (string | null)[]
    }
  | { readonly do: 'drop one' | 'cancel a replay'; readonly pick: number }
  | { readonly do: 'replay'; readonly replay: NewReplay }
  | { readonly do: 'prune'; readonly events: number }
  | { readonly do: 'drop open runs'; readonly handler: string }
  | { readonly do: 'register late'; readonly route: HandlerRoute }
  | { readonly do: 'set onDead'; readonly onDead: 'skip' | 'hold' }
  | { readonly do: 'reap'; readonly owner: string }
  | { readonly do: 'pause'; readonly handler: string | null; readonly paused: boolean }
  | { readonly do: 'advance' | 'set the clock back'; readonly ms: number }
  | { readonly do: 'requeue all' | 'drop all' | 'crash' }

function anyStep(hasOwnClock: boolean): fc.Arbitrary<Step> {
  const owner = fc.constantFrom('x', 'y')
  const pick = fc.nat(100)
  const handlers = fc.constantFrom(
    ['ordered'],
    ['loose'],
    ['holding'],
    ['latest'],
    ['sink'],
    ['ordered', 'loose'],
    allNames,
    allNames.toReversed(),
  )
  const picks = fc.array(fc.tuple(fc.nat(19), fc.integer({ min: 0, max: 9 })), { minLength: 1, maxLength: 5 })
  const suspects = fc.integer({ min: 0, max: 2 }).map((n) => n === 0)
  const max = fc.integer({ min: 1, max: 4 })
  const kind = fc.constantFrom<Outcome['kind']>(
    'done',
    'done',
    'dead',
    'dead',
    'retry',
    'snooze',
    'expired',
    'unmatched',
  )
  const delayMs = fc.constantFrom(0, 10, 500)
  const paused = fc.constantFrom(...names, null)
  const effects = fc.record({
    do: fc.constant('settle with effects'),
    pick,
    key: fc.constantFrom(...stateKeys),
    isOutdated: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    isDeleted: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    itemKeys: fc.array(fc.constantFrom('k0', 'k1', null), { maxLength: 2 }),
  })
  const ids = fc.array(
    fc.nat(20).map((n) => `e${n}`),
    { minLength: 1, maxLength: 6 },
  )
  const filter = fc.oneof<fc.Arbitrary<NewReplay['filter']>[]>(
    fc.record({ ids }),
    fc.record({ status: fc.constantFrom<EventStatus>('done', 'dead', 'pending', 'unhandled', 'running') }),
    fc.record({ handler: fc.constantFrom(...allNames) }),
    fc.record({ ids, handler: fc.constantFrom(...allNames) }),
  )
  const replay = fc.record({ filter, newKeys: fc.boolean(), perSecond: fc.constant(null) })
  const onDead = fc.constantFrom('skip' as const, 'hold' as const)
  const changed = fc.record({ do: fc.constant('set onDead'), onDead })
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('accept'), picks }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('claim'), handlers, owner, max, suspects }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('settle'), pick, kind, delayMs }) },
    { weight: 4, arbitrary: effects },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('replay'), replay }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('cancel a replay', 'drop one'), pick }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('prune'), events: fc.integer({ min: 1, max: 20 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('drop open runs'), handler: fc.constantFrom(...allNames) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('register late'), route: fc.constantFrom(...lateRoutes) }) },
    { weight: 1, arbitrary: changed },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('release'), pick }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('repeat an old outcome'), pick }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('requeue one'), pick }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('requeue all', 'requeue all', 'drop all') }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('reap'), owner }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('advance'), ms: fc.constantFrom(1, 10, 300) }) },
    {
      weight: hasOwnClock ? 0 : 1,
      arbitrary: fc.record({ do: fc.constant('set the clock back'), ms: fc.constantFrom(1_500, 86_400_000) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pause'), handler: paused, paused: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('crash') }) },
  )
}

/** Makes random calls and compares the inbox with a simple model. */
export function describeWalk(harness: ConformanceHarness): void {
  test('random calls lead to the same runs as in the model, and all runs end', { timeout: 1_200_000 }, async () => {
    const steps = fc.array(anyStep(harness.hasOwnClock === true), {
      maxLength: 60,
      size: 'max',
    })
    const walk = async (taken: readonly Step[]) => {
      await using stage = await Stage.open(harness, routes)
      const walker = new Walker(stage)
      for (const step of taken) {
        await walker.take(step)
        await walker.letJobsEnd()
      }
      await walker.compare()
      await walker.drain()
      await walker.compare()
    }
    await fc.assert(fc.asyncProperty(steps, walk), { numRuns: harness.walks, timeout: 20_000 })
  })
}

class Walker {
  readonly #stage: Stage
  readonly #model = new Model(routes)
  /** The accepted body by event id. */
  readonly #bodies = new Map<string, number>()
  #items = 0
  /** Part of owner names: a reaped owner gets a new one, like a new process. */
  #generation = 0

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async take(step: Step): Promise<void> {
    const { inbox, clock } = this.#stage
    const model = this.#model
    switch (step.do) {
      case 'accept':
        return this.#accept(step.picks)
      case 'claim':
        return this.#claim({ ...step, owner: this.#nameOf(step.owner) })
      case 'settle': {
        const run = pickFrom(model.live(), step.pick)
        if (!run?.lease) return
        const { lease } = run.lease
        const retryAt = clock.now() + step.delayMs
        expect(await this.#stage.settle(lease, step.kind, retryAt)).toEqual(['applied'])
        return model.verdict(run, step.kind, retryAt)
      }
      case 'settle with effects':
        return this.#settleWithEffects(step)
      case 'replay': {
        const { handler } = step.replay.filter
        const starting = inbox.startReplay(step.replay)
        if (handler !== undefined && model.routes.every(({ name }) => name !== handler)) {
          return expect(starting).rejects.toMatchObject({ code: 'not_found' })
        }
        const started = await starting
        const expected = model.startReplay(step.replay)
        return expect(started).toMatchObject({ id: expected.id, lastSeq: model.events.length })
      }
      case 'cancel a replay': {
        const replay = pickFrom(model.replays, step.pick)
        if (!replay) return
        expect(await inbox.cancelReplay(replay.id)).toBe(replay.state === 'running')
        if (replay.state === 'running') model.cancelReplay(replay)
        return
      }
      case 'prune': {
        const receivedBefore = receivedAtOf(step.events)
        expect(await inbox.prune({ receivedBefore, maxBytes: null })).toEqual({
          events: model.prune(receivedBefore),
          quarantined: 0,
          isTooLarge: false,
        })
        return
      }
      case 'drop one': {
        const run = pickFrom(this.#dead(), step.pick)
        if (!run) return
        expect(await inbox.dropDead([run.runId], 'dropped')).toBe(1)
        return model.dropDead([run])
      }
      case 'drop all': {
        const dead = this.#dead()
        expect(await inbox.dropDead('all', 'dropped')).toBe(dead.length)
        return model.dropDead(dead)
      }
      case 'drop open runs': {
        const isKnown = model.routes.some(({ name }) => name === step.handler)
        const expected = isKnown ? model.dropOpen(step.handler) : null
        return expect(await inbox.discardPendingRuns(step.handler, 'dropped')).toBe(expected)
      }
      case 'register late':
        if (model.routes.includes(step.route)) return
        model.addHandler(step.route)
        await inbox.register(model.routes)
        return this.#letBackfillEnd(step.route.name)
      case 'set onDead':
        model.setOnDead('holding', step.onDead)
        await inbox.register(model.routes)
        return
      case 'release': {
        const run = pickFrom(model.live(), step.pick)
        if (!run?.lease) return
        await this.#stage.release(run.lease.lease)
        return model.release(run)
      }
      case 'repeat an old outcome': {
        const late = pickFrom(model.ended, step.pick)
        if (!late) return
        expect(await this.#stage.done(late)).toEqual(['stale'])
        return this.#stage.release(late)
      }
      case 'reap': {
        const owner = this.#nameOf(step.owner)
        this.#generation += 1
        const lost = model.live().filter(({ lease }) => lease?.owner === owner)
        const { runs, dead } = await inbox.reap(owner)
        expect(runs).toBe(lost.length)
        expect(model.crash(owner)).toBe(lost.length)
        const expected = lost.filter(({ state }) => state === 'dead' || state === 'held')
        const named = expected.map(({ eventId, route, attempt }) => `${eventId} ${route.name} ${attempt}`)
        const reported = dead.map(({ eventId, handler, attempt }) => `${eventId} ${handler} ${attempt}`)
        expect(reported.toSorted()).toEqual(named.toSorted())
        return
      }
      case 'requeue one': {
        const run = pickFrom(this.#dead(), step.pick)
        if (!run) return
        expect(await inbox.requeueDead([run.runId])).toBe(1)
        return model.requeue([run])
      }
      case 'requeue all': {
        const dead = this.#dead()
        expect(await inbox.requeueDead('all')).toBe(dead.length)
        return model.requeue(dead)
      }
      case 'pause':
        expect(await inbox.setPaused(step.handler, step.paused)).toBe(true)
        return model.pause(step.handler, step.paused)
      case 'advance':
        return clock.advance(step.ms)
      case 'set the clock back':
        // Timers of the test clock are not set back.
        if (model.runningReplays().length > 0) return
        // The next call detects the change.
        await inbox.accept([])
        await clock.advance(-step.ms)
        await inbox.accept([])
        return model.shift(step.ms)
      case 'crash':
        await this.#stage.crash(model.routes)
        this.#generation += 1
        model.crash(null)
        return
    }
  }

  /** Waits until replays have created their runs, and replays without open runs have ended. */
  async letJobsEnd(): Promise<void> {
    const { inbox, clock } = this.#stage
    const isBehind = async ({ id, state, runs }: ModelReplay) => {
      const found = await inbox.replay(id)
      return found?.state !== state || found.runs !== runs || found.scannedSeq < found.lastSeq
    }
    const running = this.#model.runningReplays()
    this.#model.endReplays()
    for (let n = 0; n < maxJobSteps; n += 1) {
      const behind = await Promise.all(running.map(isBehind))
      if (!behind.includes(true)) return
      await clock.advance(jobStepMs)
    }
  }

  async #letBackfillEnd(handler: string): Promise<void> {
    const expected = JSON.stringify(this.#countsOf(handler))
    for (let n = 0; n < maxJobSteps; n += 1) {
      if (JSON.stringify(await this.#stage.stats(handler)) === expected) return
      await this.#stage.clock.advance(jobStepMs)
    }
  }

  /** Compares every run, every status, every state and all counts with the model. */
  async compare(): Promise<void> {
    const { inbox } = this.#stage
    const { runs, events, routes: registered, replays, superseded } = this.#model
    const { data: listed } = await inbox.events({ limit: 1_000 })
    expect(listed.map(({ id, status }) => [id, status]).toReversed()).toEqual(
      events.map((event) => [event.id, this.#model.statusOf(event)]),
    )
    for (const [status, those] of Map.groupBy(listed, (event) => event.status)) {
      expect((await inbox.events({ limit: 1_000, status })).data, status).toEqual(those)
    }
    for (const event of events) {
      const expected = runs.filter(({ eventId }) => eventId === event.id)
      const detail = await this.#stage.detail(event.id)
      const shown = expected.map(({ route, generation, state, attempt, crashed }) =>
        [route.name, generation, state, attempt, crashed].join(' '),
      )
      const found = detail.runs.map(({ handler, replay, state, attempt, crashed }) =>
        [handler, replay ?? 0, state, attempt, crashed].join(' '),
      )
      expect(found.toSorted(), event.id).toEqual(shown.toSorted())
      expect(detail.status, event.id).toBe(this.#model.statusOf(event))
      expect(detail.raw.length === 0, `${event.id} is pruned`).toBe(event.finalStatus !== null)
    }
    const stats = await inbox.stats()
    for (const { name } of registered) {
      expect(await this.#stage.stats(name), name).toEqual(this.#countsOf(name))
      const row = stats.handlers.find(({ handler }) => handler === name)
      expect(row?.superseded ?? 0).toBe(superseded.filter((handler) => handler === name).length)
      const entries = await inbox.readState(name, { prefix: '', after: null, limit: 9 })
      const versions = [...(this.#model.states.get(name) ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1))
      expect(entries.map(({ key, version }) => [key, version])).toEqual(versions)
    }
    expect(stats).toMatchObject({ lastSeq: events.length, missingSeqs: 0 })
    const records = (await inbox.replays({ limit: 100 })).data.toReversed()
    expect(records).toMatchObject(replays.map((replay) => ({ ...replay, openRuns: this.#model.openOf(replay) })))
  }

  /** Executes runs until none is open. */
  async drain(): Promise<void> {
    const { clock } = this.#stage
    const model = this.#model
    for (const run of model.live()) {
      if (run.lease) expect(await this.#stage.done(run.lease.lease)).toEqual(['applied'])
      model.verdict(run, 'done', 0)
    }
    for (const handler of [...routes.map(({ name }) => name), null]) await this.#stage.inbox.setPaused(handler, false)
    model.resumeAll()
    const dead = this.#dead()
    expect(await this.#stage.inbox.requeueDead('all')).toBe(dead.length)
    model.requeue(dead)
    await clock.advance(1_000)
    const handlers = allNames
    for (let open = this.#open(); open > 0; open = this.#open()) {
      for (const suspects of [false, true]) {
        if (model.claimable(handlers, suspects, clock.now()).length === 0) continue
        await this.#claim({ handlers, suspects, owner: 'last', max: 50 })
        await this.#stage.done(...model.live().flatMap(({ lease }) => lease?.lease ?? []))
        for (const run of model.live()) model.verdict(run, 'done', 0)
      }
      expect(this.#open(), 'runs are stuck').toBeLessThan(open)
    }
    await this.letJobsEnd()
    expect(model.runningReplays()).toEqual([])
  }

  async #accept(picks: readonly (readonly [id: number, body: number])[]): Promise<void> {
    const expected = picks.map(([n, pickedBody]) => {
      const id = `e${n}`
      // One in ten deliveries has another body.
      const body = pickedBody === 0 ? 0 : 1
      const known = this.#bodies.get(id)
      if (known !== undefined) {
        const isPruned = this.#model.events.some((event) => event.id === id && event.finalStatus !== null)
        return isPruned || known === body ? 'duplicate' : 'conflict'
      }
      this.#bodies.set(id, body)
      this.#model.accept({ id, key: `k${n % 3}`, receivedAt: receivedAtOf(this.#bodies.size) })
      return 'accepted'
    })
    const batch = picks.map(([n, body]) => {
      const place = [...this.#bodies.keys()].indexOf(`e${n}`) + 1
      const raw = bytes(body === 0 ? 'another' : 'usual')
      return anEvent(`e${n}`, { key: `k${n % 3}`, raw, receivedAt: receivedAtOf(place) })
    })
    expect(await this.#stage.inbox.accept(batch)).toEqual(expected)
  }

  async #claim({ handlers, owner, max, suspects }: ClaimRequest): Promise<void> {
    const claimable = this.#model.claimable(handlers, suspects, this.#stage.clock.now())
    if (claimable.length === 0) return this.#expectWaiting(handlers, suspects)
    const leases = await this.#stage.claim({ handlers, owner, max, suspects })
    expect(leases.length).toBeGreaterThanOrEqual(1)
    expect(leases.length).toBeLessThanOrEqual(max)
    this.#model.start(leases, owner, claimable)
  }

  async #settleWithEffects(step: Extract<Step, { do: 'settle with effects' }>): Promise<void> {
    const model = this.#model
    const { key, isOutdated, isDeleted } = step
    const run = pickFrom(model.live(), step.pick)
    if (!run?.lease) return
    const { lease } = run.lease
    const now = model.version(run.route.name, key)
    const items = step.itemKeys.map((itemKey) => {
      this.#items += 1
      return { sink: 'sink', key: itemKey, payload: '1', idempotencyKey: `i${this.#items}` }
    })
    const read = isOutdated ? (now ?? 0) + 1 : now
    const found = read === undefined ? [] : [{ key, version: read }]
    const effects = {
      reads: [{ query: { key }, found }],
      writes: [{ key, value: isDeleted ? null : '1', expiresAt: null }],
      items,
    }
    const times = { startedAt: this.#stage.clock.now(), endedAt: this.#stage.clock.now() }
    const { runId, token } = lease
    const [result] = await this.#stage.inbox.settle([{ runId, token, ...times, kind: 'done', effects }])
    expect(result).toBe(isOutdated ? 'conflict' : 'applied')
    if (isOutdated) return model.release(run)
    model.verdict(run, 'done', 0)
    model.takeEffect(run, lease, key, isDeleted, items)
  }

  async #expectWaiting(handlers: readonly string[], suspects: boolean): Promise<void> {
    const owner = this.#nameOf('waiting')
    this.#generation += 1
    const claim = this.#stage.claim({ handlers, owner, suspects })
    expect(await this.#stage.isWaiting(claim), 'a claim waits while no run is claimable').toBe(true)
    await this.#stage.inbox.reap(owner)
    expect(await claim).toEqual([])
  }

  #nameOf(owner: string): string {
    return `${owner} ${this.#generation}`
  }

  #countsOf(handler: string): typeof noRuns {
    const counts = { ...noRuns }
    const own = this.#model.runs.filter(({ route }) => route.name === handler)
    for (const { state } of own) if (isCounted(state)) counts[state] += 1
    return counts
  }

  #dead(): ModelRun[] {
    return this.#model.runs.filter(({ state }) => state === 'dead' || state === 'held')
  }

  #open(): number {
    return this.#model.runs.filter(({ state }) => state !== 'dead' && isCounted(state)).length
  }
}

/** Times in accept order, because prune stops at the first event that is too young. */
function receivedAtOf(place: number): number {
  return Date.UTC(2026, 0, 1) + place
}

function isCounted(state: string): state is keyof typeof noRuns {
  return Object.hasOwn(noRuns, state)
}

function pickFrom<T>(items: readonly T[], pick: number): T | undefined {
  return items[pick % items.length]
}
