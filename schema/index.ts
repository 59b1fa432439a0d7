import { z } from 'zod'
import { envelopeSchema, networkIds, type NetworkId } from './envelope.ts'
import { contractHoneypotDetectedEvent } from './events/contract.honeypot_detected.ts'
import { contractLiquidityRemovedEvent } from './events/contract.liquidity_removed.ts'
import { contractOwnershipChangedEvent } from './events/contract.ownership_changed.ts'
import { pumpGraduationEvent } from './events/pump.graduation.ts'
import { tokenNewListingEvent } from './events/token.new_listing.ts'
import { tokenPriceAlertEvent } from './events/token.price_alert.ts'
import { tokenRiskChangeEvent } from './events/token.risk_change.ts'
import { walletLargeTradeEvent } from './events/wallet.large_trade.ts'
import { walletNewPositionEvent } from './events/wallet.new_position.ts'
import { walletPnlMilestoneEvent } from './events/wallet.pnl_milestone.ts'

export { envelopeSchema, networkIds }
export type { NetworkId }

/** The schema of each documented event type (R93–R102). */
export const eventSchemas = {
  'token.price_alert': tokenPriceAlertEvent,
  'token.new_listing': tokenNewListingEvent,
  'token.risk_change': tokenRiskChangeEvent,
  'wallet.large_trade': walletLargeTradeEvent,
  'wallet.new_position': walletNewPositionEvent,
  'wallet.pnl_milestone': walletPnlMilestoneEvent,
  'contract.honeypot_detected': contractHoneypotDetectedEvent,
  'contract.liquidity_removed': contractLiquidityRemovedEvent,
  'contract.ownership_changed': contractOwnershipChangedEvent,
  'pump.graduation': pumpGraduationEvent,
} as const

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
] as const satisfies readonly (keyof typeof eventSchemas)[]
export type EventType = (typeof eventTypes)[number]

/** Any event of a documented type, told apart by `type`. */
export const eventSchema = z.discriminatedUnion('type', [
  tokenPriceAlertEvent,
  tokenNewListingEvent,
  tokenRiskChangeEvent,
  walletLargeTradeEvent,
  walletNewPositionEvent,
  walletPnlMilestoneEvent,
  contractHoneypotDetectedEvent,
  contractLiquidityRemovedEvent,
  contractOwnershipChangedEvent,
  pumpGraduationEvent,
])

// Unknown members are kept at run time; the types leave them out, so that a misspelt field is a compile error.
type Declared<T> = { [K in keyof T as string extends K ? never : K]: T[K] }
type DataOf<T extends EventType> = Declared<z.infer<(typeof eventSchemas)[T]>['data']>

type EventsByType = {
  [T in EventType]: { id: string; type: T; created_at: string; data: DataOf<T> }
}

/** An event of a documented type. Narrow it by `event.type`. */
export type KnownEvent = EventsByType[EventType]

/** An event of a type that this version does not know: only the envelope is certain (R127). */
export interface UnknownEvent {
  id: string
  type: string
  created_at: string
  data: Record<string, unknown>
}

/** What may arrive. `isKnownEvent` tells the two apart; comparing `type` alone cannot. */
export type AnyEvent = KnownEvent | UnknownEvent

/**
 * The event behind a type name, a prefix such as `wallet.*`, `*`, or a list of these: a documented type gives its event,
 * a prefix the union of the documented types under it, `*` any event, every other name an unknown event.
 */
export type EventOf<T extends string | readonly string[]> = T extends readonly (infer U extends string)[]
  ? EventOfName<U>
  : T extends string
    ? EventOfName<T>
    : never

type EventOfName<T extends string> = string extends T
  ? AnyEvent
  : T extends '*'
    ? AnyEvent
    : T extends EventType
      ? EventsByType[T]
      : T extends `${infer Prefix}.*`
        ? EventsUnder<Prefix>
        : UnknownEvent

type EventsUnder<Prefix extends string> = [Extract<EventType, `${Prefix}.${string}`>] extends [never]
  ? UnknownEvent
  : EventsByType[Extract<EventType, `${Prefix}.${string}`>]

function isEventType(type: unknown): type is EventType {
  return typeof type === 'string' && Object.hasOwn(eventSchemas, type)
}

/** Whether the event is of a documented type, so that `event.type` narrows its data. It goes by the name of the type. */
export function isKnownEvent(event: AnyEvent): event is KnownEvent {
  return isEventType(event.type)
}

/**
 * Checks a parsed JSON value: the envelope, and for documented types the data too (R92–R102). Unknown members are kept
 * (R125), unknown types pass with the envelope alone (R127). Throws a TypeError that lists every problem with its path
 * and none of the values; its `cause` is the ZodError.
 */
export function parseEvent(value: unknown): AnyEvent {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
  const result = isEventType(type) ? eventSchemas[type].safeParse(value) : envelopeSchema.safeParse(value)
  if (result.success) return result.data
  const what = isEventType(type) ? `Not a valid ${type} event` : 'Not a valid event'
  throw new TypeError(`${what}:\n${z.prettifyError(result.error)}`, { cause: result.error })
}
