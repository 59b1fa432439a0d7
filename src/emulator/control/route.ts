import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { Stream as StreamOf } from '../../base/http/sse.ts'
import type { Deliveries } from '../deliveries/port.ts'
import type { Faults } from '../faults/port.ts'
import type { Journal } from '../rest/journal.ts'
import type { EmulatorState } from '../emulator-state.ts'
import type { RandomBytes } from '../random.ts'
import type { Sessions } from '../session/sessions.ts'
import type { Triggering } from '../triggering.ts'

/** What routes work on. */
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

/** A request as a route sees it, checked. */
interface ControlCall<B = unknown, Q = unknown> {
  readonly body: B
  readonly query: Q
  /** The part of the path that stands for `:id`. */
  readonly id: string
  readonly request: IncomingMessage
  /** For headers beside those of every answer, or for a route that gives `responseTaken`. */
  readonly response: ServerResponse
}

/** What a route gives that answers by itself: nothing more is sent. */
export const responseTaken = Symbol('the route has taken the response')

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/_emulator`. One of its parts may be `:id`. */
  readonly path: string
  /** Whether it needs no credential. */
  readonly isOpen: boolean
  /** Null = it takes none. */
  readonly body: z.ZodType | null
  readonly query: z.ZodType | null
  readonly status: number
  answer(on: ControlContext, call: ControlCall): unknown
}

interface RouteParts<B extends z.ZodType, Q extends z.ZodType> {
  readonly isOpen?: boolean
  readonly body?: B
  readonly query?: Q
  readonly status?: number
  readonly answer: (on: ControlContext, call: ControlCall<z.output<B>, z.output<Q>>) => unknown
}

/** A route whose answer gets body and query as its schemas give them. */
export function route<B extends z.ZodType, Q extends z.ZodType>(
  method: Route['method'],
  path: string,
  { isOpen = false, body, query, status = 200, answer }: RouteParts<B, Q>,
): Route {
  return {
    method,
    path,
    isOpen,
    body: body ?? null,
    query: query ?? null,
    status,
    answer: (on, call) => answer(on, call as ControlCall<z.output<B>, z.output<Q>>),
  }
}

/** What goes by the stream: events as they arise, attempts of deliveries, changes of the clock. */
export const streamKinds = ['event', 'attempt', 'clock'] as const
export type StreamKind = (typeof streamKinds)[number]

type Stream = StreamOf<StreamKind>

/** A moment as it is shown. */
export function toTime(at: number): string {
  return new Date(at).toISOString()
}
