import type { Clock, Timer } from '../clock.ts'
import { Heap } from './heap.ts'
import { MemoryState } from './memory-state.ts'
import { maxCrashes, versionOf } from './port.ts'
import type {
  AttemptRecord,
  ClaimRequest,
  Effects,
  HandlerRoute,
  Item,
  Lease,
  Outcome,
  RunError,
  RunState,
  SettleResult,
  StateEntry,
  StateQuery,
  StoredEvent,
} from './port.ts'

/** A run as the memory inbox holds it; only `MemoryRuns` changes it. */
export interface MemoryRun {
  readonly runId: number
  readonly handler: string
  /** What order is kept by; null: none. What is registered later changes nothing for it. */
  readonly key: string | null
  readonly event: StoredEvent
  readonly item: Item | null
  state: RunState
  attempt: number
  failed: number
  crashed: number
  runAt: number
  lease: { readonly token: number; readonly owner: string; readonly startedAt: number; readonly from: Claimable } | null
  death: Death | null
  readonly attempts: AttemptRecord[]
}

interface Death {
  readonly at: number
  readonly error: RunError
}

type Claimable = 'ready' | 'suspect'

interface WaitingClaim {
  readonly request: ClaimRequest
  readonly resolve: (leases: readonly Lease[]) => void
}

/** The open runs of one handler that have no lease. */
interface Queue extends Readonly<Record<Claimable, Heap<MemoryRun>>> {
  /** What waits, by key. Invariant: a key has an entry while one ordered run of it is ready, suspect or running. */
  readonly waiting: Map<string, Heap<MemoryRun>>
}

/** A clock is set back if it is so much behind the time that was seen before; less is how clocks are kept right. */
const setBackMs = 1_000
const crashError: RunError = {
  name: 'handler_crashed',
  message: 'The process or thread that ran this attempt ended before the attempt had a verdict.',
}

/** The runs of a memory inbox: their states, their order, and the claims that wait for them. */
export class MemoryRuns {
  /** Runs that are neither done nor dead. */
  readonly open = new Set<MemoryRun>()
  /** Dead letters by run id. */
  readonly dead = new Map<number, MemoryRun>()

  readonly #clock: Clock
  readonly #rewakeMs: number
  readonly #onItem: (run: MemoryRun) => void
  readonly #states: MemoryState
  readonly #queues = new Map<string, Queue>()
  readonly #leased = new Map<number, MemoryRun>()
  readonly #leasedBy = new Map<string, Set<MemoryRun>>()
  readonly #retired = new Set<string>()
  readonly #paused = new Set<string>()
  #allPaused = false
  /** Oldest first. There are about as many as there are runners. */
  readonly #claims = new Set<WaitingClaim>()
  #timer: { readonly at: number; readonly timer: Timer } | null = null
  /** Latest time seen. */
  #latest = -Infinity
  #lastRunId = 0
  #lastToken = 0

  /** `onItem` is told of each run that an outbox item became. */
  constructor(clock: Clock, rewakeMs: number, onItem: (run: MemoryRun) => void) {
    this.#clock = clock
    this.#rewakeMs = rewakeMs
    this.#onItem = onItem
    this.#states = new MemoryState(clock)
  }

  get allPaused(): boolean {
    return this.#allPaused
  }

  isPaused(handler: string): boolean {
    return this.#paused.has(handler)
  }

  /** Pauses a handler, or all together. */
  setPaused(handler: string | null, paused: boolean): void {
    if (handler === null) this.#allPaused = paused
    else if (paused) this.#paused.add(handler)
    else this.#paused.delete(handler)
    this.serve()
  }

  /** Creates a run; it is handed out at the next `serve`. */
  add(event: StoredEvent, { name, order }: HandlerRoute): MemoryRun {
    return this.#add(event, { handler: name, key: order === 'key' ? event.key : null, item: null })
  }

  #add(event: StoredEvent, what: Pick<MemoryRun, 'handler' | 'key' | 'item'>): MemoryRun {
    const runAt = this.#heedClock()
    const run: MemoryRun = {
      runId: ++this.#lastRunId,
      ...what,
      event,
      state: 'waiting',
      attempt: 0,
      failed: 0,
      crashed: 0,
      runAt,
      lease: null,
      death: null,
      attempts: [],
    }
    this.#enter(run)
    return run
  }

  claim(request: ClaimRequest): Promise<readonly Lease[]> {
    if (this.#retired.has(request.owner) || request.max < 1) return Promise.resolve([])
    const { promise, resolve } = Promise.withResolvers<readonly Lease[]>()
    this.#claims.add({ request, resolve })
    this.serve()
    return promise
  }

  settle(outcomes: readonly Outcome[]): SettleResult[] {
    this.#heedClock()
    const results = outcomes.map((outcome): SettleResult => {
      const run = this.#leased.get(outcome.token)
      if (run?.runId !== outcome.runId) return 'stale'
      const effects = outcome.kind === 'done' ? outcome.effects : undefined
      if (effects && !this.#states.areUnchanged(run.handler, effects.reads)) {
        this.#giveBack(run)
        return 'conflict'
      }
      this.#endLease(run)
      run.crashed = 0
      const { kind, startedAt, endedAt } = outcome
      const error = kind === 'done' ? null : outcome.error
      run.attempts.push({ attempt: run.attempt, startedAt, endedAt, outcome: kind, error })
      if (outcome.kind === 'retry') {
        run.failed += 1
        run.runAt = outcome.at
        this.#offer(run, 'ready')
      } else {
        this.#finish(run, outcome.kind === 'dead' ? { at: endedAt, error: outcome.error } : null)
        if (effects) this.#takeEffect(run, versionOf(outcome), effects)
      }
      return 'applied'
    })
    this.serve()
    return results
  }

  retire(owner: string): void {
    this.#retired.add(owner)
    for (const claim of this.#claims) if (claim.request.owner === owner) this.#answer(claim, [])
  }

  release(leases: readonly Pick<Lease, 'runId' | 'token'>[]): void {
    for (const { runId, token } of leases) {
      const run = this.#leased.get(token)
      if (run?.runId === runId) this.#giveBack(run)
    }
    this.serve()
  }

  readState(handler: string, query: StateQuery): readonly StateEntry[] {
    return this.#states.read(handler, query)
  }

  /** As if it had never been claimed. */
  #giveBack(run: MemoryRun): void {
    const { from } = this.#endLease(run)
    run.attempt -= 1
    this.#offer(run, from)
  }

  #takeEffect(run: MemoryRun, version: number, { writes, items }: Effects): void {
    this.#states.write(run.handler, version, writes)
    for (const { sink, key, payload, idempotencyKey } of items) {
      this.#onItem(this.#add(run.event, { handler: sink, key, item: { key, payload, idempotencyKey } }))
    }
  }

  reap(owner: string): number {
    this.retire(owner)
    const endedAt = this.#heedClock()
    const runs = [...(this.#leasedBy.get(owner) ?? [])]
    for (const run of runs) {
      const { startedAt } = this.#endLease(run)
      run.crashed += 1
      run.attempts.push({ attempt: run.attempt, startedAt, endedAt, outcome: 'crashed', error: crashError })
      if (run.crashed >= maxCrashes) this.#finish(run, { at: endedAt, error: crashError })
      else {
        if (run.crashed > 1) run.runAt = endedAt // Alone when it crashed: behind the other suspects.
        this.#offer(run, 'suspect')
      }
    }
    this.serve()
    return runs.length
  }

  requeueDead(which: 'all' | readonly number[]): number {
    const runAt = this.#heedClock()
    const runIds = new Set(which === 'all' ? this.dead.keys() : which)
    let count = 0
    for (const runId of [...runIds].toSorted((a, b) => a - b)) {
      const run = this.dead.get(runId)
      if (!run) continue
      this.dead.delete(runId)
      run.death = null
      run.attempt = 0
      run.failed = 0
      run.crashed = 0
      run.runAt = runAt
      this.#enter(run)
      count += 1
    }
    this.serve()
    return count
  }

  /** Hands out what can be claimed to the claims that wait, oldest claim first. */
  serve(): void {
    this.#heedClock()
    for (const claim of this.#claims) {
      const leases = this.#take(claim.request)
      if (leases.length > 0) this.#answer(claim, leases)
    }
  }

  /**
   * The time now. When the clock was set back, what is due goes back with it: nothing waits for the old time to come again. So
   * it has to be heeded before a time of the new clock is put beside those of the old.
   */
  #heedClock(): number {
    const now = this.#clock.now()
    const by = this.#latest - now
    this.#latest = now
    if (by > setBackMs) {
      for (const run of this.open) run.runAt -= by
      this.#timer?.timer.cancel()
      this.#timer = null
    }
    return now
  }

  /** Ends all waiting claims with nothing. */
  close(): void {
    this.#timer?.timer.cancel()
    for (const claim of this.#claims) this.#answer(claim, [])
  }

  /** A run becomes open: ready, or waiting behind an open run of its key. */
  #enter(run: MemoryRun): void {
    this.open.add(run)
    const { waiting } = this.#queueOf(run.handler)
    const behind = run.key === null ? undefined : waiting.get(run.key)
    if (behind) {
      run.state = 'waiting'
      behind.push(run)
    } else {
      if (run.key !== null) waiting.set(run.key, new Heap<MemoryRun>((a, b) => a.runId < b.runId))
      this.#offer(run, 'ready')
    }
  }

  /** A run ends, for good or until it is requeued; the oldest one that waits for its key takes its place. */
  #finish(run: MemoryRun, death: Death | null): void {
    this.open.delete(run)
    run.state = death ? 'dead' : 'done'
    run.death = death
    if (death) this.dead.set(run.runId, run)
    if (run.key === null) return
    const { waiting } = this.#queueOf(run.handler)
    const next = waiting.get(run.key)?.pop()
    if (next) this.#offer(next, 'ready')
    else waiting.delete(run.key)
  }

  #offer(run: MemoryRun, state: Claimable): void {
    run.state = state
    this.#queueOf(run.handler)[state].push(run)
  }

  #answer(claim: WaitingClaim, leases: readonly Lease[]): void {
    this.#claims.delete(claim)
    claim.resolve(leases)
  }

  /** Takes what is due of all the handlers, oldest first; if that is nothing, sees to it that the timer wakes for the next. */
  #take({ handlers, max, owner, suspects }: ClaimRequest): readonly Lease[] {
    const from = suspects ? 'suspect' : 'ready'
    if (this.#allPaused) return []
    const heaps = handlers.filter((name) => !this.#paused.has(name)).map((name) => this.#queueOf(name)[from])
    const now = this.#clock.now()
    const leases: Lease[] = []
    while (leases.length < max) {
      let oldest: Heap<MemoryRun> | undefined
      for (const heap of heaps) if (comesBefore(heap.peek(), oldest?.peek())) oldest = heap
      const next = oldest?.peek()
      if (!next) break
      if (next.runAt > now) {
        if (leases.length === 0) this.#wakeAt(next.runAt)
        break
      }
      oldest?.pop()
      leases.push(this.#lease(next, from, owner, now))
    }
    return leases
  }

  #lease(run: MemoryRun, from: Claimable, owner: string, startedAt: number): Lease {
    const token = ++this.#lastToken
    run.state = 'running'
    run.attempt += 1
    run.lease = { token, owner, startedAt, from }
    this.#leased.set(token, run)
    const leased = this.#leasedBy.get(owner) ?? new Set()
    this.#leasedBy.set(owner, leased.add(run))
    const { runId, handler, attempt, failed, crashed, event, item } = run
    const copy = { ...event, raw: new Uint8Array(event.raw) }
    return { runId, token, handler, attempt, failed, crashed, event: copy, item }
  }

  #endLease(run: MemoryRun): NonNullable<MemoryRun['lease']> {
    const { lease } = run
    if (!lease) throw new Error(`run ${run.runId} has no lease`)
    run.lease = null
    this.#leased.delete(lease.token)
    const leased = this.#leasedBy.get(lease.owner)
    leased?.delete(run)
    if (leased?.size === 0) this.#leasedBy.delete(lease.owner)
    return lease
  }

  /** Arms the one timer. It looks at the clock every `rewakeMs` at least, because a clock can jump. */
  #wakeAt(at: number): void {
    if (this.#timer && this.#timer.at <= at) return
    this.#timer?.timer.cancel()
    const wake = () => {
      this.#timer = null
      this.serve()
    }
    const timer = this.#clock.after(Math.min(at - this.#clock.now(), this.#rewakeMs), wake)
    this.#timer = { at, timer }
  }

  #queueOf(handler: string): Queue {
    const known = this.#queues.get(handler)
    if (known) return known
    const queue: Queue = { ready: createHeap(), suspect: createHeap(), waiting: new Map() }
    this.#queues.set(handler, queue)
    return queue
  }
}

function createHeap(): Heap<MemoryRun> {
  return new Heap<MemoryRun>(comesBefore)
}

/** Older runs come first, and any run before none. */
function comesBefore(a: MemoryRun | undefined, b: MemoryRun | undefined): boolean {
  if (!a || !b) return a !== undefined
  return a.runAt < b.runAt || (a.runAt === b.runAt && a.runId < b.runId)
}
