import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { retryDelaysMs } from '../../base/retry-schedule.ts'
import type { Logger } from '../../base/log.ts'
import type { Endpoint } from '../accounts/accounts.ts'
import type { Faults } from '../faults/faults.ts'
import { type EndpointQueue, createEndpointQueue } from './endpoint-queue.ts'
import { type PostResult, createPoster } from './post.ts'
import type { Attempt, AttemptReport, Counts, Deliveries, Delivery, OutgoingEvent } from './delivery.ts'
import type { DeliveryStore } from './store.ts'

export interface DeliveriesOptions {
  /** The world clock: times the retries. */
  readonly clock: Clock
  /** The wall clock: times the 5 s acknowledgement, at any speed of the world (A43). */
  readonly wall: Clock
  readonly store: DeliveryStore
  readonly faults: Pick<Faults, 'holdMs' | 'planAttempt'>
  /** Concurrent deliveries per endpoint (A44). Default 10. */
  readonly parallel?: number
  /** Returns the current endpoint; null once it is deleted. */
  readonly find: (endpointId: string) => Endpoint | null
  /** True if a URL may lead to public addresses only. Default: always false. */
  readonly isPublicOnly?: (url: string) => boolean
  readonly log: Logger
  readonly onAttempt?: (report: AttemptReport) => void
}

/** Maximum deliveries per bulk replay. */
const maxReplayed = 10_000
/** Settled deliveries between two prunings. */
const pruneEvery = 1_000
const signatureHeader = 'X-Service-Signature'
/** Signatures never expire, so a reader of the log must not get a whole one. */
const shownDigits = 8

export type DeliveryEngine = ReturnType<typeof createDeliveries>

/**
 * The delivery engine of the sender (R71, R72, R78, R80–R89). POSTs exact bytes, signed, until acknowledged, up to six
 * times.
 */
export function createDeliveries(options: DeliveriesOptions) {
  const { clock, wall, store, faults, parallel = 10, find, isPublicOnly = () => false, log, onAttempt } = options
  const poster = createPoster({ clock, wall })
  const queues = new Map<string, EndpointQueue>()
  const waiters = new Set<{ isMet: () => boolean; resolve: () => void }>()
  const sums = countAll(store.all())
  let settledCount = 0
  /** Increases in `clear`. Results of attempts from an earlier epoch are dropped. */
  let epoch = 0
  let isClosed = false

  function queueOf(endpointId: string): EndpointQueue {
    const known = queues.get(endpointId)
    if (known !== undefined) return known
    const queue = createEndpointQueue({
      clock,
      parallel,
      attempt(delivery) {
        const startEpoch = epoch
        return attempt(delivery).catch((error: unknown) => {
          log.error({ deliveryId: delivery.deliveryId, error: messageOf(error) }, 'delivery attempt failed')
          if (startEpoch !== epoch || delivery.state !== 'pending') return
          // A pending delivery would be due again at once, and its attempt would fail again.
          settle(delivery, 'undelivered')
          delivery.lastFailure = messageOf(error)
        })
      },
      onChange(inFlight) {
        sums.inFlight += inFlight
        resolveWaiters()
      },
    })
    queues.set(endpointId, queue)
    return queue
  }

  /** One attempt, with its extra ones (R88). */
  async function attempt(delivery: Delivery): Promise<void> {
    const startEpoch = epoch
    const isStale = () => isClosed || startEpoch !== epoch
    const endpoint = find(delivery.endpointId)
    if (endpoint === null) return settle(delivery, 'cancelled')
    delivery.url = endpoint.url
    const number = delivery.attempts + 1
    const { deliveryId, eventId, eventType } = delivery
    const plan = faults.planAttempt({ deliveryId, ...targetOf(eventId, eventType, endpoint) }, number)
    // Signed with the present secret (A32); no further headers are sent (R71, R72, A47).
    const signed = plan.alter(delivery.body)
    const signatures = plan.sign(signed, endpoint.secret)
    const headers = { 'Content-Type': 'application/json', 'User-Agent': 'onchain-inbox-emulator' }
    const shown = signatures.map((signature) => `${signature.slice(0, shownDigits)}…`).join(', ')
    const withSignature = (value: string | readonly string[]) =>
      signatures.length === 0 ? headers : { ...headers, [signatureHeader]: value }
    const request = {
      url: new URL(endpoint.url),
      body: plan.tamper(signed),
      headers: withSignature(signatures) as Record<string, string | string[]>,
      wire: plan.wire,
      isPublicOnly: isPublicOnly(endpoint.url),
    }
    const requestHeaders = withSignature(shown) as Record<string, string>
    const post = async () => {
      const posted = await poster.post(request)
      return plan.dropsAck && posted.isAcknowledged ? dropAck(posted) : posted
    }
    const record = (posted: PostResult, isExtra: boolean) =>
      recordAttempt(delivery, posted, { attempt: number, isExtra, faults: plan.faults, requestHeaders })

    const [posted, ...extras] = await Promise.all([post(), ...Array.from({ length: plan.copiesAtOnce }, post)])
    if (isStale()) return
    conclude(delivery, posted, number)
    record(posted, false)
    for (const extra of extras) record(extra, true)
    for (let remaining = delivery.state === 'acknowledged' ? plan.copiesAfterwards : 0; remaining > 0; remaining--) {
      if (find(delivery.endpointId) === null) return
      const repeated = await post()
      if (isStale()) return
      record(repeated, true)
    }
  }

  /** Applies the outcome of an attempt. The next delay counts from the failure (R81–R86). */
  function conclude(
    delivery: Delivery,
    { isAcknowledged, status, failure, endedAt }: PostResult,
    number: number,
  ): void {
    delivery.attempts = number
    delivery.lastStatus = status
    delivery.lastFailure = failure
    const delayMs = delivery.isReplay ? undefined : retryDelaysMs[number - 1]
    if (isAcknowledged) settle(delivery, 'acknowledged')
    else if (find(delivery.endpointId) === null) settle(delivery, 'cancelled')
    else if (delayMs === undefined) settle(delivery, 'undelivered')
    else delivery.nextAttemptAt = endedAt + delayMs
  }

  function settle(delivery: Delivery, state: 'acknowledged' | 'undelivered' | 'cancelled'): void {
    if (delivery.state !== 'pending') return
    delivery.state = state
    delivery.nextAttemptAt = null
    sums.pending--
    sums[state]++
    if (++settledCount % pruneEvery === 0) store.prune(sums.pending)
  }

  function recordAttempt(
    delivery: Delivery,
    { isAcknowledged, endedAt: _endedAt, ...result }: PostResult,
    details: Pick<Attempt, 'attempt' | 'isExtra' | 'faults' | 'requestHeaders'>,
  ): void {
    const nextAttemptAt = details.isExtra ? null : delivery.nextAttemptAt
    const recorded: Attempt = { ...details, ...result, nextAttemptAt }
    const { status, failure, latencyMs } = result
    sums.attempts++
    if (details.isExtra) sums.duplicates++
    delivery.log.push(recorded)
    const { deliveryId, eventId, eventType, endpointId, url, state } = delivery
    const outcome = isAcknowledged ? 'acknowledged' : details.isExtra || state === 'pending' ? 'failed' : state
    const entry = { deliveryId, eventId, url, attempt: details.attempt, status, failure, latencyMs }
    if (outcome === 'undelivered') log.warn(entry, 'event undelivered')
    else log.debug(entry, isAcknowledged ? 'delivery acknowledged' : 'delivery failed')
    try {
      onAttempt?.({ deliveryId, eventId, eventType, endpointId, url, outcome, ...recorded })
    } catch (error) {
      log.error({ deliveryId, error: messageOf(error) }, 'attempt callback failed')
    }
  }

  const isIdle = () => sums.inFlight === 0
  const resolveWaiters = () => {
    for (const waiter of waiters) {
      if (!isClosed && !waiter.isMet()) continue
      waiters.delete(waiter)
      waiter.resolve()
    }
  }
  const until = (isMet: () => boolean) =>
    new Promise<void>((resolve) => {
      waiters.add({ isMet, resolve })
      resolveWaiters()
    })

  /** Adds a delivery of an event, and begins it if it is due. */
  function add(event: OutgoingEvent, endpoint: Endpoint, dueAt: number, isReplay: boolean): Delivery {
    const delivery = store.add(event, endpoint, clock.now(), dueAt, isReplay)
    sums.pending++
    queueOf(endpoint.id).add(delivery)
    return delivery
  }

  /** Null if the endpoint is deleted. */
  function replay({ eventId, eventType, body, endpointId }: Delivery): Delivery | null {
    const endpoint = find(endpointId)
    return endpoint && add({ id: eventId, type: eventType, body }, endpoint, clock.now(), true)
  }

  /** Cancels the retries of a deleted endpoint (A45). */
  function cancelAll(endpointId: string): void {
    for (const delivery of queues.get(endpointId)?.close() ?? []) settle(delivery, 'cancelled')
    queues.delete(endpointId)
  }

  return {
    /** Resumes deliveries of the previous process. Call it once. */
    start() {
      for (const delivery of store.all()) if (delivery.state === 'pending') queueOf(delivery.endpointId).add(delivery)
    },
    /** Sends an event to these endpoints, with retries (R78, R81–R86). */
    send(event: OutgoingEvent, endpoints: readonly Endpoint[]): void {
      if (isClosed) return
      const now = clock.now()
      for (const endpoint of endpoints) {
        add(event, endpoint, now + faults.holdMs(targetOf(event.id, event.type, endpoint), now), false)
      }
    },
    /** Call it after endpoints changed: cancels the retries of deleted ones (A45). */
    endpointsChanged() {
      for (const endpointId of queues.keys()) if (find(endpointId) === null) cancelAll(endpointId)
      resolveWaiters()
    },
    counts: () => ({ ...sums }),
    list: (filter, limit) => store.list(filter, limit).map(copyOf),
    read(deliveryId) {
      const delivery = store.get(deliveryId)
      return delivery && copyOf(delivery)
    },
    replay(deliveryId) {
      const delivery = store.get(deliveryId)
      return delivery && (replay(delivery) ?? 'gone')
    },
    replayAll(filter, isDryRun) {
      const possible = store.undelivered(filter).filter(({ endpointId }) => find(endpointId) !== null)
      const replays = isDryRun ? [] : possible.slice(0, maxReplayed).map(replay)
      return { matched: possible.length, replayed: replays.length }
    },
    idle: () => until(isIdle),
    settled: () => until(() => isIdle() && sums.pending === 0),
    /** Deletes everything, after a restore. */
    clear() {
      epoch++
      for (const queue of queues.values()) queue.close()
      queues.clear()
      store.clear()
      Object.assign(sums, { ...noCounts, inFlight: sums.inFlight })
      resolveWaiters()
    },
    /** Aborts requests in flight. Pending deliveries stay pending. Idempotent. */
    close() {
      if (isClosed) return
      isClosed = true
      for (const queue of queues.values()) queue.close()
      poster.close()
      resolveWaiters()
    },
  } satisfies Deliveries & Record<string, unknown>
}

const noCounts: Counts = {
  acknowledged: 0,
  undelivered: 0,
  cancelled: 0,
  pending: 0,
  inFlight: 0,
  attempts: 0,
  duplicates: 0,
}

function countAll(deliveries: readonly Delivery[]): { -readonly [K in keyof Counts]: Counts[K] } {
  const sums = { ...noCounts }
  for (const { state, log } of deliveries) {
    sums[state]++
    sums.attempts += log.length
    sums.duplicates += log.filter(({ isExtra }) => isExtra).length
  }
  return sums
}

/** Deliveries change. */
function copyOf(delivery: Delivery): Delivery {
  return { ...delivery, log: [...delivery.log] }
}

function targetOf(eventId: string, eventType: string, { id, url }: Endpoint) {
  return { endpointId: id, url, eventId, eventType }
}

function dropAck(posted: PostResult): PostResult {
  return { ...posted, isAcknowledged: false, failure: `answered ${posted.status}; the fault drop-ack discarded it` }
}
