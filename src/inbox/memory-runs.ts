import type { Clock, Timer } from '../clock.ts'
import { Heap } from './heap.ts'
import { MemoryState } from './memory-state.ts'
import { dueAt, maxCrashes, versionOf } from './port.ts'
import type {
  AttemptRecord,
  ClaimRequest,
  CrashedRun,
  Effects,
  HandlerRoute,
  Item,
  Lease,
  LeasedReplay,
  Outcome,
  ReapResult,
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
  /** Null: it is live. */
  readonly replay: LeasedReplay | null
  state: RunState
  attempt: number
  failed: number
  crashed: number
  runAt: number
  lease: { readonly token: number; readonly owner: string; readonly startedAt: number; readonly from: Claimable } | null
  death: Death | null
  /** When it was taken up and when it ended, the last time each. */
  startedAt: number | null
  endedAt: number | null
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

/** The open runs of one generation of a handler that have no lease. */
interface Queue extends Readonly<Record<Claimable, Heap<MemoryRun>>> {
  /** What waits, by key. Invariant: a key has an entry while one ordered run of it is ready, suspect, running or held. */
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
  /** Runs that have not ended. */
  readonly open = new Set<MemoryRun>()
  /** Dead letters by run id, those that hold up their keys among them. */
  readonly dead = new Map<number, MemoryRun>()

  readonly #clock: Clock
  readonly #rewakeMs: number
  readonly #onItem: (run: MemoryRun) => void
  readonly #states: MemoryState
  /** By handler, then by generation: 0 for what is live, or the id of a replay. */
  readonly #queues = new Map<string, Map<number, Queue>>()
  readonly #leased = new Map<number, MemoryRun>()
  readonly #leasedBy = new Map<string, Set<MemoryRun>>()
  readonly #retired = new Set<string>()
  readonly #paused = new Set<string>()
  /** Handlers whose dead letters hold up their keys. */
  readonly #holding = new Set<string>()
  #latestOnly: ReadonlySet<string> = new Set()
  readonly #cancelled = new Set<number>()
  readonly #superseded = new Map<string, number>()
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

  setRoutes(routes: readonly HandlerRoute[]): void {
    for (const { name, onDead } of routes) {
      if (onDead === 'hold') this.#holding.add(name)
      else this.#holding.delete(name)
    }
    this.#latestOnly = new Set(routes.filter((route) => route.latestOnly).map(({ name }) => name))
  }

  /** How many runs of a handler were superseded. */
  superseded(handler: string): number {
    return this.#superseded.get(handler) ?? 0
  }

  /** Creates a run; it is handed out at the next `serve`. */
  add(event: StoredEvent, handler: string, key: string | null, replay: LeasedReplay | null = null): MemoryRun {
    if (replay === null && this.#latestOnly.has(handler) && key !== null) this.#supersedeWaiting(handler, key)
    return this.#add(event, { handler, key, replay, item: null })
  }

  /** Ends a run that nobody works on; what waits behind it takes its place. */
  drop(run: MemoryRun, reason?: string): void {
    const { state } = run
    const now = this.#clock.now()
    if (reason !== undefined) {
      const error = { name: 'dropped', message: reason }
      run.attempts.push({ attempt: run.attempt, startedAt: now, endedAt: now, outcome: 'dropped', error })
    }
    this.open.delete(run)
    this.dead.delete(run.runId)
    run.state = 'dropped'
    run.crashed = 0
    run.endedAt = now
    if (state !== 'waiting' && state !== 'dead') this.#next(run)
  }

  /** No run of it is tried again, but for what its runs left in the outbox. */
  cancel(replayId: number): void {
    this.#cancelled.add(replayId)
  }

  #dropCancelled(run: MemoryRun): boolean {
    if (run.replay === null || run.item !== null || !this.#cancelled.has(run.replay.id)) return false
    this.open.delete(run)
    run.state = 'dropped'
    run.crashed = 0
    run.endedAt = this.#clock.now()
    this.#next(run)
    return true
  }

  #supersedeWaiting(handler: string, key: string): void {
    for (const run of this.#openOf(handler, key)) {
      if (run.state === 'waiting') this.#supersede(run)
      else if (run.state === 'ready') {
        this.#supersede(run)
        this.#next(run)
      }
    }
  }

  #openOf(handler: string, key: string): MemoryRun[] {
    return [...this.open].filter((run) => run.handler === handler && run.key === key && run.replay === null)
  }

  /** Whether a run that would be tried again is superseded by one that waits behind it; then that one takes its place. */
  #isOutdated(run: MemoryRun): boolean {
    const { handler, key, replay } = run
    if (key === null || replay !== null || !this.#latestOnly.has(handler)) return false
    if (this.#openOf(handler, key).every((other) => other.runId <= run.runId)) return false
    this.#supersede(run)
    this.#next(run)
    return true
  }

  #supersede(run: MemoryRun): void {
    this.open.delete(run)
    run.state = 'superseded'
    run.crashed = 0
    run.endedAt = this.#clock.now()
    this.#superseded.set(run.handler, this.superseded(run.handler) + 1)
  }

  #add(event: StoredEvent, what: Pick<MemoryRun, 'handler' | 'key' | 'item' | 'replay'>): MemoryRun {
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
      startedAt: null,
      endedAt: null,
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
      this.#conclude(run, outcome)
      if (effects) this.#takeEffect(run, versionOf(outcome), effects)
      return 'applied'
    })
    this.serve()
    return results
  }

  #conclude(run: MemoryRun, outcome: Outcome): void {
    const { startedAt, endedAt } = outcome
    const record = { attempt: run.attempt, startedAt, endedAt }
    switch (outcome.kind) {
      case 'done':
        run.attempts.push({ ...record, outcome: 'done', error: null })
        run.startedAt = startedAt
        return this.#finish(run, 'done', endedAt)
      case 'dead':
        run.attempts.push({ ...record, outcome: 'dead', error: outcome.error })
        run.startedAt = startedAt
        return this.#die(run, { at: endedAt, error: outcome.error })
      case 'retry':
        run.attempts.push({ ...record, outcome: 'retry', error: outcome.error })
        run.failed += 1
        return this.#again(run, dueAt(outcome, this.#clock.now()))
      case 'snooze':
        run.attempt -= 1
        return this.#again(run, dueAt(outcome, this.#clock.now()))
      case 'expired':
      case 'unmatched':
        run.attempt -= 1
        return this.#finish(run, outcome.kind, endedAt)
    }
  }

  #again(run: MemoryRun, at: number): void {
    if (this.#isOutdated(run) || this.#dropCancelled(run)) return
    run.runAt = at
    this.#offer(run, 'ready')
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

  /** Keys of its handler's state that a run wrote last. */
  stateKeysOf({ handler, runId }: Pick<MemoryRun, 'handler' | 'runId'>): readonly string[] {
    return this.#states.keysOf(handler, runId)
  }

  /** As if it had never been claimed, unless it is superseded meanwhile. */
  #giveBack(run: MemoryRun): void {
    const { from } = this.#endLease(run)
    run.attempt -= 1
    if (this.#isOutdated(run) || this.#dropCancelled(run)) return
    this.#offer(run, from)
  }

  #takeEffect(run: MemoryRun, version: number, { writes, items }: Effects): void {
    this.#states.write(run.handler, version, writes)
    for (const { sink, key, payload, idempotencyKey } of items) {
      this.#onItem(this.#add(run.event, { handler: sink, key, replay: run.replay, item: { payload, idempotencyKey } }))
    }
  }

  reap(owner: string): ReapResult {
    this.retire(owner)
    const endedAt = this.#heedClock()
    const runs = [...(this.#leasedBy.get(owner) ?? [])]
    for (const run of runs) {
      const { startedAt } = this.#endLease(run)
      run.crashed += 1
      run.attempts.push({ attempt: run.attempt, startedAt, endedAt, outcome: 'crashed', error: crashError })
      if (this.#dropCancelled(run)) continue
      if (run.crashed >= maxCrashes) this.#die(run, { at: endedAt, error: crashError })
      else {
        if (run.crashed > 1) run.runAt = endedAt // Alone when it crashed: behind the other suspects.
        this.#offer(run, 'suspect')
      }
    }
    this.serve()
    const dead = runs.filter(({ runId }) => this.dead.has(runId)).map(toCrashedRun)
    return { runs: runs.length, dead }
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
      run.endedAt = null
      run.attempt = 0
      run.failed = 0
      run.crashed = 0
      run.runAt = runAt
      if (run.state === 'held') this.#enterAtHead(run)
      else this.#enter(run)
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

  /** One that held up its key takes its turn again: before those that wait, unless there are older ones. */
  #enterAtHead(run: MemoryRun): void {
    this.open.add(run)
    run.state = 'waiting'
    if (run.key !== null) this.#queueOf(run).waiting.get(run.key)?.push(run)
    this.#next(run)
  }

  /** A run becomes open: ready, or waiting behind an open run of its key. */
  #enter(run: MemoryRun): void {
    this.open.add(run)
    const { waiting } = this.#queueOf(run)
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
  #finish(run: MemoryRun, state: Extract<RunState, 'dead' | 'done' | 'expired' | 'unmatched'>, at: number): void {
    this.open.delete(run)
    run.state = state
    run.endedAt = at
    this.#next(run)
  }

  #die(run: MemoryRun, death: Death): void {
    run.death = death
    this.dead.set(run.runId, run)
    if (run.key === null || !this.#holding.has(run.handler)) return this.#finish(run, 'dead', death.at)
    this.open.delete(run)
    run.state = 'held'
    run.endedAt = death.at
  }

  /** The oldest run that waits behind this one takes its place. */
  #next(run: MemoryRun): void {
    const { key } = run
    if (key === null) return
    const { waiting } = this.#queueOf(run)
    const behind = waiting.get(key)
    let next = behind?.pop()
    while (next && next.state !== 'waiting') next = behind?.pop() // It was superseded meanwhile.
    if (next) this.#offer(next, 'ready')
    else waiting.delete(key)
  }

  #offer(run: MemoryRun, state: Claimable): void {
    run.state = state
    this.#queueOf(run)[state].push(run)
  }

  #answer(claim: WaitingClaim, leases: readonly Lease[]): void {
    this.#claims.delete(claim)
    claim.resolve(leases)
  }

  /** Takes what is due of all the handlers, oldest first; if that is nothing, sees to it that the timer wakes for the next. */
  #take(request: ClaimRequest): readonly Lease[] {
    if (this.#allPaused) return []
    const leases: Lease[] = []
    const queues = request.handlers
      .filter((name) => !this.#paused.has(name))
      .map((name) => this.#queues.get(name) ?? new Map<number, Queue>())
    const generations = new Set(queues.flatMap((byGeneration) => [...byGeneration.keys()]).toSorted((a, b) => a - b))
    for (const generation of generations) {
      this.#takeFrom(
        queues.flatMap((byGeneration) => byGeneration.get(generation) ?? []),
        request,
        leases,
      )
    }
    return leases
  }

  #takeFrom(queues: readonly Queue[], { max, owner, suspects }: ClaimRequest, leases: Lease[]): void {
    const from = suspects ? 'suspect' : 'ready'
    const heaps = queues.map((queue) => queue[from])
    const now = this.#clock.now()
    while (leases.length < max) {
      let oldest: Heap<MemoryRun> | undefined
      for (const heap of heaps) {
        while (heap.peek() && heap.peek()?.state !== from) heap.pop() // It was superseded meanwhile.
        if (comesBefore(heap.peek(), oldest?.peek())) oldest = heap
      }
      const next = oldest?.peek()
      if (!next) break
      if (next.runAt > now) {
        if (leases.length === 0) this.#wakeAt(next.runAt)
        break
      }
      oldest?.pop()
      leases.push(this.#lease(next, from, owner, now))
    }
  }

  #lease(run: MemoryRun, from: Claimable, owner: string, startedAt: number): Lease {
    const token = ++this.#lastToken
    run.state = 'running'
    run.attempt += 1
    run.lease = { token, owner, startedAt, from }
    run.startedAt = startedAt
    this.#leased.set(token, run)
    const leased = this.#leasedBy.get(owner) ?? new Set()
    this.#leasedBy.set(owner, leased.add(run))
    const { runId, handler, attempt, failed, crashed, event, key, replay, item } = run
    const copy = { ...event, raw: new Uint8Array(event.raw) }
    return { runId, token, handler, attempt, failed, crashed, event: copy, key, replay, item }
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

  #queueOf({ handler, replay }: Pick<MemoryRun, 'handler' | 'replay'>): Queue {
    const byGeneration = this.#queues.get(handler) ?? new Map<number, Queue>()
    this.#queues.set(handler, byGeneration)
    const generation = replay?.id ?? 0
    const known = byGeneration.get(generation)
    if (known) return known
    const queue: Queue = { ready: createHeap(), suspect: createHeap(), waiting: new Map() }
    byGeneration.set(generation, queue)
    return queue
  }
}

function toCrashedRun({ handler, event, attempt }: MemoryRun): CrashedRun {
  return { handler, eventId: event.id, attempt, error: crashError }
}

function createHeap(): Heap<MemoryRun> {
  return new Heap<MemoryRun>(comesBefore)
}

/** Older runs come first, and any run before none. */
function comesBefore(a: MemoryRun | undefined, b: MemoryRun | undefined): boolean {
  if (!a || !b) return a !== undefined
  return a.runAt < b.runAt || (a.runAt === b.runAt && a.runId < b.runId)
}
