import type { Clock, Timer } from '../../base/clock.ts'
import type { StoredDelivery } from './port.ts'

/** How many deliveries of an endpoint are held in memory until their turn comes; the others wait in the store. */
const maxReady = 256

export interface EndpointQueueOptions {
  readonly clock: Clock
  /** When the store cannot be read, it is tried again by this clock. */
  readonly wall: Clock
  /** How many deliveries the endpoint gets at once (A44). */
  readonly parallel: number
  /** Those due at `now`, the first due first; all that was told before is known to it. */
  readonly due: (now: number, limit: number) => readonly StoredDelivery[]
  readonly nextDueAt: (now: number) => number | null
  /** Makes one attempt; settles or schedules the delivery before it resolves. Never rejects. */
  readonly attempt: (delivery: StoredDelivery) => Promise<void>
  /** Called when something has ended. */
  readonly onChange: () => void
  /** Called with what keeps the queue from going on for the moment. */
  readonly onError: (error: unknown) => void
}

/** The deliveries of one endpoint: as many at once as it may get, the first due first, with one timer for all the others. */
export interface EndpointQueue {
  /** A delivery is due at its `nextAttemptAt`, or was, if it is to be made again. */
  add(delivery: StoredDelivery): void
  /** Something may be due that was never added: left behind by a process before. */
  wake(): void
  /** Whether nothing is being sent and nothing is due. */
  isIdle(): boolean
  inFlight(): number
  /** Nothing is begun any more; gives those that were held in memory. Idempotent. */
  close(): readonly StoredDelivery[]
}

/** After the store could not be read, as when the disk is full. */
const retryMs = 1_000

export function createEndpointQueue(options: EndpointQueueOptions): EndpointQueue {
  const { clock, wall, parallel, due, nextDueAt, attempt, onChange, onError } = options
  let ready: StoredDelivery[] = []
  /** Ready or in flight, by number. */
  const held = new Map<number, StoredDelivery>()
  let inFlight = 0
  /** Whether the store may have more that is due than is held. */
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

  /** What is not held is found in the store when its time has come. */
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
    add(delivery) {
      const isDue = delivery.nextAttemptAt !== null && delivery.nextAttemptAt <= clock.now()
      if (isDue && !hasMore && ready.length < maxReady) {
        ready.push(delivery)
        held.set(delivery.seq, delivery)
      } else schedule(delivery)
      advance()
    },
    wake,
    isIdle: () => inFlight === 0 && ready.length === 0 && !hasMore,
    inFlight: () => inFlight,
    close() {
      isClosed = true
      retry?.cancel()
      arm()
      return [...held.values()]
    },
  }
}
