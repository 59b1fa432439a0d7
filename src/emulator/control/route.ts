import type { z } from 'zod'
import type { EventType } from '../../../schema/index.ts'
import type { Deliveries } from '../deliveries.ts'
import type { Journal } from '../journal.ts'
import type { Keeper } from '../keeper.ts'

/** What routes work on. */
export interface Controlled {
  readonly keeper: Keeper
  readonly journal: Journal
  readonly deliveries: Pick<Deliveries, 'counts'>
  readonly trigger: (type: EventType) => Readonly<Record<string, unknown>>
}

/** A request as a route sees it, checked. */
export interface ControlCall<B = unknown, Q = unknown> {
  readonly body: B
  readonly query: Q
  /** The part of the path that stands for `:id`. */
  readonly id: string
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below `/_emulator`. */
  readonly path: string
  /** Null = it takes none. */
  readonly body: z.ZodType | null
  readonly query: z.ZodType | null
  readonly status: number
  answer(on: Controlled, call: ControlCall): unknown
}

interface RouteParts<B extends z.ZodType, Q extends z.ZodType> {
  readonly body?: B
  readonly query?: Q
  readonly status?: number
  readonly answer: (on: Controlled, call: ControlCall<z.output<B>, z.output<Q>>) => unknown
}

/** A route whose answer gets body and query as its schemas give them. */
export function route<B extends z.ZodType, Q extends z.ZodType>(
  method: Route['method'],
  path: string,
  { body, query, status = 200, answer }: RouteParts<B, Q>,
): Route {
  return {
    method,
    path,
    body: body ?? null,
    query: query ?? null,
    status,
    answer: (on, call) => answer(on, call as ControlCall<z.output<B>, z.output<Q>>),
  }
}
