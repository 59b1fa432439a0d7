import type { Clock, Timer } from '../base/clock.ts'
import { TokenBucket } from '../base/token-bucket.ts'
import type { Gate } from './gate.ts'
import type { ResolvedHandler } from './resolved-handler.ts'
import type { Lease } from '../inbox/port.ts'

/** One handler, or in a dispatcher for suspects all of them. */
export interface Lane {
  readonly handlers: ReadonlyMap<string, ResolvedHandler>
  /** One run at a time, whatever its handler says. */
  readonly suspects: boolean
  concurrency: number
  readonly priority: number
  /** Absent: as fast as it goes. */
  readonly bucket: TokenBucket | undefined
  rate: number
  /** Whether many of its runs may need no token, because they are looked at only. */
  readonly isSelective: boolean
  /** Armed while runs wait for nothing but a token. */
  tokenTimer: Timer | undefined
  /** Of a sink: whether it may be given items now. What a crash left is few, and each is tried once: that is not held back. */
  readonly gate: Gate | undefined
  /** Armed while the gate is shut. */
  gateTimer: Timer | undefined
  readonly claims: Set<Promise<void>>
  /** How many runs those claims may bring. */
  requested: number
  /** Claimed, and not yet settled or released. */
  held: number
  /** Claimed, and not yet started. */
  readonly backlog: Backlog
  /** Slots that work on the backlog, or wait for their turn to. */
  slots: number
  averageMs: number
  /** How many runs have ended. */
  ended: number
  /** Armed while runs wait for others to end. */
  paceTimer: Timer | undefined
}

/**
 * What is claimed ahead is at least one batch of running slots, and more where attempts are short: about this many
 * milliseconds of work. Where they are long, little is held that a crash would turn into suspects.
 */
const prefetchMs = 50
const maxPrefetch = 512

export function createLane(
  handlers: readonly ResolvedHandler[],
  { suspects, clock }: { readonly suspects: boolean; readonly clock: Clock },
): Lane {
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
    gate: first?.gate,
    gateTimer: undefined,
    claims: new Set(),
    requested: 0,
    held: 0,
    backlog: new Backlog(),
    slots: 0,
    averageMs: prefetchMs,
    ended: 0,
    paceTimer: undefined,
  }
}

/** How many runs it is to hold, those that run included. */
export function targetOf({ suspects, concurrency, averageMs, isSelective, rate }: Lane): number {
  if (suspects) return 1
  const inTime = Math.round((concurrency * prefetchMs) / Math.max(averageMs, 0.05))
  const ahead = Math.max(2 * concurrency, Math.min(maxPrefetch, inTime))
  const least = isSelective ? 2 * concurrency : 1
  return Math.min(ahead, Math.max(least, Math.ceil(rate)))
}

/** How many runs its gate lets it have that have not started. */
export function roomOf({ gate }: Lane, now: number): number {
  return gate?.room(now) ?? Infinity
}

/** Runs that were claimed and not yet started, in the order in which they are to start: those of replays behind all others. */
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

  /** Takes out all but the first `kept`. */
  cut(kept: number): Lease[] {
    const replayed = this.#replayed.splice(Math.max(0, kept - this.#live.length))
    return [...this.#live.splice(kept), ...replayed]
  }
}
