import PQueue from 'p-queue'
import { TransientMap } from '../base/transient-map.ts'
import { createBatcher } from '../base/batcher.ts'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Lease, Outcome, SettleResult, DispatchStore } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import type { Tracer } from '../base/tracing.ts'
import type { ApiFactory } from './api.ts'
import { Attempt } from './attempt.ts'
import { RunContext } from './context.ts'
import { attemptNameOf, createFailureLog, type FailureLog } from './run-error.ts'
import { createHandlerQueue, roomOf, targetOf, type HandlerQueue } from './handler-queue.ts'
import { sinksOf, type KnownSinks } from './outbox.ts'
import { StateCache } from './state-cache.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** How an attempt ended. `conflict`: another run changed state that it had read, so it runs again. */
export type AttemptResult = Outcome['kind'] | 'conflict'

export interface EndedAttempt {
  readonly lease: Lease
  readonly outcome: Outcome
}

export interface DispatcherObserver {
  /** An attempt of a run of this handler is about to start. `attempt`: its number in this dispatcher. */
  starting(attempt: number, runId: number, handler: Pick<ResolvedHandler, 'name' | 'timeoutMs'>): void
  /** The part of the run before its first `await` is over. */
  yielded(): void
  /** The handler of an attempt has really ended. */
  ended(attempt: number): void
  /** The outcome of an attempt was stored. `durationMs` is the handler's own time. */
  settled(handler: string, result: AttemptResult, durationMs: number, ended: EndedAttempt): void
  /** An attempt runs on long after its timeout. Only the end of its thread can end it. */
  stuck(handler: string): void
}

/** An attempt whose handler still runs. Settle or release it once its thread has ended. */
export interface UnfinishedAttempt {
  readonly lease: Lease
  readonly outcome: Outcome | 'interrupted'
}

export interface DispatcherOptions {
  readonly work: Pick<DispatchStore, 'claim' | 'readState' | 'settle' | 'retire' | 'release'>
  readonly handlers: readonly ResolvedHandler[]
  /** Maximum number of concurrent runs, over all handlers. */
  readonly concurrency: number
  /** Owner of the leases. */
  readonly owner: string
  /** True: runs suspects only, one at a time. */
  readonly suspects: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly observer: DispatcherObserver
  /** Default: null, tracing is off. */
  readonly tracer?: Tracer | null
  /** Creates `ctx.api`. Default: none. */
  readonly api?: ApiFactory | undefined
  /** How long a handler may run after its timeout before it counts as stuck, in milliseconds. */
  readonly overrunGraceMs: number
}

/** If no run of a handler ended within this time, its average duration is assumed to be at least that. */
const paceMs = 1_000
/** Maximum claimed bytes of all handlers together. Large bodies reduce prefetching. */
const maxClaimedBytes = 32 * 1024 * 1024
/** While one claim returns its runs, the next one already waits in the store. */
const maxClaims = 2
/** How long runs may follow each other before timers, messages and other queues get their turn. */
const turnMs = 20
const storeRetryMs = [100, 500, 2_000] as const

/** Claims runs, runs their handlers within the limits of each, and settles their outcomes in batches. Independent of databases and threads. */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #pool: PQueue
  readonly #queues: readonly HandlerQueue[]
  /** Attempts in flight, by number. On PostgreSQL, a run can be claimed again while its handler runs. */
  readonly #attempts = new TransientMap<number, Attempt>()
  readonly #failureLog: FailureLog
  #sinks: KnownSinks
  /** State cache by handler. */
  readonly #states = new Map<string, StateCache>()
  readonly #settler: { add(outcome: Outcome): Promise<SettleResult> }
  /** Attempts that are over although their handlers still run. */
  readonly #unfinished = new Map<Attempt, UnfinishedAttempt>()
  #started = 0
  #claimedBytes = 0
  /** Resolves after `stop`, once no claimed runs remain. */
  readonly #idle = Promise.withResolvers<void>()
  #stopping = false
  #turnStartedAt = 0
  #nextTurn: Promise<void> | undefined

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#pool = new PQueue({ concurrency: options.suspects ? 1 : options.concurrency })
    const groups = options.suspects ? [options.handlers] : options.handlers.map((handler) => [handler])
    this.#queues = groups.map((handlers) => createHandlerQueue(handlers, options))
    this.#failureLog = createFailureLog(options)
    this.#sinks = sinksOf(options.handlers)
    // On PostgreSQL, each batch is one statement. On SQLite, it saves a tenth of the processor time per event.
    this.#settler = createBatcher((outcomes) => this.#settleBatch(outcomes))
    for (const queue of this.#queues) queue.breaker?.onChange(() => this.#breakerChanged(queue))
  }

  start(): void {
    for (const queue of this.#queues) this.#claimIfRoom(queue)
  }

  /** Sets the concurrency of a handler; null restores its own. Runs in flight continue. */
  setConcurrency(handler: string, concurrency: number | null): void {
    if (this.#options.suspects) return
    for (const queue of this.#queues) {
      const definition = queue.handlers.get(handler)
      if (definition === undefined) continue
      queue.concurrency = (concurrency ?? definition.concurrency) * definition.batch
      definition.onConcurrency?.(concurrency ?? definition.concurrency)
      this.#fillSlots(queue)
      this.#claimIfRoom(queue)
    }
  }

  /** Divides the rates of handlers by the number of processes that share them. */
  shareRates(processes: number): void {
    for (const queue of this.#queues) {
      const [definition] = queue.handlers.values()
      if (queue.bucket === undefined || definition?.rate === undefined) continue
      queue.rate = definition.rate / processes
      queue.bucket.setRate(queue.rate)
      queue.tokenTimer?.cancel()
      queue.tokenTimer = undefined
      this.#fillSlots(queue)
      this.#claimIfRoom(queue)
    }
  }

  /**
   * Releases claimed runs that have not started, of one handler or (null) of all. Call it after a pause or a cancelled
   * replay. Runs that may still run are claimed again.
   */
  async recall(handler: string | null): Promise<void> {
    const queues = this.#queues.filter((queue) => handler === null || queue.handlers.has(handler))
    await Promise.all(queues.map((queue) => this.#releaseUnstarted(queue, 0)))
    // A claim may have been returning at the same time.
    await new Promise<void>((resolve) => setImmediate(resolve))
    await Promise.all(queues.map((queue) => this.#releaseUnstarted(queue, 0)))
    for (const queue of queues) this.#claimIfRoom(queue)
  }

  /** Sends one item of a sink now, if its breaker is open. The result decides whether the breaker closes. */
  trySink(handler: string): void {
    for (const queue of this.#queues) if (queue.handlers.has(handler)) queue.breaker?.tryNow(this.#now())
  }

  /** Sets the sinks that runs can enqueue to. Until the first call: the sinks among its own handlers. */
  useSinks(sinks: KnownSinks): void {
    this.#sinks = sinks
  }

  /** Longest timeout of the attempts in flight, in milliseconds; 0 if there are none. */
  get maxTimeoutMs(): number {
    return Math.max(0, ...this.#attempts.values().map((attempt) => attempt.timeoutMs))
  }

  /** Number of attempts in flight. */
  get running(): number {
    return this.#attempts.size
  }

  /** True when no claimed runs remain: each was settled, released, or is unfinished. */
  get isIdle(): boolean {
    return this.#queues.every((queue) => queue.claimed === 0)
  }

  /**
   * Stops claiming and releases runs that have not started. Aborts runs in flight `graceMs` after the call, and waits
   * up to `abortGraceMs` more. Runs that only this stop ended are released without being charged. Returns the
   * attempts whose handlers still run. A second call with a shorter time shortens the first.
   */
  async stop(graceMs: number, abortGraceMs: number): Promise<readonly UnfinishedAttempt[]> {
    this.#stopping = true
    const aborted = Promise.withResolvers<void>()
    const timer = this.#options.clock.after(graceMs, () => {
      for (const attempt of this.#attempts.values()) attempt.stop('shutdown')
      aborted.resolve()
    })
    for (const { breakerTimer } of this.#queues) breakerTimer?.cancel()
    // Runs that a claim returns from here on are not started.
    await this.#options.work.retire(this.#options.owner).then(
      () => Promise.all(this.#queues.flatMap((queue) => [...queue.claims])),
      () => {},
    )
    await Promise.all(this.#queues.map((queue) => this.#releaseUnstarted(queue, 0)))
    if (!this.isIdle) await Promise.race([this.#idle.promise, aborted.promise])
    timer.cancel()
    await this.#idleWithin(abortGraceMs)
    for (const attempt of this.#attempts.values()) attempt.abandon()
    await this.#idleWithin(abortGraceMs)
    return [...this.#unfinished.values()]
  }

  #claimIfRoom(queue: HandlerQueue): void {
    if (queue.handlers.size === 0) return
    const target = Math.min(targetOf(queue), roomOf(queue, this.#now()))
    while (!this.#stopping && queue.claims.size < maxClaims) {
      if (queue.claimed > 0 && this.#claimedBytes >= maxClaimedBytes) return
      const free = target - queue.claimed - queue.requested
      // In portions, so that fast handlers don't claim one run at a time.
      if (free < Math.max(1, Math.floor(target / 4))) return
      const claim = this.#claim(queue, Math.min(free, Math.ceil(target / maxClaims)))
      queue.claims.add(claim)
      void claim.then(() => queue.claims.delete(claim))
    }
  }

  async #claim(queue: HandlerQueue, max: number): Promise<void> {
    const { work, owner, suspects, clock, log } = this.#options
    queue.requested += max
    try {
      const leases = await work.claim({ handlers: [...queue.handlers.keys()], max, owner, suspects })
      for (const lease of leases) this.#receive(queue, lease)
      if (queue.breaker !== undefined) await this.#cutToRoom(queue)
      // Empty: the store is closing, or this owner was retired.
      if (leases.length > 0) setImmediate(() => this.#claimIfRoom(queue))
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'claim failed, retrying')
      clock.after(1_000, () => this.#claimIfRoom(queue))
    } finally {
      queue.requested -= max
      this.#fillSlots(queue)
    }
  }

  #receive(queue: HandlerQueue, lease: Lease): void {
    this.#addClaimed(queue, lease)
    queue.backlog.push(lease)
    this.#watchPace(queue)
  }

  /** While runs wait, checks from time to time that the runs before them are still as fast as assumed. */
  #watchPace(queue: HandlerQueue): void {
    if (queue.paceTimer !== undefined || queue.backlog.length === 0) return
    const { ended } = queue
    queue.paceTimer = this.#options.clock.after(paceMs, () => {
      queue.paceTimer = undefined
      if (queue.ended === ended) queue.averageMs = Math.max(queue.averageMs, paceMs)
      // A small excess is soon worked off.
      if (queue.backlog.length > 2 * targetOf(queue)) void this.#releaseUnstarted(queue, targetOf(queue))
      this.#watchPace(queue)
    })
  }

  /** Releases all runs that have not started, except the first `keepCount`. */
  async #releaseUnstarted(queue: HandlerQueue, keepCount: number): Promise<void> {
    const leases = queue.backlog.cut(keepCount)
    await this.#release(leases)
    for (const lease of leases) this.#removeClaimed(queue, lease)
  }

  /** Releases runs that can't start soon because the breaker of their sink is open. They wait in the store. */
  #cutToRoom(queue: HandlerQueue): Promise<void> {
    return this.#releaseUnstarted(queue, roomOf(queue, this.#now()))
  }

  /** The breaker of a sink opened, closed, or allows a trial. */
  #breakerChanged(queue: HandlerQueue): void {
    queue.breakerTimer?.cancel()
    queue.breakerTimer = undefined
    if (this.#stopping) return
    const waitMs = queue.breaker?.waitMs(this.#now()) ?? 0
    if (waitMs > 0) queue.breakerTimer = this.#options.clock.after(waitMs, () => this.#breakerChanged(queue))
    void this.#cutToRoom(queue)
    this.#fillSlots(queue)
    this.#claimIfRoom(queue)
  }

  #now(): number {
    return this.#options.clock.now()
  }

  /** Opens as many slots as there are runs and as the concurrency allows. */
  #fillSlots(queue: HandlerQueue): void {
    if (this.#stopping || roomOf(queue, this.#now()) === 0 || this.#lacksTokens(queue)) return
    for (let waiting = queue.backlog.length; waiting > 0 && queue.slots < queue.concurrency; waiting--) {
      queue.slots++
      void this.#pool.add(() => this.#runBacklog(queue), { priority: queue.priority })
    }
  }

  /** True when the rate lets no run start now. One timer then waits for the next token. */
  #lacksTokens(queue: HandlerQueue): boolean {
    const waitMs = queue.bucket?.waitMs() ?? 0
    if (waitMs === 0 || queue.backlog.length === 0) return false
    queue.tokenTimer ??= this.#options.clock.after(waitMs, () => {
      queue.tokenTimer = undefined
      this.#fillSlots(queue)
    })
    return true
  }

  async #runBacklog(queue: HandlerQueue): Promise<void> {
    while (this.#isTurnOver()) await this.#yield()
    // The concurrency may have been lowered since this slot was opened.
    while (!this.#stopping && queue.slots <= queue.concurrency) {
      if (queue.backlog.length > 0 && (roomOf(queue, this.#now()) === 0 || queue.bucket?.take() === false)) break
      const lease = queue.backlog.shift()
      const handler = lease && queue.handlers.get(lease.handler)
      if (lease === undefined || handler === undefined) break
      await this.#run(queue, handler, lease)
      if (this.#isTurnOver()) break
    }
    queue.slots--
    this.#fillSlots(queue)
  }

  #isTurnOver(): boolean {
    return performance.now() - this.#turnStartedAt > turnMs
  }

  /** Handlers that never await anything would otherwise block this thread until the backlog is empty. */
  #yield(): Promise<void> {
    return (this.#nextTurn ??= new Promise((resolve) =>
      setImmediate(() => {
        this.#nextTurn = undefined
        this.#turnStartedAt = performance.now()
        resolve()
      }),
    ))
  }

  /** Resolves when the handler has really ended. */
  async #run(queue: HandlerQueue, handler: ResolvedHandler, lease: Lease): Promise<void> {
    const { clock, log, overrunGraceMs, observer, tracer = null } = this.#options
    queue.breaker?.enter(lease.runId)
    const state = this.#stateOf(handler.name)
    state.revoke(lease.runId)
    const context = new RunContext({ lease, state, sinks: this.#sinks, clock, log, api: this.#options.api })
    const number = ++this.#started
    observer.starting(number, lease.runId, handler)
    const attempt = new Attempt({ handler, context, clock, overrunGraceMs, tracer })
    observer.yielded()
    this.#attempts.set(number, attempt)
    const outcome = await attempt.outcome
    if (outcome === 'interrupted' || outcome.kind !== 'done') state.forget(context.keysRead)
    const hasEnded = !attempt.hasOverrun || (await this.#outlast(queue, attempt, { lease, outcome }))
    this.#attempts.delete(number)
    queue.ended++
    observer.ended(number)
    queue.breaker?.leave(lease.runId)
    if (!hasEnded) return
    // Skipped events don't count against the rate.
    if (outcome !== 'interrupted' && (outcome.kind === 'unmatched' || outcome.kind === 'expired'))
      queue.bucket?.spend(-1)
    if (outcome === 'interrupted') void this.#releaseRun(queue, lease)
    else void this.#settleAndReport(queue, lease, outcome)
  }

  /**
   * Waits for a handler that ignores its signal. Its outcome must not be stored while it runs: the next attempt, or the
   * next run of the key, would start in parallel. Returns false if the end of the thread has to settle it.
   */
  async #outlast(queue: HandlerQueue, attempt: Attempt, unfinished: UnfinishedAttempt): Promise<boolean> {
    this.#unfinished.set(attempt, unfinished)
    this.#removeClaimed(queue, unfinished.lease)
    if (!this.#stopping) this.#options.observer.stuck(unfinished.lease.handler)
    await attempt.ended
    if (this.#stopping) return false
    this.#unfinished.delete(attempt)
    this.#addClaimed(queue, unfinished.lease)
    return true
  }

  async #releaseRun(queue: HandlerQueue, lease: Lease): Promise<void> {
    await this.#release([lease])
    this.#removeClaimed(queue, lease)
  }

  async #settleAndReport(queue: HandlerQueue, lease: Lease, outcome: Outcome): Promise<void> {
    const durationMs = outcome.endedAt - outcome.startedAt
    queue.averageMs += (durationMs - queue.averageMs) / 16
    const result = await this.#settle(lease, outcome)
    if (result === 'conflict') this.#options.observer.settled(lease.handler, 'conflict', durationMs, { lease, outcome })
    if (result === 'applied') {
      this.#options.observer.settled(lease.handler, outcome.kind, durationMs, { lease, outcome })
      this.#failureLog(attemptNameOf(lease), outcome)
    }
    this.#removeClaimed(queue, lease)
    this.#claimIfRoom(queue)
  }

  /** While the writes of a run are being stored, the next runs already see them. */
  async #settle(lease: Lease, outcome: Outcome): Promise<SettleResult> {
    const effects = outcome.kind === 'done' ? outcome.effects : undefined
    if (effects === undefined) return this.#settler.add(outcome)
    const state = this.#stateOf(lease.handler)
    state.anticipate(lease, effects)
    const result = await this.#settler.add(outcome)
    state.settled(lease, result === 'applied')
    return result
  }

  #stateOf(handler: string): StateCache {
    const known = this.#states.get(handler)
    if (known !== undefined) return known
    const cache = new StateCache((query) => this.#options.work.readState(handler, query))
    this.#states.set(handler, cache)
    return cache
  }

  /**
   * An outcome that is not stored would let a finished run be repeated, so a failed settle is retried until the store
   * closes. Its runs stay claimed, so no others are claimed in their place.
   */
  async #settleBatch(outcomes: readonly Outcome[]): Promise<readonly SettleResult[]> {
    const message = 'settle failed, retrying'
    const results = await this.#retryUntilDone(() => this.#options.work.settle(outcomes), {
      runs: outcomes.length,
      message,
    })
    return results ?? outcomes.map(() => 'stale')
  }

  /** Retried, because runs that are not released would be stuck. After `stop`, retiring the owner releases them. */
  async #release(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return
    const failed = { runs: leases.length, message: 'release failed', isEnding: () => this.#stopping }
    await this.#retryUntilDone(() => this.#options.work.release(leases), failed)
  }

  /** Retries until `work` succeeds. Returns undefined when the store closes, or when `work` fails and `isEnding` returns true. */
  async #retryUntilDone<T>(
    work: () => Promise<T>,
    { runs, message, isEnding }: { readonly runs: number; readonly message: string; readonly isEnding?: () => boolean },
  ): Promise<T | undefined> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (error instanceof InboxError && error.code === 'shutting_down') return undefined
        this.#options.log.warn({ error: messageOf(error), runs }, message)
        if (isEnding?.() === true) return undefined
        const delayMs = storeRetryMs[Math.min(attempt, storeRetryMs.length - 1)] ?? 0
        await new Promise<void>((resolve) => void this.#options.clock.after(delayMs, resolve))
      }
    }
  }

  #addClaimed(queue: HandlerQueue, lease: Lease): void {
    queue.claimed++
    this.#claimedBytes += bytesOf(lease)
  }

  #removeClaimed(queue: HandlerQueue, lease: Lease): void {
    queue.claimed--
    this.#claimedBytes -= bytesOf(lease)
    if (this.#stopping && this.isIdle) this.#idle.resolve()
  }

  async #idleWithin(ms: number): Promise<void> {
    if (this.isIdle) return
    const late = Promise.withResolvers<void>()
    const timer = this.#options.clock.after(ms, late.resolve)
    await Promise.race([this.#idle.promise, late.promise])
    timer.cancel()
  }
}

function bytesOf({ event, item }: Lease): number {
  return event.raw.length + (item?.payload.length ?? 0)
}
