// Names that pages and clients need too. Without zod, so that they load no schemas.

/** The documented event types, in the order of the spec (R93–R102). */
export const eventTypes = [
  'token.price_alert',
  'token.new_listing',
  'token.risk_change',
  'wallet.large_trade',
  'wallet.new_position',
  'wallet.pnl_milestone',
  'contract.honeypot_detected',
  'contract.liquidity_removed',
  'contract.ownership_changed',
  'pump.graduation',
] as const
export type EventType = (typeof eventTypes)[number]

/** The network identifiers of the service. Fields of events that name a network stay open strings: more may come. */
export const networkIds = ['ethereum', 'bnb', 'solana', 'polygon', 'base', 'avalanche', 'arbitrum'] as const
export type NetworkId = (typeof networkIds)[number]
