import type { Clock, Timer } from '../../base/clock.ts'
import type { Delivery } from './delivery.ts'
import type { DeliveryStore } from './store.ts'

/** Maximum due deliveries in memory per endpoint. The others stay in the store. */
const maxReady = 256

export interface EndpointQueueOptions {
  readonly endpointId: string
  /** The world clock. */
  readonly clock: Clock
  readonly store: Pick<DeliveryStore, 'due' | 'nextDueAt'>
  /** Concurrent deliveries of the endpoint (A44). */
  readonly parallel: number
  /** Makes one attempt and saves its delivery. */
  readonly attempt: (delivery: Delivery) => Promise<void>
  /** Called after each attempt. */
  readonly onChange: () => void
}

export type EndpointQueue = ReturnType<typeof createEndpointQueue>

/** The deliveries of one endpoint: up to `parallel` in flight, earliest due first, one timer for the rest. */
export function createEndpointQueue({ endpointId, clock, store, parallel, attempt, onChange }: EndpointQueueOptions) {
  let ready: Delivery[] = []
  const inFlight = new Map<number, Delivery>()
  /** True if the store may have due deliveries that are neither ready nor in flight. */
  let hasMore = false
  let timer: Timer | undefined
  let timerAt = Infinity
  let isClosed = false

  function refill(): void {
    const now = clock.now()
    const limit = maxReady + inFlight.size
    const due = store.due(endpointId, now, limit)
    hasMore = due.length === limit
    ready = due.filter(({ seq }) => !inFlight.has(seq))
    if (!hasMore) setTimer(store.nextDueAt(endpointId, now) ?? Infinity)
  }

  function advance(): void {
    while (!isClosed && inFlight.size < parallel) {
      if (ready.length === 0 && hasMore) refill()
      const delivery = ready.shift()
      if (delivery === undefined) return
      inFlight.set(delivery.seq, delivery)
      void run(delivery)
    }
  }

  async function run(delivery: Delivery): Promise<void> {
    await attempt(delivery)
    inFlight.delete(delivery.seq)
    if (delivery.nextAttemptAt !== null) schedule(delivery.nextAttemptAt)
    advance()
    onChange()
  }

  function schedule(dueAt: number): void {
    if (dueAt <= clock.now()) hasMore = true
    else if (dueAt < timerAt) setTimer(dueAt)
  }

  function setTimer(at: number): void {
    timer?.cancel()
    timerAt = at
    timer = at === Infinity || isClosed ? undefined : clock.after(at - clock.now(), onTimer)
  }

  function onTimer(): void {
    timerAt = Infinity
    hasMore = true
    advance()
  }

  return {
    /** Tells the queue that the store has a delivery due at this moment. */
    add(dueAt: number): void {
      schedule(dueAt)
      advance()
    },
    /** True if nothing is in flight and nothing is due. */
    isIdle: () => inFlight.size === 0 && ready.length === 0 && !hasMore,
    /** Starts no further attempts; returns the deliveries in memory. Idempotent. */
    close(): readonly Delivery[] {
      isClosed = true
      setTimer(Infinity)
      return [...ready, ...inFlight.values()]
    },
  }
}
