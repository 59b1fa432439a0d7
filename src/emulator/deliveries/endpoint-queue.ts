import type { Clock, Timer } from '../../base/clock.ts'
import type { StoredDelivery } from './port.ts'

/** Maximum due deliveries in memory per endpoint. The others stay in the store. */
const maxReady = 256

export interface EndpointQueueOptions {
  readonly clock: Clock
  /** Times the retry after a failed read of the store. */
  readonly wall: Clock
  /** Concurrent deliveries of the endpoint (A44). */
  readonly parallel: number
  /** Returns deliveries due at `now`, earliest first. Includes everything passed to `add` before. */
  readonly due: (now: number, limit: number) => readonly StoredDelivery[]
  readonly nextDueAt: (now: number) => number | null
  /** Makes one attempt; settles or schedules the delivery before it resolves. Never rejects. */
  readonly attempt: (delivery: StoredDelivery) => Promise<void>
  /** Called after each attempt. */
  readonly onChange: () => void
  /** Called with an error of the store. The queue retries. */
  readonly onError: (error: unknown) => void
}

/** Delay after a failed read of the store. */
const retryMs = 1_000

export type EndpointQueue = ReturnType<typeof createEndpointQueue>

/** The deliveries of one endpoint: up to `parallel` in flight, earliest due first, one timer for the rest. */
export function createEndpointQueue(options: EndpointQueueOptions) {
  const { clock, wall, parallel, due, nextDueAt, attempt, onChange, onError } = options
  let ready: StoredDelivery[] = []
  /** Ready or in flight, by number. */
  const held = new Map<number, StoredDelivery>()
  let inFlight = 0
  /** True if the store may have more due deliveries than `held`. */
  let hasMore = false
  let nextAt: number | null = null
  let timer: Timer | undefined
  let timerAt: number | null = null
  let retry: Timer | undefined
  let isClosed = false

  function take(): StoredDelivery | undefined {
    if (ready.length === 0 && hasMore) refill()
    return ready.shift()
  }

  function refill(): void {
    const now = clock.now()
    const limit = maxReady + held.size
    const found = due(now, limit)
    hasMore = found.length === limit
    nextAt = nextDueAt(now)
    ready = found.filter(({ seq }) => !held.has(seq)).slice(0, maxReady)
    for (const delivery of ready) held.set(delivery.seq, delivery)
  }

  function advance(): void {
    try {
      startAttempts()
    } catch (error) {
      if (retry === undefined) onError(error)
      retry ??= wall.after(retryMs, () => {
        retry = undefined
        advance()
      })
    }
    arm()
  }

  function startAttempts(): void {
    while (!isClosed && inFlight < parallel) {
      const delivery = take()
      if (delivery === undefined) break
      inFlight++
      void run(delivery)
    }
  }

  async function run(delivery: StoredDelivery): Promise<void> {
    await attempt(delivery)
    inFlight--
    held.delete(delivery.seq)
    if (delivery.nextAttemptAt !== null) schedule(delivery)
    advance()
    onChange()
  }

  /** A delivery that is not held is read from the store when it is due. */
  function schedule({ nextAttemptAt }: StoredDelivery): void {
    if (nextAttemptAt === null) return
    if (nextAttemptAt <= clock.now()) hasMore = true
    else nextAt = Math.min(nextAt ?? nextAttemptAt, nextAttemptAt)
  }

  function arm(): void {
    const wanted = isClosed || hasMore ? null : nextAt
    if (wanted === timerAt) return
    timer?.cancel()
    timerAt = wanted
    timer = wanted === null ? undefined : clock.after(wanted - clock.now(), wake)
  }

  function wake(): void {
    timerAt = null
    hasMore = true
    advance()
  }

  return {
    /** Adds a delivery that is due at its `nextAttemptAt`, now or later. */
    add(delivery: StoredDelivery): void {
      const isDue = delivery.nextAttemptAt !== null && delivery.nextAttemptAt <= clock.now()
      if (isDue && !hasMore && ready.length < maxReady) {
        ready.push(delivery)
        held.set(delivery.seq, delivery)
      } else schedule(delivery)
      advance()
    },
    /** Checks the store for due deliveries of a previous process. */
    wake,
    /** True if nothing is in flight and nothing is due. */
    isIdle: () => inFlight === 0 && ready.length === 0 && !hasMore,
    inFlight: () => inFlight,
    /** Starts no further attempts; returns the deliveries held in memory. Idempotent. */
    close(): readonly StoredDelivery[] {
      isClosed = true
      retry?.cancel()
      arm()
      return [...held.values()]
    },
  }
}
