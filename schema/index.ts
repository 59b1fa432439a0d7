import { z } from 'zod'
import { envelopeSchema } from './envelope.ts'
import { eventSchemas } from './events.ts'
import type { Declared } from './fields.ts'
import { eventTypes, networkIds, type EventType, type NetworkId } from './names.ts'

export { envelopeSchema, eventSchemas, eventTypes, networkIds }
export type { EventType, NetworkId }
export type * from './sources/index.ts'

type DataOf<T extends EventType> = Declared<z.infer<(typeof eventSchemas)[T]>['data']>

type EventsByType = {
  [T in EventType]: { id: string; type: T; created_at: string; data: DataOf<T> }
}

/** An event of a documented type. Narrow it by `event.type`. */
export type KnownEvent = EventsByType[EventType]

/** An event of a type unknown to this version: only its envelope was checked (R127). */
export interface UnknownEvent {
  id: string
  type: string
  created_at: string
  data: Record<string, unknown>
}

/** Any event. `isKnownEvent` narrows it; comparing `type` alone doesn't. */
export type AnyEvent = KnownEvent | UnknownEvent

/**
 * The event of a type name, a prefix such as `wallet.*`, `*`, or a list of these. A prefix gives the union of its
 * documented types, `*` any event, and a name that isn't documented an unknown event.
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

/** True for an event of a documented type: then `event.type` narrows its data. Compares the name of the type only. */
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
