import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { Stream as StreamOf } from '../../base/http/sse.ts'
import type { Deliveries } from '../deliveries/delivery.ts'
import type { Faults } from '../faults/faults.ts'
import type { Journal } from '../rest/journal.ts'
import type { EmulatorState } from '../emulator-state.ts'
import type { RandomBytes } from '../random.ts'
import type { Sessions } from './sessions.ts'
import type { Triggering } from '../triggering.ts'

/** Services that routes use. */
export interface ControlContext {
  readonly state: EmulatorState
  readonly journal: Journal
  readonly deliveries: Deliveries
  readonly faults: Faults
  readonly stream: Stream
  readonly sessions: Sessions
  readonly randomBytes: RandomBytes
  readonly triggering: Pick<Triggering, 'many'>
}

/** A validated request. */
interface ControlCall<B = unknown, Q = unknown> {
  readonly body: B
  readonly query: Q
  /** Value of `:id` in the path; empty if the pattern has none. */
  readonly id: string
  readonly request: IncomingMessage
  /** For extra headers, or for a route that returns `responseTaken`. */
  readonly response: ServerResponse
}

/** Returned by a route that writes the response itself. */
export const responseTaken = Symbol('the route has taken the response')

interface RouteParts<B, Q> {
  /** True if the route needs no credential. */
  readonly isOpen?: boolean
  /** Undefined: no body. */
  readonly body?: B
  readonly query?: Q
  /** Default 200. */
  readonly status?: number
  readonly answer: (context: ControlContext, call: ControlCall<z.output<B>, z.output<Q>>) => unknown
}

export interface Route extends RouteParts<z.ZodType, z.ZodType> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path below `/_emulator`. One segment may be `:id`. */
  readonly path: string
}

/** Defines a route with a typed body and query. */
export function route<B extends z.ZodType, Q extends z.ZodType>(
  method: Route['method'],
  path: string,
  parts: RouteParts<B, Q>,
): Route {
  return { method, path, ...(parts as unknown as RouteParts<z.ZodType, z.ZodType>) }
}

/** Kinds of stream messages: events as they arise, delivery attempts, clock changes. */
export const streamKinds = ['event', 'attempt', 'clock'] as const
export type StreamKind = (typeof streamKinds)[number]

type Stream = StreamOf<StreamKind>

/** Formats a moment as an ISO 8601 UTC time. */
export function toTime(at: number): string {
  return new Date(at).toISOString()
}
