import type { z } from 'zod'
import type { OpenBreaker } from '../dispatch/circuit-breaker.ts'
import type { HandlerPace } from '../dispatch/pace.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import type { ErrorCode } from '../base/errors.ts'
import type { DescribedSetting } from '../config/described.ts'
import type { DriftCounter } from '../health/drift.ts'
import type { HealthMeter } from '../health/meter.ts'
import type { MeteredSender } from '../health/senders.ts'
import type { Reconciler } from '../health/reconcile.ts'
import type { HealthWatch } from '../health/watch.ts'
import type { ClusterPort } from '../inbox/cluster-port.ts'
import type { NewEvent, OperatorActions, QuarantinedBody, QueryStore } from '../inbox/port.ts'
import type { Rejects } from '../receiver/rejects.ts'
import { noParameters, parseBody, parseParameters, type Query } from './parse.ts'
import type { Role } from './sessions.ts'

/**
 * Result of one attempt of a sink. `idle`: it has no items. `closed`: its breaker is not open. `unanswered`: no result in time; a send
 * may still be running.
 */
export interface SinkTry {
  readonly result: 'sent' | 'failed' | 'idle' | 'closed' | 'unanswered'
  /** Null unless it failed. */
  readonly error: string | null
}

/** Dependencies of the routes. The optional ones are missing if a command opens the database itself. */
export interface AdminContext {
  readonly inbox: QueryStore & OperatorActions
  /** Parses a body as the receiver does. Returns a reason if it is not a usable event. */
  readonly readEvent: (body: Pick<QuarantinedBody, 'raw' | 'secretLabel' | 'receivedAt'>) => NewEvent | string
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The loaded handlers. */
  readonly handlers?: () => readonly HandlerInfo[]
  /** Sinks whose circuit breaker is open or that asked for a pause, by name. */
  readonly openBreakers?: () => ReadonlyMap<string, OpenBreaker>
  /** Recent attempts of a handler. */
  readonly paces?: (handler: string) => HandlerPace
  /** Called when an operator changed the concurrency of a handler. */
  readonly onConcurrency?: (handler: string, concurrency: number | null) => void
  /** Called when claimed runs of a handler (null: of any) must not start. */
  readonly onRecall?: (handler: string | null) => void
  /** Called when an operator resumed a handler or all. */
  readonly onResume?: () => void
  /** Makes this process send one item of a sink whose breaker is open. Missing if it runs no handlers. */
  readonly trySink?: (handler: string, by?: string) => Promise<SinkTry>
  /** Counts the deliveries of all sources. */
  readonly meter?: Pick<HealthMeter, 'summary' | 'acks'>
  readonly senders?: readonly MeteredSender[]
  /** Missing without a receiver in this process. */
  readonly drift?: Pick<DriftCounter, 'records'>
  readonly watch?: Pick<HealthWatch, 'warnings' | 'silences' | 'backlog'>
  /** Missing without access to the upstream service. */
  readonly reconciler?: Omit<Reconciler, 'close'> | undefined
  readonly rejects?: Pick<Rejects, 'list' | 'explain' | 'count'>
  /** The settings in force, without secrets. */
  readonly settings?: () => readonly DescribedSetting[]
  /** Labels of the configured secrets. */
  readonly secretLabels?: () => readonly string[]
  /** Start of this process, in milliseconds since 1970. */
  readonly startedAt?: number
  /** Set if several processes share the inbox. */
  readonly cluster?: Pick<ClusterPort, 'replicas'> | undefined
}

export const groups = {
  session: 'Sign in to the console.',
  overview: 'Key figures and live updates.',
  events: 'Stored events and their runs.',
  replays: 'Run stored events again.',
  'dead-letters': 'Runs that failed for good.',
  quarantine: 'Signed bodies that are not usable events.',
  rejects: 'Rejected requests, kept in memory.',
  conflicts: 'Deliveries of known ids with different bodies.',
  handlers: 'Handlers and sinks.',
  health: 'Health, settings and audit.',
  reconcile: 'Compare stored events with the upstream service.',
  upkeep: 'Maintenance of the store.',
} as const
export type Group = keyof typeof groups

/** The part of a route that the OpenAPI document describes. */
export interface RouteText {
  readonly group: Group
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** Path below `/api/v1`, with at most one `:id`. */
  readonly path: string
  /** Name and description of `:id`. */
  readonly param?: { readonly name: string; readonly description: string }
  readonly role: Role | 'anyone'
  readonly summary: string
  readonly query: z.ZodObject
  readonly body?: z.ZodType | undefined
  /** Schema of the answer; `bytes`, `table`, `stream` and `document` have none. */
  readonly gives: z.ZodType | 'bytes' | 'table' | 'stream' | 'document'
  readonly status: 200 | 201 | 202
  /** Errors of this route, in addition to the common ones. */
  readonly errors: readonly ErrorCode[]
}

/** A request before its parameters and body are checked. */
export interface RawRequest {
  /** Decoded value of `:id`; empty without one. */
  readonly id?: string
  readonly query?: Query
  /** Parsed JSON; undefined for GET. */
  readonly body?: unknown
  /** The caller, for the audit. */
  readonly by?: string | undefined
}

export interface Route<A extends z.ZodType = z.ZodType> extends RouteText {
  readonly method: 'get' | 'post' | 'patch'
  readonly gives: A
  /** Message of the log line after success. */
  readonly logged?: string
  /** Throws `bad_request`, `not_found` and the errors in `errors`. */
  answer(context: AdminContext, request: RawRequest): Promise<z.output<A>>
}

type Optional = 'group' | 'role' | 'query' | 'status' | 'errors'
type TextOptions<T extends RouteText> = Omit<T, Optional | 'method' | 'path'> &
  Partial<Pick<T, Optional>> & {
    /** Method and path below `/api/v1`. The first part of the path is the default group. */
    readonly at: `${Uppercase<T['method']>} /${string}`
  }

/** Default role: `viewer` for GET, else `operator`. */
export function describeRoute({ at, ...options }: TextOptions<RouteText>): RouteText {
  const [method = '', path = ''] = at.split(' ')
  return {
    ...options,
    method: method.toLowerCase() as RouteText['method'],
    path,
    group: options.group ?? (path.split('/')[1] as Group),
    role: options.role ?? (method === 'GET' ? 'viewer' : 'operator'),
    query: options.query ?? noParameters,
    status: options.status ?? 200,
    errors: options.errors ?? [],
  }
}

interface RouteOptions<A extends z.ZodType, Q extends z.ZodObject, B extends z.ZodType> extends Omit<
  TextOptions<Route<A>>,
  'answer' | 'query' | 'body' | 'gives'
> {
  readonly query?: Q
  readonly body?: B
  readonly gives: A
  answer(
    context: AdminContext,
    request: { readonly id: string; readonly query: z.output<Q>; readonly body: z.output<B>; readonly by?: string },
  ): z.output<A> | Promise<z.output<A>>
}

/** A route that answers JSON, and checks parameters and body first. Unknown parameters are a `bad_request`. */
export function route<A extends z.ZodType, Q extends z.ZodObject, B extends z.ZodType>(
  options: RouteOptions<A, Q, B>,
): Route<A> {
  const text = describeRoute(options)
  return {
    ...options,
    ...text,
    method: text.method as Route['method'],
    gives: options.gives,
    async answer(context, { id = '', query = {}, body, by }) {
      return options.answer(context, {
        id,
        query: parseParameters(text.query, query) as z.output<Q>,
        body: (options.body === undefined ? undefined : parseBody(options.body, body)) as z.output<B>,
        ...(by !== undefined && { by }),
      })
    },
  }
}

/** The number in a path; null if it is not a number. */
export function numberOf(id: string): number | null {
  return /^\d{1,15}$/.test(id) ? Number(id) : null
}
