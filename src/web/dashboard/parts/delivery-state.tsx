import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import type { Delivery, DeliveryState } from '../contract.ts'

const tones: Readonly<Record<DeliveryState, Tone>> = {
  acknowledged: 'good',
  undelivered: 'bad',
  pending: 'info',
  cancelled: 'neutral',
}

/** What has become of a delivery; one that failed and is tried again says so. */
export function DeliveryStateBadge({ state, lastFailure, lastStatus }: Delivery) {
  const isRetrying = state === 'pending' && (lastFailure !== null || lastStatus !== null)
  return isRetrying ? (
    <StatusBadge status="retrying" tone="warning" />
  ) : (
    <StatusBadge status={state} tone={tones[state]} />
  )
}
