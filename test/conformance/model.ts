import { expect } from 'vitest'
import {
  type EventStatus,
  type HandlerRoute,
  type Lease,
  type NewItem,
  type NewReplay,
  type Outcome,
  type RunState,
  maxCrashes,
  versionOf,
} from '../../src/inbox/port.ts'
import { deriveEventStatus } from '../../src/inbox/status.ts'

export interface ModelEvent {
  readonly id: string
  readonly key: string
  readonly receivedAt: number
  /** Null unless it was pruned. */
  finalStatus: EventStatus | null
}

export interface ModelRun {
  readonly eventId: string
  readonly key: string | null
  readonly route: HandlerRoute
  /** Id of its replay; 0 for a live run. */
  readonly generation: number
  /** Idempotency key of an outbox item; null for other runs. */
  readonly item: string | null
  /** 0 until its first lease. */
  runId: number
  state: RunState
  attempt: number
  failed: number
  crashed: number
  dueAt: number
  wasStarted: boolean
  lease: { readonly lease: Lease; readonly owner: string; readonly wasSuspect: boolean } | null
}

export interface ModelReplay extends NewReplay {
  readonly id: number
  state: 'running' | 'done' | 'cancelled'
  events: number
  runs: number
  skipped: number
}

/** The expected behaviour of an inbox, with plain lists. */
export class Model {
  /** Events in accept order. */
  readonly events: ModelEvent[] = []
  /** Runs in the order of their creation. */
  runs: ModelRun[] = []
  readonly replays: ModelReplay[] = []
  /** Versions of the state entries by handler and key. */
  readonly states = new Map<string, Map<string, number>>()
  /** The handler of each superseded run. */
  readonly superseded: string[] = []
  /** Ended leases. Their outcomes must stay stale. */
  readonly ended: Lease[] = []
  routes: readonly HandlerRoute[]
  readonly #paused = new Set<string | null>()
  /** Run id and token of every lease so far. */
  readonly #fences = new Set<string>()

  constructor(routes: readonly HandlerRoute[]) {
    this.routes = routes
  }

  accept(event: Omit<ModelEvent, 'finalStatus'>): void {
    this.events.push({ ...event, finalStatus: null })
    for (const route of this.#handlers()) this.#create(event, { route, generation: 0 })
  }

  /** Adds a handler with a backfill of all stored events. */
  addHandler(route: HandlerRoute): void {
    this.routes = [...this.routes, route]
    for (const event of this.events) if (!event.finalStatus) this.#create(event, { route, generation: 0 })
  }

  setOnDead(handler: string, onDead: 'skip' | 'hold'): void {
    this.routes = this.routes.map((route) => (route.name === handler ? { ...route, onDead } : route))
  }

  startReplay(replay: NewReplay): ModelReplay {
    const { ids, status, handler } = replay.filter
    const started = {
      ...replay,
      id: this.replays.length + 1,
      state: 'running' as const,
      events: 0,
      runs: 0,
      skipped: 0,
    }
    this.replays.push(started)
    const routes = this.#handlers().filter(({ name }) => handler === undefined || handler === name)
    for (const event of this.events) {
      if (routes.length === 0) continue
      if (ids && !ids.includes(event.id)) continue
      if (status && this.statusOf(event) !== status) continue
      started.events += 1
      if (event.finalStatus) started.skipped += 1
      for (const route of routes) {
        if (event.finalStatus) continue
        this.#create(event, { route, generation: started.id })
        started.runs += 1
      }
    }
    return started
  }

  /** Ends replays without open runs. */
  endReplays(): void {
    for (const replay of this.runningReplays()) if (this.openOf(replay) === 0) replay.state = 'done'
  }

  cancelReplay(replay: ModelReplay): void {
    replay.state = 'cancelled'
    const waiting = this.runs.filter(({ generation, item }) => generation === replay.id && item === null)
    this.#drop(waiting.filter((run) => isIdle(run) || run.state === 'suspect'))
  }

  runningReplays(): ModelReplay[] {
    return this.replays.filter(({ state }) => state === 'running')
  }

  openOf({ id }: ModelReplay): number {
    return this.runs.filter((run) => run.generation === id && (isActive(run) || isIdle(run)) && run.state !== 'held')
      .length
  }

  statusOf({ id, finalStatus }: ModelEvent): EventStatus {
    if (finalStatus) return finalStatus
    const runs = this.runs.filter(({ eventId }) => eventId === id)
    return deriveEventStatus(runs.map(({ generation, ...run }) => ({ ...run, replay: generation || null })))
  }

  /** Returns how many events were pruned. */
  prune(receivedBefore: number): number {
    const old = this.events.filter((event) => !event.finalStatus && event.receivedAt < receivedBefore)
    const pruned = old.filter(({ id }) => this.runs.every((run) => run.eventId !== id || hasEnded(run)))
    for (const event of pruned) event.finalStatus = this.statusOf(event)
    this.runs = this.runs.filter(({ eventId }) => pruned.every(({ id }) => id !== eventId))
    return pruned.length
  }

  pause(handler: string | null, paused: boolean): void {
    if (paused) this.#paused.add(handler)
    else this.#paused.delete(handler)
  }

  resumeAll(): void {
    this.#paused.clear()
  }

  /** Moves due times back with the clock. */
  shift(ms: number): void {
    for (const run of this.runs) run.dueAt -= ms
  }

  /** Runs that a claim may return now. */
  claimable(handlers: readonly string[], suspects: boolean, now: number): ModelRun[] {
    const state: RunState = suspects ? 'suspect' : 'ready'
    if (this.#paused.has(null)) return []
    const active = handlers.filter((name) => !this.#paused.has(name))
    return this.runs.filter((run) => active.includes(run.route.name) && run.state === state && run.dueAt <= now)
  }

  /** Starts the leases of a claim, and checks that they were allowed. */
  start(leases: readonly Lease[], owner: string, claimable: readonly ModelRun[]): void {
    const started = leases.map((lease) => this.#start(lease, owner, claimable))
    for (const run of started) {
      const first = claimable.filter(({ route, generation }) => {
        return route.name === run?.route.name && generation < run.generation
      })
      for (const other of first) expect(started, 'live runs and older replays go first').toContain(other)
    }
  }

  #start(lease: Lease, owner: string, claimable: readonly ModelRun[]): ModelRun | undefined {
    const run = claimable.find(({ eventId, route, generation, item }) => {
      const isSame = eventId === lease.event.id && route.name === lease.handler
      return isSame && generation === (lease.replay?.id ?? 0) && item === (lease.item?.idempotencyKey ?? null)
    })
    expect(run?.state, `${lease.event.id} can be claimed`).toMatch(/^(ready|suspect)$/)
    if (!run) return undefined
    const others = this.#queueOf(run).filter((other) => other !== run)
    expect(
      others.filter(({ lease: live }) => live),
      'live leases of the key',
    ).toEqual([])
    if (!run.wasStarted) {
      const older = others.filter((other) => this.runs.indexOf(other) < this.runs.indexOf(run))
      const skipped = older.filter((other) => !other.wasStarted && !hasEnded(other))
      expect(skipped, `older runs that were not started before ${run.eventId}`).toEqual([])
    }
    const fence = `${lease.runId} ${lease.token}`
    expect(this.#fences.has(fence), 'the token is new for this run').toBe(false)
    this.#fences.add(fence)
    run.runId = lease.runId
    run.lease = { lease, owner, wasSuspect: run.state === 'suspect' }
    run.state = 'running'
    run.wasStarted = true
    run.attempt += 1
    expect(lease).toMatchObject({ attempt: run.attempt, failed: run.failed, crashed: run.crashed, key: run.key })
    expect(lease.replay?.newKeys).toBe(this.replays[run.generation - 1]?.newKeys)
    return run
  }

  verdict(run: ModelRun, kind: Outcome['kind'], retryAt: number): void {
    this.#end(run)
    run.crashed = 0
    if (kind === 'retry') run.failed += 1
    else if (kind !== 'done' && kind !== 'dead') run.attempt -= 1
    if (kind !== 'retry' && kind !== 'snooze') return this.#finish(run, kind)
    run.dueAt = retryAt
    this.#makeClaimable(run, 'ready')
  }

  version(handler: string, key: string): number | undefined {
    return this.states.get(handler)?.get(key)
  }

  /** Applies the effects of a completed run. */
  takeEffect(run: ModelRun, lease: Lease, key: string, isDeleted: boolean, items: readonly NewItem[]): void {
    const entries = this.states.get(run.route.name) ?? new Map<string, number>()
    this.states.set(run.route.name, entries)
    if (isDeleted) entries.delete(key)
    else entries.set(key, versionOf(lease))
    for (const { sink, key: itemKey, idempotencyKey } of items) {
      const route = this.routes.find(({ name }) => name === sink)!
      const { eventId, generation } = run
      this.#create({ id: eventId, key: itemKey }, { route, generation, item: idempotencyKey })
    }
  }

  release(run: ModelRun): void {
    const wasSuspect = run.lease?.wasSuspect
    this.#end(run)
    run.attempt -= 1
    this.#makeClaimable(run, wasSuspect ? 'suspect' : 'ready')
  }

  /** Ends the leases of the owner (null: all) with a crash. Returns how many. */
  crash(owner: string | null): number {
    const lost = this.live().filter(({ lease }) => owner === null || lease?.owner === owner)
    for (const run of lost) {
      this.#end(run)
      run.crashed += 1
      if (run.crashed >= maxCrashes && !this.#isCancelled(run)) this.#finish(run, 'dead')
      else this.#again(run, 'suspect')
    }
    return lost.length
  }

  requeue(runs: readonly ModelRun[]): void {
    for (const run of runs) {
      Object.assign(run, { attempt: 0, failed: 0, crashed: 0, dueAt: 0 })
      if (run.state === 'held') {
        run.state = 'waiting'
        this.#promote(run)
      } else this.#enter(run)
    }
  }

  dropDead(runs: readonly ModelRun[]): void {
    this.#drop(runs)
  }

  /** Returns how many runs were dropped. */
  dropOpen(handler: string): number {
    const open = this.runs.filter((run) => run.route.name === handler && (isActive(run) || isIdle(run)))
    const idle = open.filter(({ state }) => state !== 'running')
    this.#drop(idle)
    return idle.length
  }

  live(): ModelRun[] {
    return this.runs.filter(({ lease }) => lease)
  }

  #handlers(): readonly HandlerRoute[] {
    return this.routes.filter(({ types }) => types.length > 0)
  }

  #create(
    { id, key }: { readonly id: string; readonly key: string | null },
    { item = null, ...given }: Pick<ModelRun, 'route' | 'generation'> & { readonly item?: string | null },
  ): void {
    const fresh = { runId: 0, attempt: 0, failed: 0, crashed: 0, dueAt: 0, wasStarted: false, lease: null }
    const runKey = given.route.order === 'key' ? key : null
    const run: ModelRun = { ...given, eventId: id, key: runKey, item, state: 'done', ...fresh }
    if (isLatestOnly(run)) for (const older of this.#queueOf(run)) if (isIdle(older)) this.#supersede(older)
    this.runs.push(run)
    this.#enter(run)
  }

  /** Makes a run claimable again, unless a newer run supersedes it. */
  #makeClaimable(run: ModelRun, state: 'ready' | 'suspect'): void {
    const queue = this.#queueOf(run)
    const isOutdated = queue.slice(queue.indexOf(run) + 1).some((other) => other.state === 'waiting')
    if (isLatestOnly(run) && isOutdated) {
      run.crashed = 0
      this.#finish(run, 'superseded')
    } else this.#again(run, state)
  }

  /** Makes a run claimable again, unless its replay was cancelled. */
  #again(run: ModelRun, state: 'ready' | 'suspect'): void {
    if (this.#isCancelled(run)) this.#drop([run])
    else run.state = state
  }

  #isCancelled({ generation, item }: ModelRun): boolean {
    return item === null && this.replays[generation - 1]?.state === 'cancelled'
  }

  #enter(run: ModelRun): void {
    run.state = this.#queueOf(run).some(isActive) ? 'waiting' : 'ready'
  }

  #holds({ route }: ModelRun): boolean {
    return this.routes.some(({ name, onDead }) => name === route.name && onDead === 'hold')
  }

  #supersede(run: ModelRun): void {
    run.state = 'superseded'
    this.superseded.push(run.route.name)
  }

  #finish(run: ModelRun, state: 'done' | 'dead' | 'expired' | 'unmatched' | 'superseded'): void {
    if (state === 'superseded') this.#supersede(run)
    else run.state = state === 'dead' && run.key !== null && this.#holds(run) ? 'held' : state
    this.#promote(run)
  }

  #drop(runs: readonly ModelRun[]): void {
    for (const run of runs) Object.assign(run, { state: 'dropped', crashed: 0 })
    for (const run of runs) this.#promote(run)
  }

  #promote(run: ModelRun): void {
    const queue = this.#queueOf(run)
    const next = run.key === null ? run : queue.find(({ state }) => state === 'waiting')
    if (next?.state === 'waiting' && !queue.some(isActive)) next.state = 'ready'
  }

  #end(run: ModelRun): void {
    if (run.lease) this.ended.push(run.lease.lease)
    run.lease = null
  }

  /** Runs of the same handler, key and generation. They run in order. */
  #queueOf(run: ModelRun): ModelRun[] {
    const { route, key, generation } = run
    if (key === null) return []
    return this.runs.filter((other) => {
      return other.route.name === route.name && other.generation === generation && other.key === key
    })
  }
}

function isLatestOnly({ route, generation }: ModelRun): boolean {
  return generation === 0 && route.latestOnly === true
}

function isActive({ state }: ModelRun): boolean {
  return state === 'ready' || state === 'suspect' || state === 'running' || state === 'held'
}

function isIdle({ state }: ModelRun): boolean {
  return state === 'waiting' || state === 'ready'
}

function hasEnded(run: ModelRun): boolean {
  return !isActive(run) && !isIdle(run) && run.state !== 'dead'
}
