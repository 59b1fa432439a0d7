import type { Clock, Timer } from '../../base/clock.ts'
import { addDue, countWhile, type Due } from '../sorted-list.ts'
import type { Delivery } from './delivery.ts'

export interface EndpointQueueOptions {
  /** The world clock. */
  readonly clock: Clock
  /** Concurrent deliveries of the endpoint (A44). */
  readonly parallel: number
  /** Makes one attempt. Sets `nextAttemptAt`; null if there is no further attempt. */
  readonly attempt: (delivery: Delivery) => Promise<void>
  /** Called when an attempt begins (1), and when it has ended and the next due ones have begun (-1). */
  readonly onChange: (inFlight: 1 | -1) => void
}

export type EndpointQueue = ReturnType<typeof createEndpointQueue>

/** The pending deliveries of one endpoint: up to `parallel` in flight, earliest due first, one timer for the rest. */
export function createEndpointQueue({ clock, parallel, attempt, onChange }: EndpointQueueOptions) {
  const waiting: (Due & { readonly delivery: Delivery })[] = []
  /** Due deliveries, latest first: taking the first of a long list would move all others. */
  let due: Delivery[] = []
  const inFlight = new Set<Delivery>()
  let timer: Timer | undefined
  /** Time of the timer; infinite without one. */
  let timerAt = Infinity
  let isClosed = false

  function add(delivery: Delivery): void {
    const { nextAttemptAt, seq } = delivery
    if (nextAttemptAt !== null) addDue(waiting, { at: nextAttemptAt, priority: 0, order: seq, delivery })
  }

  function takeDue(now: number): Delivery[] {
    const count = countWhile(waiting, ({ at }) => at <= now)
    return waiting
      .splice(0, count)
      .map(({ delivery }) => delivery)
      .reverse()
  }

  function advance(): void {
    if (isClosed) return
    const now = clock.now()
    while (inFlight.size < parallel) {
      if (due.length === 0) due = takeDue(now)
      const next = due.pop()
      if (next === undefined) break
      void run(next)
    }
    const nextAt = waiting[0]?.at ?? Infinity
    // Due deliveries begin when others end.
    setTimer(nextAt > now ? nextAt : Infinity)
  }

  async function run(delivery: Delivery): Promise<void> {
    inFlight.add(delivery)
    onChange(1)
    try {
      await attempt(delivery)
    } finally {
      inFlight.delete(delivery)
      add(delivery)
      advance()
      onChange(-1)
    }
  }

  function setTimer(at: number): void {
    if (at === timerAt) return
    timer?.cancel()
    timerAt = at
    timer = at === Infinity ? undefined : clock.after(at - clock.now(), onTimer)
  }

  function onTimer(): void {
    timerAt = Infinity
    advance()
  }

  return {
    /** Adds a pending delivery, and begins it if it is due. */
    add(delivery: Delivery): void {
      add(delivery)
      advance()
    },
    /** Begins no further attempts; returns all deliveries, also those in flight. Idempotent. */
    close(): readonly Delivery[] {
      isClosed = true
      setTimer(Infinity)
      return [...due, ...waiting.map(({ delivery }) => delivery), ...inFlight]
    },
  }
}
