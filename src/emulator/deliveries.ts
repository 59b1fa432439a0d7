import type { Clock } from '../clock.ts'
import { InboxError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { sign } from '../signature/sign.ts'
import { createEndpointQueue, type Counts, type EndpointQueue } from './endpoint-queue.ts'
import { createPoster } from './post.ts'
import { createRandomStream } from './random.ts'

/** A URL that gets the events it is subscribed to, signed with its own secret (R62, R63). */
export interface Endpoint {
  /** Tells it from others, be they of the same URL (A24). */
  readonly id: string
  readonly accountId: string
  readonly url: string
  readonly secret: string
  /** Type names, or the single `*` for all current and future types (R61, R91). */
  readonly events: readonly string[]
}

/** An event as it is sent: the bytes are made once and never again (R72, R89). */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  readonly body: Buffer
  /** The account that alone gets it; null = all. */
  readonly accountId: string | null
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
  /** Share of acknowledged events that are delivered a second time, 0 to 1 (R88). Default 0. */
  readonly duplicateRate?: number
  readonly log: Logger
  readonly onAttempt?: (report: AttemptReport) => void
}

export interface Deliveries {
  /**
   * From now on these are the endpoints. Of one that is gone the retries are cancelled; one that has changed gets its next
   * attempt at its new URL, signed with its new secret (A32, A45). Throws `usage` for what is no http URL.
   */
  use(endpoints: readonly Endpoint[]): void
  /** Sends an event to each endpoint subscribed to its type (R78); one that fails gets it again by the ladder. */
  send(event: OutgoingEvent): void
  /** Sums over all endpoints, of settled events over those that are gone, too. */
  counts(): Counts
  /** Resolves when nothing is being sent; retries may wait for their time. */
  idle(): Promise<void>
  /** Resolves when every event is acknowledged or undelivered. */
  settled(): Promise<void>
  /** Cancels every retry and cuts what is being sent. Idempotent. */
  close(): void
}

interface Lane {
  endpoint: Endpoint
  target: URL
  readonly queue: EndpointQueue<OutgoingEvent>
}

/** The delivery engine of the sender (R71, R72, R78, R80–R86, R88, R89): POSTs exact bytes, signed, until acknowledged. */
export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { clock, wall, duplicateRate = 0, log, onAttempt } = options
  const poster = createPoster(wall)
  const lanes = new Map<string, Lane>()
  const waiters = new Set<{ isMet: (counts: Counts) => boolean; resolve: () => void }>()
  let ofGone = none
  let isClosed = false

  function open(endpoint: Endpoint): Lane {
    const queue: EndpointQueue<OutgoingEvent> = createEndpointQueue({
      clock,
      post: ({ body }) =>
        poster.post(lane.target, body, {
          'Content-Type': 'application/json',
          'User-Agent': 'onchain-inbox-emulator',
          'X-Service-Signature': sign(body, lane.endpoint.secret),
        }),
      // Drawn from the id, so that the same events are repeated whatever the order of the answers.
      isRepeated: ({ id }) => createRandomStream('duplicate', id).uniform() < duplicateRate,
      onResult({ event, attempt, isExtra }, at, result, nextAttemptAt) {
        const { isAcknowledged, status, failure, latencyMs } = result
        const isLast = nextAttemptAt === null && !isExtra
        const outcome = isAcknowledged ? 'acknowledged' : isLast ? 'undelivered' : 'failed'
        const { url } = lane.endpoint
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
    const lane: Lane = { endpoint, target: toTarget(endpoint.url), queue }
    queue.onChange(resolveWaiters)
    return lane
  }

  function end(lane: Lane): void {
    const { acknowledged, undelivered } = lane.queue.counts()
    ofGone = sum(ofGone, { acknowledged, undelivered, waiting: 0, inFlight: 0 })
    lane.queue.close()
    lanes.delete(lane.endpoint.id)
  }

  const counts = () => [...lanes.values()].map(({ queue }) => queue.counts()).reduce(sum, ofGone)
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

  return {
    use(endpoints) {
      if (isClosed) return
      const targets = new Map(endpoints.map((endpoint) => [endpoint.id, { endpoint, target: toTarget(endpoint.url) }]))
      for (const lane of lanes.values()) if (!targets.has(lane.endpoint.id)) end(lane)
      for (const [id, wanted] of targets) {
        const lane = lanes.get(id)
        if (lane === undefined) lanes.set(id, open(wanted.endpoint))
        else Object.assign(lane, wanted)
      }
      resolveWaiters()
    },
    send(event) {
      for (const { endpoint, queue } of lanes.values()) if (isFor(event, endpoint)) queue.send(event)
    },
    counts,
    idle: () => until(({ inFlight }) => inFlight === 0),
    settled: () => until(({ inFlight, waiting }) => inFlight === 0 && waiting === 0),
    close() {
      isClosed = true
      for (const { queue } of lanes.values()) queue.close()
      poster.close()
      resolveWaiters()
    },
  }
}

const none: Counts = { acknowledged: 0, undelivered: 0, waiting: 0, inFlight: 0 }

function sum(a: Counts, b: Counts): Counts {
  return {
    acknowledged: a.acknowledged + b.acknowledged,
    undelivered: a.undelivered + b.undelivered,
    waiting: a.waiting + b.waiting,
    inFlight: a.inFlight + b.inFlight,
  }
}

function isFor({ type, accountId }: OutgoingEvent, endpoint: Endpoint): boolean {
  const isOfAccount = accountId === null || accountId === endpoint.accountId
  return isOfAccount && (endpoint.events.includes('*') || endpoint.events.includes(type))
}

/** Where an endpoint is. Throws `usage` for what is no http URL. */
export function toTarget(url: string): URL {
  const target = URL.canParse(url) ? new URL(url) : null
  if (target?.protocol === 'http:' || target?.protocol === 'https:') return target
  throw new InboxError('usage', `webhook URL: expected http:// or https://, received ${JSON.stringify(url)}`)
}
