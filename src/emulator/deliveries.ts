import type { Clock } from '../clock.ts'
import { InboxError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { sign } from '../signature/sign.ts'
import { createEndpointQueue, type Counts } from './endpoint-queue.ts'
import { createPoster } from './post.ts'
import { createRandomStream } from './random.ts'

/** A URL that gets every event, signed with its own secret. */
export interface Endpoint {
  readonly url: string
  readonly secret: string
}

/** An event as it is sent: the bytes are made once and never again (R72, R89). */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  readonly body: Buffer
}

/** One POST and what became of it. Times are milliseconds since 1970 on the world clock, latency is on the wall clock. */
export interface AttemptReport {
  readonly at: number
  readonly url: string
  readonly eventId: string
  readonly eventType: string
  /** 1 to 6. */
  readonly attempt: number
  /** Whether this was an extra delivery of an event acknowledged before (R88). */
  readonly isExtra: boolean
  readonly outcome: 'acknowledged' | 'failed' | 'undelivered'
  readonly status: number | null
  readonly failure: string | null
  readonly latencyMs: number
  readonly nextAttemptAt: number | null
}

export interface DeliveriesOptions {
  /** The world clock: the retry ladder runs on it. */
  readonly clock: Clock
  /** The wall clock: the 5 s to answer are measured on it, however fast the world goes (A43). */
  readonly wall: Clock
  readonly endpoints: readonly Endpoint[]
  /** Share of acknowledged events that are delivered a second time, 0 to 1 (R88). Default 0. */
  readonly duplicateRate?: number
  readonly log: Logger
  readonly onAttempt?: (report: AttemptReport) => void
}

export interface Deliveries {
  /** Sends an event to every endpoint; an endpoint that fails gets it again by the ladder. */
  send(event: OutgoingEvent): void
  /** Sums over all endpoints. */
  counts(): Counts
  /** Resolves when nothing is being sent; retries may wait for their time. */
  idle(): Promise<void>
  /** Resolves when every event is acknowledged or undelivered. */
  settled(): Promise<void>
  /** Cancels every retry and cuts what is being sent. Idempotent. */
  close(): void
}

/** The delivery engine of the sender (R71, R72, R78, R80–R86, R88, R89): POSTs exact bytes, signed, until acknowledged. */
export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { clock, wall, endpoints, duplicateRate = 0, log, onAttempt } = options
  const poster = createPoster(wall)
  const waiters = new Set<{ isMet: (counts: Counts) => boolean; resolve: () => void }>()
  let isClosed = false

  const queues = endpoints.map(({ url, secret }) => {
    const target = toTarget(url)
    return createEndpointQueue<OutgoingEvent>({
      clock,
      post: ({ body }) =>
        poster.post(target, body, {
          'Content-Type': 'application/json',
          'User-Agent': 'onchain-inbox-emulator',
          'X-Service-Signature': sign(body, secret),
        }),
      // Drawn from the id, so that the same events are repeated whatever the order of the answers.
      isRepeated: ({ id }) => createRandomStream('duplicate', id).uniform() < duplicateRate,
      onResult({ event, attempt, isExtra }, at, result, nextAttemptAt) {
        const { isAcknowledged, status, failure, latencyMs } = result
        const isLast = nextAttemptAt === null && !isExtra
        const outcome = isAcknowledged ? 'acknowledged' : isLast ? 'undelivered' : 'failed'
        const entry = { eventId: event.id, url, attempt, status, failure, latencyMs }
        if (outcome === 'undelivered') log.warn(entry, 'event undelivered')
        else log.debug(entry, isAcknowledged ? 'delivery acknowledged' : 'delivery failed')
        onAttempt?.({
          at,
          url,
          eventId: event.id,
          eventType: event.type,
          attempt,
          isExtra,
          outcome,
          status,
          failure,
          latencyMs,
          nextAttemptAt,
        })
      },
    })
  })

  const counts = () =>
    queues
      .map((queue) => queue.counts())
      .reduce(
        (sum, one) => ({
          acknowledged: sum.acknowledged + one.acknowledged,
          undelivered: sum.undelivered + one.undelivered,
          waiting: sum.waiting + one.waiting,
          inFlight: sum.inFlight + one.inFlight,
        }),
        { acknowledged: 0, undelivered: 0, waiting: 0, inFlight: 0 },
      )
  const resolveWaiters = () => {
    if (waiters.size === 0) return
    const now = counts()
    for (const waiter of waiters) {
      if (!isClosed && !waiter.isMet(now)) continue
      waiters.delete(waiter)
      waiter.resolve()
    }
  }
  const until = (isMet: (counts: Counts) => boolean) =>
    new Promise<void>((resolve) => {
      waiters.add({ isMet, resolve })
      resolveWaiters()
    })
  for (const queue of queues) queue.onChange(resolveWaiters)

  return {
    send(event) {
      for (const queue of queues) queue.send(event)
    },
    counts,
    idle: () => until(({ inFlight }) => inFlight === 0),
    settled: () => until(({ inFlight, waiting }) => inFlight === 0 && waiting === 0),
    close() {
      isClosed = true
      for (const queue of queues) queue.close()
      poster.close()
      resolveWaiters()
    },
  }
}

function toTarget(url: string): URL {
  const target = URL.canParse(url) ? new URL(url) : null
  if (target?.protocol === 'http:' || target?.protocol === 'https:') return target
  throw new InboxError('usage', `webhook URL: expected http:// or https://, received ${JSON.stringify(url)}`)
}
