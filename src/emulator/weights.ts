import { eventTypes, type EventType } from '../../schema/index.ts'

/** How often each type happens, relative to the others. */
const weights: Readonly<Record<EventType, number>> = {
  'wallet.new_position': 25,
  'token.price_alert': 20,
  'wallet.large_trade': 20,
  'token.new_listing': 12,
  'token.risk_change': 8,
  'pump.graduation': 5,
  'wallet.pnl_milestone': 4,
  'contract.ownership_changed': 3,
  'contract.honeypot_detected': 2,
  'contract.liquidity_removed': 1,
}

/** Types to pick from: each as often as it happens. */
export const typesByWeight: readonly EventType[] = eventTypes.flatMap((type) =>
  Array.from({ length: weights[type] }, () => type),
)
