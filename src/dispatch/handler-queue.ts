import type { Clock, Timer } from '../base/clock.ts'
import { TokenBucket } from '../base/token-bucket.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import type { ResolvedHandler } from './resolved-handler.ts'
import type { Lease } from '../inbox/port.ts'

/** Claimed runs of one handler; in a dispatcher for suspects, of all handlers. */
export interface HandlerQueue {
  readonly handlers: ReadonlyMap<string, ResolvedHandler>
  /** True: one run at a time, and the handler's concurrency is ignored. */
  readonly suspects: boolean
  concurrency: number
  readonly priority: number
  /** Undefined: no rate limit. */
  readonly bucket: TokenBucket | undefined
  rate: number
  /** True when `match` or `maxAgeMs` may skip many runs, which then need no token. */
  readonly isSelective: boolean
  /** Set while runs wait only for a token. */
  tokenTimer: Timer | undefined
  /** Breaker of a sink; undefined for handlers, and for suspects, because there are few and each runs once. */
  readonly breaker: CircuitBreaker | undefined
  /** Set while the breaker is open. */
  breakerTimer: Timer | undefined
  readonly claims: Set<Promise<void>>
  /** Number of runs that open claims may return. */
  requested: number
  /** Number of claimed runs, not yet settled or released. */
  claimed: number
  /** Runs claimed, and not yet started. */
  readonly backlog: Backlog
  /** Slots that work on the backlog, or wait for their turn. */
  slots: number
  averageMs: number
  /** Number of runs that have ended. */
  ended: number
  /** Set while runs wait for others to end. */
  paceTimer: Timer | undefined
}

/**
 * Prefetching claims at least two runs per slot. With short attempts it claims about this many milliseconds of work.
 * With long attempts it claims little, so that a crash turns few runs into suspects.
 */
const prefetchMs = 50
/** Maximum runs that a queue prefetches: a crash turns them into suspects. */
const maxPrefetch = 512

export function createHandlerQueue(
  handlers: readonly ResolvedHandler[],
  { suspects, clock }: { readonly suspects: boolean; readonly clock: Clock },
): HandlerQueue {
  const [first] = suspects ? [] : handlers
  return {
    handlers: new Map(handlers.map((handler) => [handler.name, handler])),
    suspects,
    concurrency: first === undefined ? 1 : first.concurrency * first.batch,
    priority: first?.priority ?? 0,
    bucket: first?.rate === undefined ? undefined : new TokenBucket(first.rate, clock),
    rate: first?.rate ?? Infinity,
    isSelective: first?.match !== undefined || first?.maxAgeMs !== undefined,
    tokenTimer: undefined,
    breaker: first?.breaker,
    breakerTimer: undefined,
    claims: new Set(),
    requested: 0,
    claimed: 0,
    backlog: new Backlog(),
    slots: 0,
    averageMs: prefetchMs,
    ended: 0,
    paceTimer: undefined,
  }
}

/** How many runs the queue should hold, runs in flight included. */
export function targetOf({ suspects, concurrency, averageMs, isSelective, rate }: HandlerQueue): number {
  if (suspects) return 1
  const inTime = Math.round((concurrency * prefetchMs) / Math.max(averageMs, 0.05))
  const prefetched = Math.max(2 * concurrency, Math.min(maxPrefetch, inTime))
  const minimum = isSelective ? 2 * concurrency : 1
  return Math.min(prefetched, Math.max(minimum, Math.ceil(rate)))
}

/** How many more runs its breaker allows to start. */
export function roomOf({ breaker }: HandlerQueue, now: number): number {
  return breaker?.room(now) ?? Infinity
}

/** Claimed runs that have not started, in starting order: replays after live runs. */
export class Backlog {
  readonly #live: Lease[] = []
  readonly #replayed: Lease[] = []

  get length(): number {
    return this.#live.length + this.#replayed.length
  }

  push(lease: Lease): void {
    if (lease.replay === null) this.#live.push(lease)
    else this.#replayed.push(lease)
  }

  shift(): Lease | undefined {
    return this.#live.shift() ?? this.#replayed.shift()
  }

  /** Removes and returns all but the first `keepCount`. */
  cut(keepCount: number): Lease[] {
    const replayed = this.#replayed.splice(Math.max(0, keepCount - this.#live.length))
    return [...this.#live.splice(keepCount), ...replayed]
  }
}
