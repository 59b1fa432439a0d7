import type { Clock } from '../../clock.ts'
import { messageOf } from '../../errors.ts'
import { retryDelaysMs } from '../../ladder.ts'
import type { Logger } from '../../log.ts'
import { deliveryIdOf, seqOf } from './ids.ts'
import type { Faults } from '../faults/port.ts'
import { createPoster } from '../post.ts'
import { postEvent, type Posted } from './attempting.ts'
import { createLane, type Lane } from './lane.ts'
import type {
  Attempt,
  AttemptReport,
  Deliveries,
  Delivery,
  DeliveryStore,
  Endpoint,
  StoredDelivery,
  StoredEvent,
} from './port.ts'
import { createDeliveryWriter } from './writer.ts'

export interface DeliveriesOptions {
  /** The world clock: the retry ladder runs on it. */
  readonly clock: Clock
  /** The wall clock: the 5 s to answer are measured on it, however fast the world goes (A43). */
  readonly wall: Clock
  readonly store: DeliveryStore
  readonly faults: Pick<Faults, 'holdMs' | 'planAttempt'>
  /** How many deliveries an endpoint gets at once (A44). Default 10. */
  readonly parallel?: number
  /** An endpoint as it is at present; null once it is gone. */
  readonly find: (endpointId: string) => Endpoint | null
  readonly log: Logger
  readonly onAttempt?: (report: AttemptReport) => void
}

/** The engine, and how far it has come with the events of the world. */
export interface DeliveryEngine extends Deliveries {
  /** The newest event of the world that was sent before; null if there is none such. */
  worldSeq(): number | null
  sawWorldEvent(seq: number): void
}

/**
 * The delivery engine of the sender (R71, R72, R78, R80–R89): POSTs exact bytes, signed, until acknowledged or six times. What is
 * pending is in the store, so that it outlives the process and a million of them need no memory and one timer.
 */
export function createDeliveries(options: DeliveriesOptions): DeliveryEngine {
  const { clock, wall, store, faults, parallel = 10, find, log, onAttempt } = options
  const begun = store.begin()
  const writer = createDeliveryWriter({ store, wall, log, worldSeq: begun.worldSeq ?? 0 })
  const poster = createPoster(wall)
  const lanes = new Map<string, Lane>()
  const waiters = new Set<{ isMet: () => boolean; resolve: () => void }>()
  let { eventSeq, deliverySeq } = begun
  let sums = { ...begun.counts }
  /** Rises when everything is forgotten: what is still being sent is then of no account. */
  let course = 0
  let isClosed = false

  function laneOf(endpointId: string): Lane {
    const known = lanes.get(endpointId)
    if (known !== undefined) return known
    const lane = createLane({
      clock,
      parallel,
      due(now, limit) {
        writer.flush()
        return store.due(endpointId, now, limit)
      },
      nextDueAt: (now) => store.nextDueAt(endpointId, now),
      attempt,
      onChange: resolveWaiters,
    })
    lanes.set(endpointId, lane)
    return lane
  }

  function add(event: StoredEvent, endpoint: Endpoint, isReplay: boolean): StoredDelivery {
    const now = clock.now()
    const target = { endpointId: endpoint.id, url: endpoint.url, eventId: event.id, eventType: event.type }
    const delivery: StoredDelivery = {
      seq: ++deliverySeq,
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
    sums.pending++
    writer.delivery(delivery)
    return delivery
  }

  async function attempt(delivery: StoredDelivery): Promise<void> {
    try {
      await makeAttempt(delivery)
    } catch (error) {
      // It stays pending, and is tried again when its lane next looks.
      log.error({ deliveryId: deliveryIdOf(delivery.seq), error: messageOf(error) }, 'a delivery could not be made')
      delivery.nextAttemptAt = clock.now() + 1_000
    }
  }

  async function makeAttempt(delivery: StoredDelivery): Promise<void> {
    const begunIn = course
    const endpoint = find(delivery.endpointId)
    if (endpoint === null) return settle(delivery, 'cancelled')
    const { event } = delivery
    const target = { endpointId: endpoint.id, url: endpoint.url, eventId: event.id, eventType: event.type }
    const number = delivery.attempts + 1
    const plan = faults.planAttempt(target, number)
    const post = () => postEvent(poster, clock, { endpoint, event, plan })
    const twins = Array.from({ length: plan.twins }, post)
    const posted = await post()
    const extras = await Promise.all(twins)
    delivery.url = endpoint.url
    if (isClosed || begunIn !== course) return
    conclude(delivery, posted, number)
    const noted = (one: Posted, isExtra: boolean) =>
      note(delivery, one, { attempt: number, isExtra, faults: plan.faults })
    noted(posted, false)
    for (const extra of extras) noted(extra, true)
    for (let left = delivery.state === 'acknowledged' ? plan.repeats : 0; left > 0 && !isClosed; left--) {
      const repeated = await post()
      if (isClosed || begunIn !== course) return
      noted(repeated, true)
    }
  }

  /** What follows from an attempt: the ladder counts from the failure (R81–R86). */
  function conclude(delivery: StoredDelivery, { isAcknowledged, status, failure }: Posted, number: number): void {
    delivery.attempts = number
    delivery.lastStatus = status
    delivery.lastFailure = failure
    const delayMs = delivery.isReplay ? undefined : retryDelaysMs[number - 1]
    if (isAcknowledged) settle(delivery, 'acknowledged')
    else if (find(delivery.endpointId) === null) settle(delivery, 'cancelled')
    else if (delayMs === undefined) settle(delivery, 'undelivered')
    else delivery.nextAttemptAt = clock.now() + delayMs
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
    writer.attempt(delivery, made)
    const { event, endpointId, url, state } = delivery
    const outcome = isAcknowledged ? 'acknowledged' : about.isExtra || state === 'pending' ? 'failed' : state
    const ids = { deliveryId: deliveryIdOf(delivery.seq), eventId: event.id }
    const entry = { ...ids, url, attempt: about.attempt, status, failure, latencyMs }
    if (outcome === 'undelivered') log.warn(entry, 'event undelivered')
    else log.debug(entry, isAcknowledged ? 'delivery acknowledged' : 'delivery failed')
    onAttempt?.({ ...ids, eventType: event.type, endpointId, url, outcome, ...made })
  }

  const inFlight = () => [...lanes.values()].reduce((sum, lane) => sum + lane.inFlight(), 0)
  const isIdle = () => [...lanes.values()].every((lane) => lane.isIdle())
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

  function replayOne(found: StoredDelivery): Delivery | 'gone' {
    const endpoint = find(found.endpointId)
    if (endpoint === null) return 'gone'
    const delivery = add(found.event, endpoint, true)
    const shown = toDelivery(delivery)
    laneOf(endpoint.id).add(delivery)
    return shown
  }

  return {
    start() {
      for (const endpointId of begun.endpoints)
        if (find(endpointId) !== null) laneOf(endpointId).wake()
        else cancelAll(endpointId)
    },
    worldSeq: () => begun.worldSeq,
    sawWorldEvent: (seq) => writer.sawWorldEvent(seq),
    send(outgoing, endpoints) {
      if (isClosed || endpoints.length === 0) return
      const event = { seq: ++eventSeq, ...outgoing }
      writer.event(event)
      for (const endpoint of endpoints) laneOf(endpoint.id).add(add(event, endpoint, false))
    },
    endpointsChanged() {
      for (const endpointId of lanes.keys()) if (find(endpointId) === null) cancelAll(endpointId)
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
      return found && replayOne(found)
    },
    replayAll(filter, isDry) {
      writer.flush()
      const found = store.undelivered(filter).flatMap((seq) => store.get(seq) ?? [])
      const possible = found.filter(({ endpointId }) => find(endpointId) !== null)
      if (!isDry) for (const one of possible) replayOne(one)
      return possible.length
    },
    idle: () => until(isIdle),
    settled: () => until(() => isIdle() && sums.pending === 0),
    clear() {
      course++
      for (const lane of lanes.values()) lane.close()
      lanes.clear()
      writer.drop()
      store.clear()
      sums = { pending: 0, acknowledged: 0, undelivered: 0, cancelled: 0, attempts: 0 }
      resolveWaiters()
    },
    close() {
      if (isClosed) return
      isClosed = true
      for (const lane of lanes.values()) lane.close()
      poster.close()
      writer.flush()
      writer.close()
      resolveWaiters()
    },
  }

  function getById(deliveryId: string): StoredDelivery | null {
    const seq = seqOf(deliveryId)
    return seq === undefined ? null : store.get(seq)
  }

  /** Of an endpoint that is gone nothing is tried again (A45). */
  function cancelAll(endpointId: string): void {
    for (const delivery of lanes.get(endpointId)?.close() ?? []) settle(delivery, 'cancelled')
    lanes.delete(endpointId)
    writer.flush()
    const cancelled = store.cancel(endpointId)
    sums = { ...sums, pending: sums.pending - cancelled, cancelled: sums.cancelled + cancelled }
  }
}

function toDelivery({ seq, event, ...delivery }: StoredDelivery): Delivery {
  return { deliveryId: deliveryIdOf(seq), eventId: event.id, eventType: event.type, ...delivery }
}
