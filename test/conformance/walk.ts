import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClaimRequest, HandlerRoute, Outcome } from '../../src/inbox/port.ts'
import { deriveEventStatus } from '../../src/inbox/status.ts'
import { Model, type ModelRun } from './model.ts'
import { type ConformanceHarness, Stage, anEvent, bytes, loose, noRuns, ordered } from './stage.ts'

const routes: readonly HandlerRoute[] = [
  ordered,
  loose,
  { ...ordered, name: 'holding', onDead: 'hold' },
  { ...ordered, name: 'latest', latestOnly: true },
]

const names = routes.map(({ name }) => name)

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
  | { readonly do: 'release' | 'repeat an old report' | 'requeue one'; readonly pick: number }
  | { readonly do: 'reap'; readonly owner: string }
  | { readonly do: 'pause'; readonly handler: string | null; readonly paused: boolean }
  | { readonly do: 'advance' | 'set the clock back'; readonly ms: number }
  | { readonly do: 'requeue all' | 'crash' }

function anyStep(canCrash: boolean): fc.Arbitrary<Step> {
  const owner = fc.constantFrom('x', 'y')
  const pick = fc.nat(100)
  const handlers = fc.constantFrom(
    ['ordered'],
    ['loose'],
    ['holding'],
    ['latest'],
    ['ordered', 'loose'],
    names,
    names.toReversed(),
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
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('accept'), picks }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('claim'), handlers, owner, max, suspects }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('settle'), pick, kind, delayMs }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('release'), pick }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('repeat an old report'), pick }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('requeue one'), pick }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('requeue all') }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('reap'), owner }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('advance'), ms: fc.constantFrom(1, 10, 300) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('set the clock back'), ms: fc.constantFrom(1_500, 86_400_000) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pause'), handler: paused, paused: fc.boolean() }) },
    { weight: canCrash ? 1 : 0, arbitrary: fc.record({ do: fc.constant('crash') }) },
  )
}

/** Walks at random through what callers may do, next to a model that is too simple to be wrong. */
export function describeWalk(harness: ConformanceHarness): void {
  test(
    'whatever happens, every run is where the model says, and all end done or dead',
    { timeout: 300_000 },
    async () => {
      const steps = fc.array(anyStep(harness.crash !== undefined), { maxLength: 60, size: 'max' })
      const walk = async (taken: readonly Step[]) => {
        await using stage = await Stage.open(harness, routes)
        const walker = new Walker(stage)
        for (const step of taken) await walker.take(step)
        await walker.compare()
        await walker.drain()
        await walker.compare()
      }
      await fc.assert(fc.asyncProperty(steps, walk), { numRuns: 200, timeout: 10_000 })
    },
  )
}

class Walker {
  readonly #stage: Stage
  readonly #model = new Model()
  /** By event id: the body that was accepted first. */
  readonly #bodies = new Map<string, number>()
  /** A reaped owner gets a new name, as a new process would. */
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
      case 'release': {
        const run = pickFrom(model.live(), step.pick)
        if (!run?.lease) return
        await this.#stage.release(run.lease.lease)
        return model.release(run)
      }
      case 'repeat an old report': {
        const late = pickFrom(model.ended, step.pick)
        if (!late) return
        expect(await this.#stage.done(late)).toEqual(['stale'])
        return this.#stage.release(late)
      }
      case 'reap': {
        const owner = this.#nameOf(step.owner)
        this.#generation += 1
        const lost = model.live().filter(({ lease }) => lease?.owner === owner).length
        expect(await inbox.reap(owner)).toBe(lost)
        expect(model.crash(owner)).toBe(lost)
        return
      }
      case 'requeue one': {
        const run = pickFrom(this.#dead(), step.pick)
        if (!run) return
        const { runId } = await this.#stage.run(run.eventId, run.route.name)
        expect(await inbox.requeueDead([runId])).toBe(1)
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
        // Seen by what is asked next, as by any traffic.
        await inbox.accept([])
        await clock.advance(-step.ms)
        await inbox.accept([])
        return model.shift(step.ms)
      case 'crash':
        await this.#stage.crash(routes)
        this.#generation += 1
        model.crash(null)
        return
    }
  }

  /** Compares every run, every status and all counts with the model. */
  async compare(): Promise<void> {
    const { runs } = this.#model
    for (const id of this.#bodies.keys()) {
      const expected = runs.filter(({ eventId }) => eventId === id)
      const detail = await this.#stage.detail(id)
      const shown = (run: ModelRun) => [run.route.name, run.state, run.attempt, run.crashed].join(' ')
      const found = detail.runs.map((run) => [run.handler, run.state, run.attempt, run.crashed].join(' '))
      expect(found.toSorted(), id).toEqual(expected.map(shown).toSorted())
      expect(detail.status, id).toBe(deriveEventStatus(expected))
    }
    for (const { name } of routes) {
      const counts = { ...noRuns }
      const own = runs.filter(({ route }) => route.name === name)
      for (const { state } of own) if (isCounted(state)) counts[state] += 1
      expect(await this.#stage.stats(name)).toEqual(counts)
      const superseded = own.filter(({ state }) => state === 'superseded').length
      const row = (await this.#stage.inbox.stats()).handlers.find(({ handler }) => handler === name)
      expect(row?.superseded ?? 0).toBe(superseded)
    }
    expect(await this.#stage.inbox.stats()).toMatchObject({ lastSeq: this.#bodies.size, missingSeqs: 0 })
  }

  /** Works until no run is open. */
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
    const handlers = routes.map(({ name }) => name)
    for (let open = this.#open(); open > 0; open = this.#open()) {
      for (const suspects of [false, true]) {
        if (model.claimable(handlers, suspects, clock.now()).length === 0) continue
        await this.#claim({ handlers, suspects, owner: 'last', max: 50 })
        await this.#stage.done(...model.live().flatMap(({ lease }) => lease?.lease ?? []))
        for (const run of model.live()) model.verdict(run, 'done', 0)
      }
      expect(this.#open(), 'runs are stuck').toBeLessThan(open)
    }
  }

  async #accept(picks: readonly (readonly [id: number, body: number])[]): Promise<void> {
    const expected = picks.map(([n, pickedBody]) => {
      const id = `e${n}`
      // One body in ten is another one.
      const body = pickedBody === 0 ? 0 : 1
      const known = this.#bodies.get(id)
      if (known !== undefined) return known === body ? 'duplicate' : 'conflict'
      this.#bodies.set(id, body)
      this.#model.accept(this.#bodies.size, id, `k${n % 3}`, routes)
      return 'accepted'
    })
    const receivedAt = this.#stage.clock.now()
    const batch = picks.map(([n, body]) =>
      anEvent(`e${n}`, { key: `k${n % 3}`, raw: bytes(body === 0 ? 'another' : 'usual'), receivedAt }),
    )
    expect(await this.#stage.inbox.accept(batch)).toEqual(expected)
  }

  async #claim({ handlers, owner, max, suspects }: ClaimRequest): Promise<void> {
    const claimable = this.#model.claimable(handlers, suspects, this.#stage.clock.now())
    if (claimable.length === 0) return this.#claimInVain(handlers, suspects)
    const leases = await this.#stage.claim({ handlers, owner, max, suspects })
    expect(leases.length).toBeGreaterThanOrEqual(1)
    expect(leases.length).toBeLessThanOrEqual(max)
    for (const lease of leases) this.#model.start(lease, owner, claimable)
  }

  async #claimInVain(handlers: readonly string[], suspects: boolean): Promise<void> {
    const owner = this.#nameOf('in vain')
    this.#generation += 1
    const claim = this.#stage.claim({ handlers, owner, suspects })
    expect(await this.#stage.isWaiting(claim), 'a claim waits when nothing can be claimed').toBe(true)
    await this.#stage.inbox.reap(owner)
    expect(await claim).toEqual([])
  }

  #nameOf(owner: string): string {
    return `${owner} ${this.#generation}`
  }

  #dead(): ModelRun[] {
    return this.#model.runs.filter(({ state }) => state === 'dead' || state === 'held')
  }

  #open(): number {
    return this.#model.runs.filter(({ state }) => state !== 'dead' && isCounted(state)).length
  }
}

function isCounted(state: string): state is keyof typeof noRuns {
  return Object.hasOwn(noRuns, state)
}

function pickFrom<T>(items: readonly T[], pick: number): T | undefined {
  return items[pick % items.length]
}
