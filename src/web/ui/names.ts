import type { EventType, NetworkId } from '../../../schema/index.ts'

// Names that forms offer. Importing the lists of the schema would bundle zod. Each list is a record, so a missing or surplus name
// doesn't compile.

export function namesOf<T extends string>(record: Readonly<Record<T, unknown>>): readonly T[] {
  return Object.keys(record) as T[]
}

export const eventTypes = namesOf<EventType>({
  'token.price_alert': 1,
  'token.new_listing': 1,
  'token.risk_change': 1,
  'wallet.large_trade': 1,
  'wallet.new_position': 1,
  'wallet.pnl_milestone': 1,
  'contract.honeypot_detected': 1,
  'contract.liquidity_removed': 1,
  'contract.ownership_changed': 1,
  'pump.graduation': 1,
})

export const networks = namesOf<NetworkId>({
  ethereum: 1,
  bnb: 1,
  solana: 1,
  polygon: 1,
  base: 1,
  avalanche: 1,
  arbitrum: 1,
})
