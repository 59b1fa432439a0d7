import { eventTypes, type EventType, type KnownEvent } from '../../schema/index.ts'
import type { Clock } from '../clock.ts'
import { createCast } from './cast.ts'
import { eventData } from './event-data.ts'
import { toEventId } from './identity.ts'
import { createRandomStream } from './random.ts'

/** What is delivered: the envelope with the data of its type (R92). */
export type EmittedEvent = KnownEvent

export interface EventSourceOptions {
  readonly seed: string
  readonly clock: Pick<Clock, 'now'>
}

export interface EventSource {
  /** The next event of a type, or of a type drawn by how often each happens. */
  next(type?: EventType): EmittedEvent
}

// How often each type happens, relative to the others.
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

/**
 * Plausible events of all ten types about a small cast of tokens and wallets. The same seed, clock and order of calls
 * give the same events; the data of one type does not depend on how many of another were drawn.
 */
export function createEventSource({ seed, clock }: EventSourceOptions): EventSource {
  const cast = createCast(seed)
  const urn = eventTypes.flatMap((type) => Array.from({ length: weights[type] }, () => type))
  const streams = new Map(eventTypes.map((type) => [type, createRandomStream(seed, `event:${type}`)]))
  const choice = createRandomStream(seed, 'event-type')
  const chance = createRandomStream(seed, 'event-id')
  let sequence = 0
  let lastAt = 0

  return {
    next(type = choice.pick(urn)) {
      const stream = streams.get(type)
      if (!stream) throw new RangeError(`event type: expected one of ${eventTypes.join(', ')}, received ${type}`)
      // Never backwards, so that ids sort in the order of their events even when the clock is set back.
      lastAt = Math.max(lastAt, Math.floor(clock.now()))
      return {
        id: toEventId(lastAt, sequence++, chance.bytes()),
        type,
        created_at: new Date(lastAt).toISOString(),
        data: eventData[type](cast, stream),
      } as EmittedEvent
    },
  }
}
