import { expect } from 'vitest'
import { type HandlerRoute, type Lease, type Outcome, type RunState, maxCrashes } from '../../src/inbox/port.ts'

export interface ModelRun {
  readonly seq: number
  readonly eventId: string
  readonly key: string
  readonly route: HandlerRoute
  state: RunState
  attempt: number
  failed: number
  crashed: number
  dueAt: number
  wasStarted: boolean
  lease: { readonly lease: Lease; readonly owner: string; readonly wasSuspect: boolean } | null
}

/** What an inbox should do, in the plainest words: lists that are searched. */
export class Model {
  readonly runs: ModelRun[] = []
  readonly #paused = new Set<string | null>()
  /** Run id and token of every lease that was given. */
  readonly #given = new Set<string>()
  /** Leases that ended, each of which must be stale for ever. */
  readonly ended: Lease[] = []

  accept(seq: number, eventId: string, key: string, routes: readonly HandlerRoute[]): void {
    for (const route of routes) {
      const fresh = { attempt: 0, failed: 0, crashed: 0, dueAt: 0, wasStarted: false, lease: null }
      const run: ModelRun = { seq, eventId, key, route, state: 'done', ...fresh }
      if (route.latestOnly) {
        for (const older of this.#lane(run)) if (isIdle(older)) older.state = 'superseded'
      }
      this.runs.push(run)
      this.#enter(run)
    }
  }

  pause(handler: string | null, paused: boolean): void {
    if (paused) this.#paused.add(handler)
    else this.#paused.delete(handler)
  }

  resumeAll(): void {
    this.#paused.clear()
  }

  /** The clock was set back: what is due goes back with it. */
  shift(ms: number): void {
    for (const run of this.runs) run.dueAt -= ms
  }

  /** What a claim may get now. */
  claimable(handlers: readonly string[], suspects: boolean, now: number): ModelRun[] {
    const state: RunState = suspects ? 'suspect' : 'ready'
    if (this.#paused.has(null)) return []
    const active = handlers.filter((name) => !this.#paused.has(name))
    return this.runs.filter((run) => active.includes(run.route.name) && run.state === state && run.dueAt <= now)
  }

  /** Takes note of a lease, and checks that the inbox was right to give it. */
  start(lease: Lease, owner: string, claimable: readonly ModelRun[]): void {
    const run = claimable.find(({ eventId, route }) => eventId === lease.event.id && route.name === lease.handler)
    expect(run?.state, `${lease.event.id} can be claimed`).toMatch(/^(ready|suspect)$/)
    if (!run) return
    const lane = this.#lane(run)
    if (run.route.order === 'key') {
      expect(
        lane.filter(({ lease: live }) => live),
        'live leases of the key',
      ).toEqual([])
      if (!run.wasStarted) {
        const older = lane.filter((other) => other.seq < run.seq && !other.wasStarted && other.state !== 'superseded')
        expect(older, `older runs that were not started before ${run.eventId}`).toEqual([])
      }
    }
    const fence = `${lease.runId} ${lease.token}`
    expect(this.#given.has(fence), 'the token was given for this run before').toBe(false)
    this.#given.add(fence)
    run.lease = { lease, owner, wasSuspect: run.state === 'suspect' }
    run.state = 'running'
    run.wasStarted = true
    run.attempt += 1
    expect(lease).toMatchObject({ attempt: run.attempt, failed: run.failed, crashed: run.crashed })
  }

  verdict(run: ModelRun, kind: Outcome['kind'], retryAt: number): void {
    this.#end(run)
    run.crashed = 0
    if (kind === 'retry') run.failed += 1
    else if (kind !== 'done' && kind !== 'dead') run.attempt -= 1
    if (kind !== 'retry' && kind !== 'snooze') return this.#finish(run, kind)
    run.dueAt = retryAt
    const isOutdated = run.route.latestOnly && this.#lane(run).some(({ state }) => state === 'waiting')
    if (isOutdated) this.#finish(run, 'superseded')
    else run.state = 'ready'
  }

  release(run: ModelRun): void {
    const wasSuspect = run.lease?.wasSuspect
    this.#end(run)
    run.attempt -= 1
    run.state = wasSuspect ? 'suspect' : 'ready'
  }

  /** The leases of the owner, or all, end with a crash. Gives how many. */
  crash(owner: string | null): number {
    const lost = this.live().filter(({ lease }) => owner === null || lease?.owner === owner)
    for (const run of lost) {
      this.#end(run)
      run.crashed += 1
      if (run.crashed >= maxCrashes) this.#finish(run, 'dead')
      else run.state = 'suspect'
    }
    return lost.length
  }

  requeue(runs: readonly ModelRun[]): void {
    for (const run of runs) {
      Object.assign(run, { attempt: 0, failed: 0, crashed: 0, dueAt: 0 })
      if (run.state === 'held') run.state = 'ready'
      else this.#enter(run)
    }
  }

  live(): ModelRun[] {
    return this.runs.filter(({ lease }) => lease)
  }

  #enter(run: ModelRun): void {
    run.state = run.route.order === 'key' && this.#lane(run).some(isActive) ? 'waiting' : 'ready'
  }

  #finish(run: ModelRun, state: 'done' | 'dead' | 'expired' | 'unmatched' | 'superseded'): void {
    run.state = state === 'dead' && run.route.onDead === 'hold' ? 'held' : state
    const lane = this.#lane(run)
    const next = lane.find((candidate) => candidate.state === 'waiting')
    if (next && !lane.some(isActive)) next.state = 'ready'
  }

  #end(run: ModelRun): void {
    if (run.lease) this.ended.push(run.lease.lease)
    run.lease = null
  }

  #lane(run: ModelRun): ModelRun[] {
    return this.runs.filter(({ route, key }) => route.name === run.route.name && key === run.key)
  }
}

function isActive({ state }: ModelRun): boolean {
  return state === 'ready' || state === 'suspect' || state === 'running' || state === 'held'
}

function isIdle({ state }: ModelRun): boolean {
  return state === 'waiting' || state === 'ready'
}
