import PQueue from 'p-queue'
import { createBatcher } from '../base/batcher.ts'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Lease, Outcome, SettleResult, DispatchStore } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import type { Tracer } from '../base/tracing.ts'
import type { ApiSource } from './api.ts'
import { Attempt } from './attempt.ts'
import { RunContext } from './context.ts'
import { createFailureLog, type FailureLog } from './run-error.ts'
import { createLane, roomOf, targetOf, type Lane } from './lane.ts'
import { sinksOf, toKnownSinks, type KnownSinks, type SinkInfo } from './outbox.ts'
import { StateCache } from './state-cache.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** How an attempt ended. `conflict`: what it had read was changed meanwhile, so it is run again. */
export type AttemptResult = Outcome['kind'] | 'conflict'

export interface EndedAttempt {
  readonly lease: Lease
  readonly outcome: Outcome
}

export interface DispatcherObserver {
  /** A run of this handler is about to start. */
  starting(runId: number, handler: Pick<ResolvedHandler, 'name' | 'timeoutMs'>): void
  /** What of it comes before the first `await` is over. */
  yielded(): void
  /** The handler of a run has really ended. */
  ended(runId: number): void
  /** An attempt ended, as it was stored. `durationMs` is the handler's own time. */
  settled(handler: string, result: AttemptResult, durationMs: number, ended: EndedAttempt): void
  /** An attempt goes on long after its timeout. What it does can be ended only together with its thread. */
  stuck(handler: string): void
}

/** What became of an attempt whose handler still runs: to be stored, or released, once its thread has ended. */
export interface Leftover {
  readonly lease: Lease
  readonly outcome: Outcome | 'interrupted'
}

export interface DispatcherOptions {
  readonly work: Pick<DispatchStore, 'claim' | 'readState' | 'settle' | 'retire' | 'release'>
  readonly handlers: readonly ResolvedHandler[]
  /** Runs at once, all handlers. */
  readonly concurrency: number
  /** Whose leases these are. */
  readonly owner: string
  /** True: works on suspects only, one run at a time. */
  readonly suspects: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly observer: DispatcherObserver
  /** Default: nobody wants spans. */
  readonly tracer?: Tracer | null
  /** What runs have as `ctx.api`. Default: nothing. */
  readonly api?: ApiSource | undefined
  /** How long a handler may take to end after its timeout, before it counts as stuck. */
  readonly overrunGraceMs: number
}

/** Where no run of a handler has ended for so long, its runs take at least that. */
const paceMs = 1_000
/** What is claimed in all: where bodies are large, little ahead. */
const mostHeldBytes = 32 * 1024 * 1024
/** While one claim brings its runs here, the next one waits at the store already. */
const maxClaims = 2
/** How long runs may follow each other before timers, messages and the slots of other lanes have their turn. */
const turnMs = 20
const storeRetryMs = [100, 500, 2_000] as const

/**
 * Claims runs, runs their handlers within the limits of each, and settles what became of them in batches. It knows nothing
 * of databases or threads.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #all: PQueue
  readonly #lanes: readonly Lane[]
  readonly #attempts = new Set<Attempt>()
  readonly #failureLog: FailureLog
  #sinks: KnownSinks
  /** By handler. */
  readonly #states = new Map<string, StateCache>()
  readonly #settler: { add(outcome: Outcome): Promise<SettleResult> }
  /** By attempts whose handlers still run although they are over. */
  readonly #leftovers = new Map<Attempt, Leftover>()
  #heldBytes = 0
  /** Resolved once nothing is held any more after `stop`. */
  readonly #idle = Promise.withResolvers<void>()
  #stopping = false
  #turnStartedAt = 0
  #nextTurn: Promise<void> | undefined

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#all = new PQueue({ concurrency: options.suspects ? 1 : options.concurrency })
    const groups = options.suspects ? [options.handlers] : options.handlers.map((handler) => [handler])
    this.#lanes = groups.map((handlers) => createLane(handlers, options))
    this.#failureLog = createFailureLog(options)
    this.#sinks = toKnownSinks(sinksOf(options.handlers))
    this.#settler = createBatcher((outcomes) => this.#settleBatch(outcomes))
    for (const lane of this.#lanes) lane.gate?.onChange(() => this.#gateChanged(lane))
  }

  start(): void {
    for (const lane of this.#lanes) this.#pull(lane)
  }

  /** From now on so many runs of a handler may run at once; null: as it says itself. What runs goes on. */
  setConcurrency(handler: string, concurrency: number | null): void {
    if (this.#options.suspects) return
    for (const lane of this.#lanes) {
      const own = lane.handlers.get(handler)
      if (own === undefined) continue
      lane.concurrency = (concurrency ?? own.concurrency) * own.batch
      own.onConcurrency?.(concurrency ?? own.concurrency)
      this.#fillSlots(lane)
      this.#pull(lane)
    }
  }

  /** From now on so many processes share what handlers may do per second. */
  shareRates(processes: number): void {
    for (const lane of this.#lanes) {
      const [own] = lane.handlers.values()
      if (lane.bucket === undefined || own?.rate === undefined) continue
      lane.rate = own.rate / processes
      lane.bucket.setRate(lane.rate)
      lane.tokenTimer?.cancel()
      lane.tokenTimer = undefined
      this.#fillSlots(lane)
      this.#pull(lane)
    }
  }

  /**
   * Gives back what was claimed and has not started, of one handler or, with null, of all: to be called when it may not be what
   * is to run any more. What may still be run is claimed again.
   */
  async recall(handler: string | null): Promise<void> {
    const lanes = this.#lanes.filter((lane) => handler === null || lane.handlers.has(handler))
    await Promise.all(lanes.map((lane) => this.#cut(lane, 0)))
    // What had been claimed before may have been on its way here.
    await new Promise<void>((resolve) => setImmediate(resolve))
    await Promise.all(lanes.map((lane) => this.#cut(lane, 0)))
    for (const lane of lanes) this.#pull(lane)
  }

  /** From now on runs can leave something for these; until this is called, for those among its own handlers. */
  useSinks(sinks: readonly SinkInfo[]): void {
    this.#sinks = toKnownSinks(sinks)
  }

  /** Longest time, in milliseconds, that one of the attempts that run now may take; for whoever watches this thread. */
  get longestTimeoutMs(): number {
    return Math.max(0, ...Array.from(this.#attempts, (attempt) => attempt.timeoutMs))
  }

  /** How many handlers run now. */
  get running(): number {
    return this.#attempts.size
  }

  /** Whether nothing is held: each run that was claimed has a verdict that is stored, was given back, or is a leftover. */
  get isIdle(): boolean {
    return this.#lanes.every((lane) => lane.held === 0)
  }

  /**
   * Stops claiming, gives back what was not started, waits up to `graceMs` for what runs, then aborts it and waits up to
   * `abortGraceMs` more. What only this stop ended is given back without being charged. Gives what is left of handlers that ran
   * on regardless. A second call with a shorter time hastens the first.
   */
  async stop(graceMs: number, abortGraceMs: number): Promise<readonly Leftover[]> {
    this.#stopping = true
    for (const { gateTimer } of this.#lanes) gateTimer?.cancel()
    // Whatever a claim brings from here on is not started.
    await this.#options.work.retire(this.#options.owner).then(
      () => Promise.all(this.#lanes.flatMap((lane) => [...lane.claims])),
      () => {},
    )
    await Promise.all(this.#lanes.map((lane) => this.#cut(lane, 0)))
    await this.#idleWithin(graceMs)
    for (const attempt of this.#attempts) attempt.stop('shutdown')
    await this.#idleWithin(abortGraceMs)
    for (const attempt of this.#attempts) attempt.giveUp()
    await this.#idleWithin(abortGraceMs)
    return [...this.#leftovers.values()]
  }

  #pull(lane: Lane): void {
    if (lane.handlers.size === 0) return
    const target = Math.min(targetOf(lane), roomOf(lane, this.#now()))
    while (!this.#stopping && lane.claims.size < maxClaims) {
      if (lane.held > 0 && this.#heldBytes >= mostHeldBytes) return
      const free = target - lane.held - lane.requested
      // In portions, so that fast handlers do not claim one run at a time.
      if (free < Math.max(1, Math.floor(target / 4))) return
      const claim = this.#claim(lane, Math.min(free, Math.ceil(target / maxClaims)))
      lane.claims.add(claim)
      void claim.then(() => lane.claims.delete(claim))
    }
  }

  async #claim(lane: Lane, max: number): Promise<void> {
    const { work, owner, suspects, clock, log } = this.#options
    lane.requested += max
    try {
      const leases = await work.claim({ handlers: [...lane.handlers.keys()], max, owner, suspects })
      for (const lease of leases) this.#take(lane, lease)
      if (lane.gate !== undefined) await this.#cutToRoom(lane)
      // None: the store is closing, or this owner was given up.
      if (leases.length > 0) setImmediate(() => this.#pull(lane))
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'runs could not be claimed; trying again')
      clock.after(1_000, () => this.#pull(lane))
    } finally {
      lane.requested -= max
      this.#fillSlots(lane)
    }
  }

  #take(lane: Lane, lease: Lease): void {
    this.#hold(lane, lease)
    lane.backlog.push(lease)
    this.#keepPace(lane)
  }

  /** Looks now and then, while runs wait, whether those before them are as fast as when these were claimed. */
  #keepPace(lane: Lane): void {
    if (lane.paceTimer !== undefined || lane.backlog.length === 0) return
    const { ended } = lane
    lane.paceTimer = this.#options.clock.after(paceMs, () => {
      lane.paceTimer = undefined
      if (lane.ended === ended) lane.averageMs = Math.max(lane.averageMs, paceMs)
      // Where it is only a little too much, it is soon worked off.
      if (lane.backlog.length > 2 * targetOf(lane)) void this.#cut(lane, targetOf(lane))
      this.#keepPace(lane)
    })
  }

  /** Gives back all that has not started but the first `kept`. */
  async #cut(lane: Lane, kept: number): Promise<void> {
    const leases = lane.backlog.cut(kept)
    await this.#release(leases)
    for (const lease of leases) this.#free(lane, lease)
  }

  /** Gives back what has not started and may not start soon, because its sink is shut: it waits in the store. */
  #cutToRoom(lane: Lane): Promise<void> {
    return this.#cut(lane, roomOf(lane, this.#now()))
  }

  /** A sink was shut, or may be given more than before. */
  #gateChanged(lane: Lane): void {
    lane.gateTimer?.cancel()
    lane.gateTimer = undefined
    if (this.#stopping) return
    const waitMs = lane.gate?.waitMs(this.#now()) ?? 0
    if (waitMs > 0) lane.gateTimer = this.#options.clock.after(waitMs, () => this.#gateChanged(lane))
    void this.#cutToRoom(lane)
    this.#fillSlots(lane)
    this.#pull(lane)
  }

  #now(): number {
    return this.#options.clock.now()
  }

  /** Gives the backlog as many slots as there are runs for, and as the handler may have. */
  #fillSlots(lane: Lane): void {
    if (this.#stopping || roomOf(lane, this.#now()) === 0 || this.#lacksTokens(lane)) return
    for (let waiting = lane.backlog.length; waiting > 0 && lane.slots < lane.concurrency; waiting--) {
      lane.slots++
      void this.#all.add(() => this.#workOff(lane), { priority: lane.priority })
    }
  }

  /** Whether its rate lets no run start now; then one timer waits until it does. */
  #lacksTokens(lane: Lane): boolean {
    const waitMs = lane.bucket?.waitMs() ?? 0
    if (waitMs === 0 || lane.backlog.length === 0) return false
    lane.tokenTimer ??= this.#options.clock.after(waitMs, () => {
      lane.tokenTimer = undefined
      this.#fillSlots(lane)
    })
    return true
  }

  async #workOff(lane: Lane): Promise<void> {
    while (this.#isTurnOver()) await this.#turn()
    // There may be fewer slots now than when this one was given.
    while (!this.#stopping && lane.slots <= lane.concurrency) {
      if (lane.backlog.length > 0 && (roomOf(lane, this.#now()) === 0 || lane.bucket?.take() === false)) break
      const lease = lane.backlog.shift()
      const handler = lease && lane.handlers.get(lease.handler)
      if (lease === undefined || handler === undefined) break
      await this.#run(lane, handler, lease)
      if (this.#isTurnOver()) break
    }
    lane.slots--
    this.#fillSlots(lane)
  }

  #isTurnOver(): boolean {
    return performance.now() - this.#turnStartedAt > turnMs
  }

  /** Handlers that never wait for anything would otherwise keep this thread from all else until the backlog is done. */
  #turn(): Promise<void> {
    return (this.#nextTurn ??= new Promise((resolve) =>
      setImmediate(() => {
        this.#nextTurn = undefined
        this.#turnStartedAt = performance.now()
        resolve()
      }),
    ))
  }

  /** Resolves when the handler has really ended. */
  async #run(lane: Lane, handler: ResolvedHandler, lease: Lease): Promise<void> {
    const { clock, log, overrunGraceMs, observer, tracer = null } = this.#options
    lane.gate?.enter(lease.runId)
    const state = this.#stateOf(handler.name)
    state.revoke(lease.runId)
    const context = new RunContext({ lease, state, sinks: this.#sinks, clock, log, api: this.#options.api })
    observer.starting(lease.runId, handler)
    const attempt = new Attempt({ handler, context, clock, overrunGraceMs, tracer })
    observer.yielded()
    this.#attempts.add(attempt)
    const outcome = await attempt.outcome
    if (outcome === 'interrupted' || outcome.kind !== 'done') state.forget(context.keysRead)
    const isOver = !attempt.hasOverrun || (await this.#outlast(lane, attempt, { lease, outcome }))
    this.#attempts.delete(attempt)
    lane.ended++
    observer.ended(lease.runId)
    lane.gate?.leave(lease.runId)
    if (!isOver) return
    // What was looked at only does not count for the rate.
    if (outcome !== 'interrupted' && (outcome.kind === 'unmatched' || outcome.kind === 'expired'))
      lane.bucket?.spend(-1)
    if (outcome === 'interrupted') void this.#giveBack(lane, lease)
    else void this.#report(lane, lease, outcome)
  }

  /**
   * Waits for a handler that heeds no signal. What became of its run must not be stored while it runs: the next attempt, or
   * the next run of the key, would begin beside it. False if that is left to whoever ends this thread.
   */
  async #outlast(lane: Lane, attempt: Attempt, leftover: Leftover): Promise<boolean> {
    this.#leftovers.set(attempt, leftover)
    this.#free(lane, leftover.lease)
    if (!this.#stopping) this.#options.observer.stuck(leftover.lease.handler)
    await attempt.ended
    if (this.#stopping) return false
    this.#leftovers.delete(attempt)
    this.#hold(lane, leftover.lease)
    return true
  }

  async #giveBack(lane: Lane, lease: Lease): Promise<void> {
    await this.#release([lease])
    this.#free(lane, lease)
  }

  async #report(lane: Lane, lease: Lease, outcome: Outcome): Promise<void> {
    const durationMs = outcome.endedAt - outcome.startedAt
    lane.averageMs += (durationMs - lane.averageMs) / 16
    const result = await this.#settle(lease, outcome)
    if (result === 'conflict') this.#options.observer.settled(lease.handler, 'conflict', durationMs, { lease, outcome })
    if (result === 'applied') {
      this.#options.observer.settled(lease.handler, outcome.kind, durationMs, { lease, outcome })
      this.#failureLog({ handler: lease.handler, attempt: lease.attempt, eventId: lease.event.id }, outcome)
    }
    this.#free(lane, lease)
    this.#pull(lane)
  }

  /** What a run wrote is shown to the next ones while it is being stored. */
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
   * A verdict that is not stored would let a finished run be repeated, so a refusal is tried again for as long as there is a
   * store. Meanwhile these runs count as held, so that nothing new is claimed on top of them.
   */
  async #settleBatch(outcomes: readonly Outcome[]): Promise<readonly SettleResult[]> {
    const message = 'verdicts could not be stored; trying again'
    const results = await this.#insist(() => this.#options.work.settle(outcomes), { runs: outcomes.length, message })
    return results ?? outcomes.map(() => 'stale')
  }

  /** What the store refuses to take back would belong to nobody, so it is tried again; after a stop it goes back with all else of this owner. */
  async #release(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return
    const failed = { runs: leases.length, message: 'runs could not be given back', isOver: () => this.#stopping }
    await this.#insist(() => this.#options.work.release(leases), failed)
  }

  /** Asks the store until it does not refuse. Undefined: it closes, or it has refused and `isOver`. */
  async #insist<T>(
    work: () => Promise<T>,
    { runs, message, isOver }: { readonly runs: number; readonly message: string; readonly isOver?: () => boolean },
  ): Promise<T | undefined> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (error instanceof InboxError && error.code === 'shutting_down') return undefined
        this.#options.log.warn({ error: messageOf(error), runs }, message)
        if (isOver?.() === true) return undefined
        const delayMs = storeRetryMs[Math.min(attempt, storeRetryMs.length - 1)] ?? 0
        await new Promise<void>((resolve) => void this.#options.clock.after(delayMs, resolve))
      }
    }
  }

  #hold(lane: Lane, lease: Lease): void {
    lane.held++
    this.#heldBytes += bytesOf(lease)
  }

  #free(lane: Lane, lease: Lease): void {
    lane.held--
    this.#heldBytes -= bytesOf(lease)
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
