import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { retryDelaysMs } from '../../base/ladder.ts'
import type { Logger } from '../../base/log.ts'
import { type EndpointQueue, createEndpointQueue } from './endpoint-queue.ts'
import {
  type Attempt,
  type AttemptReport,
  type Deliveries,
  type Delivery,
  type DeliveryStore,
  type Endpoint,
  type OutgoingEvent,
  type StoredDelivery,
  type StoredEvent,
  deliveryIdOf,
  seqOf,
} from './port.ts'
import { createDeliveryWriter } from './writer.ts'
import type { AttemptPlan, Faults } from '../faults/port.ts'
import { type PostResult, type Poster, createPoster } from '../post.ts'

export interface DeliveriesOptions {
  /** The world clock: times the retry ladder. */
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

/** The engine, plus its progress in the events of the world. */
export interface DeliveryEngine extends Deliveries {
  /** Number of the newest world event that a previous process handled; null if there is none. */
  worldSeq(): number | null
  sawWorldEvent(seq: number): void
}

/**
 * The delivery engine of the sender (R71, R72, R78, R80–R89). POSTs exact bytes, signed, until acknowledged, up to six
 * times. Pending deliveries live in the store: they survive restarts, and a million of them need little memory and one
 * timer per endpoint.
 */
export function createDeliveries(options: DeliveriesOptions): DeliveryEngine {
  const { clock, wall, store, faults, parallel = 10, find, isPublicOnly = () => false, log, onAttempt } = options
  const begun = store.begin()
  const writer = createDeliveryWriter({ store, wall, log, worldSeq: begun.worldSeq ?? 0 })
  const poster = createPoster(wall)
  const queues = new Map<string, EndpointQueue>()
  /** Queues of deleted endpoints that still have attempts in flight. */
  const closingQueues = new Set<EndpointQueue>()
  const waiters = new Set<{ isMet: () => boolean; resolve: () => void }>()
  let { eventSeq, deliverySeq } = begun
  let sums = { ...begun.counts }
  /** Increases in `clear`. Results of attempts from an earlier epoch are dropped. */
  let epoch = 0
  let isClosed = false

  function queueOf(endpointId: string): EndpointQueue {
    const known = queues.get(endpointId)
    if (known !== undefined) return known
    const queue = createEndpointQueue({
      clock,
      parallel,
      due(now, limit) {
        writer.flush()
        return store.due(endpointId, now, limit)
      },
      nextDueAt: (now) => store.nextDueAt(endpointId, now),
      wall,
      attempt,
      onChange: resolveWaiters,
      onError: (error) => log.error({ endpointId, error: messageOf(error) }, 'delivery store read failed'),
    })
    queues.set(endpointId, queue)
    return queue
  }

  function make(event: StoredEvent, endpoint: Endpoint, isReplay: boolean): StoredDelivery {
    const now = clock.now()
    const target = targetOf(++deliverySeq, event, endpoint)
    sums.pending++
    return {
      seq: deliverySeq,
      event,
      endpointId: endpoint.id,
      url: endpoint.url,
      state: 'pending',
      attempts: 0,
      createdAt: now,
      nextAttemptAt: now + (isReplay ? 0 : faults.holdMs(target, now)),
      isReplay,
      lastStatus: null,
      lastFailure: null,
    }
  }

  /** Never rejects: any error, even a bug, counts as a failed attempt. */
  async function attempt(delivery: StoredDelivery): Promise<void> {
    const begunIn = epoch
    const number = delivery.attempts + 1
    const isStale = () => isClosed || begunIn !== epoch
    const endpoint = find(delivery.endpointId)
    if (endpoint === null) return settle(delivery, 'cancelled')
    delivery.url = endpoint.url
    try {
      const plan = faults.planAttempt(targetOf(delivery.seq, delivery.event, endpoint), number)
      const { event } = delivery
      const post = prepareEvent(poster, clock, { endpoint, event, plan, isPublicOnly: isPublicOnly(endpoint.url) })
      const [posted, ...extras] = await Promise.all([post(), ...Array.from({ length: plan.twins }, post)])
      if (isStale()) return
      conclude(delivery, posted, number)
      note(delivery, posted, { attempt: number, isExtra: false, faults: plan.faults })
      for (const extra of extras) note(delivery, extra, { attempt: number, isExtra: true, faults: plan.faults })
      for (let left = delivery.state === 'acknowledged' ? plan.repeats : 0; left > 0; left--) {
        if (find(delivery.endpointId) === null) return
        const repeated = await post()
        if (isStale()) return
        note(delivery, repeated, { attempt: number, isExtra: true, faults: plan.faults })
      }
    } catch (error) {
      log.error({ deliveryId: deliveryIdOf(delivery.seq), error: messageOf(error) }, 'delivery attempt failed')
      if (delivery.attempts === number || isStale()) return
      const posted = notSent(`not sent: ${messageOf(error)}`, clock.now())
      conclude(delivery, posted, number)
      note(delivery, posted, { attempt: number, isExtra: false, faults: [] })
    }
  }

  /** Applies the outcome of an attempt. The next delay counts from the failure (R81–R86). */
  function conclude(delivery: StoredDelivery, posted: Posted, number: number): void {
    const { isAcknowledged, status, failure, endedAt } = posted
    delivery.attempts = number
    delivery.lastStatus = status
    delivery.lastFailure = failure
    const delayMs = delivery.isReplay ? undefined : retryDelaysMs[number - 1]
    writer.delivery(delivery)
    if (isAcknowledged) settle(delivery, 'acknowledged')
    else if (find(delivery.endpointId) === null) settle(delivery, 'cancelled')
    else if (delayMs === undefined) settle(delivery, 'undelivered')
    else delivery.nextAttemptAt = endedAt + delayMs
  }

  function settle(delivery: StoredDelivery, state: 'acknowledged' | 'undelivered' | 'cancelled'): void {
    if (delivery.state !== 'pending') return
    delivery.state = state
    delivery.nextAttemptAt = null
    sums.pending--
    sums[state]++
    writer.delivery(delivery)
  }

  function note(
    delivery: StoredDelivery,
    posted: Posted,
    about: { readonly attempt: number; readonly isExtra: boolean; readonly faults: readonly string[] },
  ): void {
    const { at, status, failure, latencyMs, requestHeaders, responseHeaders, responseExcerpt, isAcknowledged } = posted
    const nextAttemptAt = about.isExtra ? null : delivery.nextAttemptAt
    const answer = { status, failure, latencyMs, requestHeaders, responseHeaders, responseExcerpt }
    const made: Attempt = { ...about, at, ...answer, nextAttemptAt }
    sums.attempts++
    if (about.isExtra) sums.duplicates++
    writer.attempt(delivery, made)
    const { event, endpointId, url, state } = delivery
    const outcome = isAcknowledged ? 'acknowledged' : about.isExtra || state === 'pending' ? 'failed' : state
    const ids = { deliveryId: deliveryIdOf(delivery.seq), eventId: event.id }
    const entry = { ...ids, url, attempt: about.attempt, status, failure, latencyMs }
    if (outcome === 'undelivered') log.warn(entry, 'event undelivered')
    else log.debug(entry, isAcknowledged ? 'delivery acknowledged' : 'delivery failed')
    report({ ...ids, eventType: event.type, endpointId, url, outcome, ...made })
  }

  /** A failing listener must not harm the delivery. */
  function report(attempt: AttemptReport): void {
    try {
      onAttempt?.(attempt)
    } catch (error) {
      log.error({ error: messageOf(error) }, 'attempt callback failed')
    }
  }

  const all = () => [...queues.values(), ...closingQueues]
  const inFlight = () => all().reduce((sum, queue) => sum + queue.inFlight(), 0)
  const isIdle = () => [...queues.values()].every((queue) => queue.isIdle()) && inFlight() === 0
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

  /** Closes a queue; returns the deliveries it held in memory. */
  function closeQueue(endpointId: string, queue: EndpointQueue): readonly StoredDelivery[] {
    queues.delete(endpointId)
    for (const old of closingQueues) if (old.inFlight() === 0) closingQueues.delete(old)
    closingQueues.add(queue)
    return queue.close()
  }

  /** Creates the replay of a delivery. The caller enqueues it once it is stored. Null if its endpoint is deleted. */
  function makeReplay(found: StoredDelivery): StoredDelivery | null {
    const endpoint = find(found.endpointId)
    if (endpoint === null) return null
    const delivery = make(found.event, endpoint, true)
    writer.delivery(delivery)
    return delivery
  }

  function enqueue(deliveries: readonly StoredDelivery[]): void {
    for (const delivery of deliveries) queueOf(delivery.endpointId).add(delivery)
  }

  /** Stores deliveries before reporting them. If the store fails, they are sent anyway and stored later. */
  function flushAndEnqueue(deliveries: readonly StoredDelivery[]): void {
    try {
      writer.flush()
    } finally {
      enqueue(deliveries)
    }
  }

  return {
    start() {
      for (const endpointId of begun.endpoints)
        if (find(endpointId) !== null) queueOf(endpointId).wake()
        else cancelAll(endpointId)
    },
    worldSeq: () => begun.worldSeq,
    sawWorldEvent: (seq) => writer.sawWorldEvent(seq),
    send(outgoing, endpoints, worldSeq = null) {
      if (isClosed) return
      if (endpoints.length === 0) {
        if (worldSeq !== null) writer.sawWorldEvent(worldSeq)
        return
      }
      const event = { seq: ++eventSeq, ...outgoing }
      const made = endpoints.map((endpoint) => make(event, endpoint, false))
      writer.event(event, made, worldSeq)
      enqueue(made)
    },
    endpointsChanged() {
      const gone = [...queues.keys()].filter((endpointId) => find(endpointId) === null)
      for (const endpointId of gone) cancelAll(endpointId)
      resolveWaiters()
    },
    counts: () => ({ ...sums, inFlight: inFlight() }),
    list(filter, limit) {
      writer.flush()
      return store.list(filter, limit).map(toDelivery)
    },
    read(deliveryId) {
      writer.flush()
      const found = getById(deliveryId)
      return found && { ...toDelivery(found), body: found.event.body, log: store.attempts(found.seq) }
    },
    replay(deliveryId) {
      writer.flush()
      const found = getById(deliveryId)
      if (found === null) return null
      const delivery = makeReplay(found)
      if (delivery === null) return 'gone'
      const shown = toDelivery(delivery)
      flushAndEnqueue([delivery])
      return shown
    },
    replayAll(filter, isDry) {
      writer.flush()
      const possible = store.undelivered(filter).filter(({ endpointId }) => find(endpointId) !== null)
      const chosen = isDry ? [] : possible.slice(0, maxReplayed)
      const made = chosen.flatMap(({ seq }) => store.get(seq) ?? []).flatMap((found) => makeReplay(found) ?? [])
      flushAndEnqueue(made)
      return { matched: possible.length, replayed: made.length }
    },
    idle: () => until(isIdle),
    settled: () => until(() => isIdle() && sums.pending === 0),
    clear() {
      epoch++
      for (const [endpointId, queue] of queues) closeQueue(endpointId, queue)
      writer.drop()
      store.clear()
      sums = { pending: 0, acknowledged: 0, undelivered: 0, cancelled: 0, attempts: 0, duplicates: 0 }
      resolveWaiters()
    },
    close() {
      if (isClosed) return
      isClosed = true
      for (const queue of queues.values()) queue.close()
      poster.close()
      resolveWaiters()
      try {
        writer.flush()
      } finally {
        writer.close()
      }
    },
  }

  function getById(deliveryId: string): StoredDelivery | null {
    const seq = seqOf(deliveryId)
    return seq === undefined ? null : store.get(seq)
  }

  /** Cancels the retries of a deleted endpoint (A45). */
  function cancelAll(endpointId: string): void {
    const queue = queues.get(endpointId)
    for (const delivery of queue === undefined ? [] : closeQueue(endpointId, queue)) settle(delivery, 'cancelled')
    try {
      writer.flush()
      const cancelled = store.cancel(endpointId)
      sums = { ...sums, pending: sums.pending - cancelled, cancelled: sums.cancelled + cancelled }
    } catch (error) {
      log.error({ endpointId, error: messageOf(error) }, 'retry cancellation failed')
      queueOf(endpointId).wake()
    }
  }
}

function toDelivery({ seq, event, ...delivery }: StoredDelivery): Delivery {
  return { deliveryId: deliveryIdOf(seq), eventId: event.id, eventType: event.type, ...delivery }
}

/** Result of an attempt that sent nothing. */
function notSent(failure: string, at: number): Posted {
  const answer = { status: null, responseHeaders: {}, responseExcerpt: '' }
  return { isAcknowledged: false, failure, latencyMs: 0, at, endedAt: at, requestHeaders: {}, ...answer }
}

function targetOf(seq: number, event: StoredEvent, { id, url }: Endpoint) {
  return { deliveryId: deliveryIdOf(seq), endpointId: id, url, eventId: event.id, eventType: event.type }
}

/** One POST, with its injected faults. */
export interface Posted extends PostResult {
  /** Start, and time of the outcome, on the world clock. */
  readonly at: number
  readonly endedAt: number
  readonly requestHeaders: Readonly<Record<string, string>>
}

const signatureHeader = 'X-Service-Signature'
const shownDigits = 8

interface Prepared {
  readonly endpoint: Endpoint
  readonly event: OutgoingEvent
  readonly plan: AttemptPlan
  /** True if only public addresses are allowed. */
  readonly isPublicOnly: boolean
}

/**
 * Returns a function that POSTs an event as planned; it may be called several times. The bytes are signed with the
 * endpoint's present secret (A32); no further headers are sent (R71, R72, A47).
 */
function prepareEvent(
  poster: Poster,
  clock: Clock,
  { endpoint, event, plan, isPublicOnly }: Prepared,
): () => Promise<Posted> {
  const body = plan.alter(event.body)
  const signatures = plan.sign(body, endpoint.secret)
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'onchain-inbox-emulator',
    ...(signatures.length > 0 && { [signatureHeader]: signatures }),
  }
  const sent = plan.tamper(body)
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    name === signatureHeader ? shorten(value) : value,
  ])
  const requestHeaders = Object.fromEntries(shown) as Readonly<Record<string, string>>
  const target = new URL(endpoint.url)

  return async () => {
    const at = clock.now()
    let endedAt: number | undefined
    const onOutcome = () => (endedAt ??= clock.now())
    const result = await poster.post(target, sent, headers, { wire: plan.wire, isPublicOnly, onOutcome })
    return { ...(plan.dropsAck ? dropAck(result) : result), at, endedAt: endedAt ?? clock.now(), requestHeaders }
  }
}

/** Signatures never expire, so a reader of the log must not get a whole one. */
function shorten(value: string | readonly string[]): string {
  return [value]
    .flat()
    .map((one) => `${one.slice(0, shownDigits)}…`)
    .join(', ')
}

function dropAck(result: PostResult): PostResult {
  if (!result.isAcknowledged) return result
  return { ...result, isAcknowledged: false, failure: `answered ${result.status}; the fault drop-ack discarded it` }
}
