import type { Endpoint } from '../accounts/accounts.ts'
import type { Delivery, DeliveryFilter, OutgoingEvent, ReplayFilter } from './delivery.ts'

/** Maximum settled deliveries. */
const maxSettled = 10_000

export type DeliveryStore = ReturnType<typeof createDeliveryStore>

/** Deliveries in memory, oldest first; at first the `stored` ones of the previous process. */
export function createDeliveryStore(stored: readonly Delivery[] = []) {
  const deliveries = new Map(stored.map((delivery) => [delivery.deliveryId, delivery]))
  let lastSeq = stored.at(-1)?.seq ?? 0

  return {
    /** Adds a delivery of an event, due at `dueAt`. */
    add(
      { id, type, body }: OutgoingEvent,
      endpoint: Endpoint,
      now: number,
      dueAt: number,
      isReplay: boolean,
    ): Delivery {
      const seq = ++lastSeq
      const delivery: Delivery = {
        seq,
        deliveryId: `dlv_${String(seq).padStart(12, '0')}`,
        eventId: id,
        eventType: type,
        body,
        endpointId: endpoint.id,
        url: endpoint.url,
        state: 'pending',
        attempts: 0,
        createdAt: now,
        nextAttemptAt: dueAt,
        isReplay,
        lastStatus: null,
        lastFailure: null,
        log: [],
      }
      deliveries.set(delivery.deliveryId, delivery)
      return delivery
    },
    get: (deliveryId: string) => deliveries.get(deliveryId) ?? null,
    all: () => [...deliveries.values()],
    /** Newest first. */
    list({ state, endpoint, event, type, after }: DeliveryFilter, limit: number): readonly Delivery[] {
      const matches = (delivery: Delivery) =>
        (state === undefined || state === delivery.state || (state === 'failed' && hasFailed(delivery))) &&
        (endpoint === undefined || endpoint === delivery.endpointId) &&
        (event === undefined || event === delivery.eventId) &&
        (type === undefined || type === delivery.eventType) &&
        (after === undefined || delivery.deliveryId < after)
      return [...deliveries.values()].reverse().values().filter(matches).take(limit).toArray()
    },
    /** Matching undelivered events without a successful or pending delivery since, as their latest deliveries. */
    undelivered({ since, endpoint, type }: ReplayFilter): readonly Delivery[] {
      const latest = new Map<string, Delivery>()
      for (const delivery of deliveries.values()) latest.set(`${delivery.eventId} ${delivery.endpointId}`, delivery)
      const matches = (delivery: Delivery) =>
        delivery.state === 'undelivered' &&
        delivery.createdAt >= since &&
        (endpoint === undefined || endpoint === delivery.endpointId) &&
        (type === undefined || type === delivery.eventType)
      return [...latest.values()].filter(matches)
    },
    /** Deletes the oldest settled deliveries beyond 10,000. `pending`: how many are not settled. */
    prune(pending: number): void {
      let surplus = deliveries.size - pending - maxSettled
      for (const { deliveryId, state } of deliveries.values()) {
        if (surplus <= 0) return
        if (state !== 'pending' && deliveries.delete(deliveryId)) surplus--
      }
    },
    clear(): void {
      deliveries.clear()
      lastSeq = 0
    },
  }
}

function hasFailed({ state, lastFailure }: Delivery): boolean {
  return state === 'undelivered' || (state === 'pending' && lastFailure !== null)
}
