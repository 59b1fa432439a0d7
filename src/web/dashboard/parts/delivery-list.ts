import type { AttemptNews, Delivery } from '../contract.ts'

/** What is shown of all deliveries; empty texts: all. */
export interface DeliveryFilter {
  readonly state: string
  readonly type: string
  readonly endpoint: string
}

/**
 * The newest ones put before those that are known already, which lose what the newest say again. Where nothing is in both,
 * something between them is missing: then the newest stand alone.
 */
export function mergeNewest(known: readonly Delivery[], newest: readonly Delivery[]): readonly Delivery[] {
  const ids = new Set(newest.map(({ deliveryId }) => deliveryId))
  const last = newest.at(-1)?.deliveryId
  const end = known.findIndex(({ deliveryId }) => deliveryId === last)
  const older = end < 0 ? [] : known.slice(end + 1)
  return [...newest, ...older.filter(({ deliveryId }) => !ids.has(deliveryId))]
}

/** A delivery after an attempt, if it is of this delivery. */
export function withNews(delivery: Delivery, news: AttemptNews): Delivery {
  if (news.deliveryId !== delivery.deliveryId) return delivery
  const { outcome, nextAttemptAt, status, failure, attempt } = news
  const state = outcome === 'failed' ? delivery.state : outcome
  return {
    ...delivery,
    state,
    nextAttemptAt,
    attempts: Math.max(delivery.attempts, attempt),
    lastStatus: status,
    lastFailure: failure,
  }
}

/** Whether a delivery is among those of a state as the filter names it. */
export function isOfState(delivery: Delivery, state: string): boolean {
  if (state === '') return true
  if (state !== 'failed') return delivery.state === state
  const { lastStatus, lastFailure } = delivery
  const hasFailed = lastFailure !== null || lastStatus !== null
  return delivery.state === 'undelivered' || (delivery.state === 'pending' && hasFailed)
}
