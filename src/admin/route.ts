import type { z } from 'zod'
import type { OpenBreaker } from '../dispatch/circuit-breaker.ts'
import type { HandlerPace } from '../dispatch/pace.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import type { ErrorCode } from '../base/errors.ts'
import type { DriftCounter } from '../health/drift.ts'
import type { HealthMeter } from '../health/meter.ts'
import type { Reconciler } from '../health/reconcile.ts'
import type { HealthWatch } from '../health/watch.ts'
import type { ClusterPort } from '../inbox/cluster-port.ts'
import type { NewEvent, OperatorActions, QuarantinedBody, QueryStore, SubscriptionPort } from '../inbox/port.ts'
import type { Rejects } from '../receiver/rejects.ts'
import { noParameters, parseBody, parseParameters, type Query } from './parse.ts'
import type { Role } from './sessions.ts'

/** What the routes work on. All that is optional is missing where a command opens a database file itself. */
export interface AdminContext {
  readonly inbox: QueryStore & OperatorActions & SubscriptionPort
  /** Reads a body as an event, as the receiver does; or returns why it is none. */
  readonly readEvent: (body: Pick<QuarantinedBody, 'raw' | 'secretLabel' | 'receivedAt'>) => NewEvent | string
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The handlers that are loaded at the moment. */
  readonly handlers?: () => readonly HandlerInfo[]
  /** Sinks whose circuit breaker is open or that asked for a pause, by name. */
  readonly openBreakers?: () => ReadonlyMap<string, OpenBreaker>
  /** Recent attempts per handler. */
  readonly paces?: () => ReadonlyMap<string, HandlerPace>
  /** Called when a handler may run more or fewer runs at once. */
  readonly onConcurrency?: (handler: string, concurrency: number | null) => void
  /** Called when claimed runs must not start: of one handler or, with null, of any. */
  readonly onRecall?: (handler: string | null) => void
  readonly meter?: Pick<HealthMeter, 'summary' | 'acks' | 'perSecond' | 'rejects'>
  /** Missing where no receiver runs in this process. */
  readonly drift?: Pick<DriftCounter, 'records'>
  readonly watch?: Pick<HealthWatch, 'warnings' | 'silences'>
  /** Missing without access to the upstream service. */
  readonly reconciler?: Omit<Reconciler, 'close'>
  readonly rejects?: Pick<Rejects, 'list' | 'explain' | 'count'>
  /** The settings in force, without secrets. */
  readonly settings?: () => readonly {
    name: string
    value: string
    source: 'default' | 'environment' | 'file' | 'config'
    secret: boolean
  }[]
  /** Labels of the secrets that are valid now. */
  readonly secretLabels?: () => readonly string[]
  /** When this process began: milliseconds since 1970. */
  readonly startedAt?: number
  /** Where several processes share the inbox. */
  readonly cluster?: Pick<ClusterPort, 'replicas'> | undefined
}

export const groups = {
  session: 'Sign in to the console.',
  overview: 'Key figures and live updates.',
  events: 'Stored events and their runs.',
  replays: 'Run stored events again.',
  'dead-letters': 'Runs that failed for good.',
  quarantine: 'Signed bodies that are no usable event.',
  rejects: 'Rejected requests, kept in memory.',
  conflicts: 'Deliveries whose id is known with another body.',
  handlers: 'Handlers and sinks.',
  health: 'Health, settings and audit.',
  reconcile: 'Compare stored events with the upstream service.',
  subscription: 'The registration with the upstream service.',
  upkeep: 'Maintenance of the store.',
} as const
export type Group = keyof typeof groups

/** What the OpenAPI document says of a route. */
export interface RouteText {
  readonly group: Group
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** Below `/api/v1`; it has `:id` at most once. */
  readonly path: string
  /** What stands for `:id`. */
  readonly param?: { readonly name: string; readonly description: string }
  readonly role: Role | 'anyone'
  readonly summary: string
  readonly query: z.ZodObject
  readonly body?: z.ZodType | undefined
  /** The answer; `bytes`, `stream` and `document` are no JSON of a component. */
  readonly gives: z.ZodType | 'bytes' | 'stream' | 'document'
  readonly status: 200 | 201 | 202
  /** Errors beside those that any route may answer. */
  readonly refuses: readonly ErrorCode[]
}

/** A request as it came, before its parameters and body are checked. */
export interface RawRequest {
  /** The part of the path that stands for `:id`, decoded; empty where there is none. */
  readonly id?: string
  readonly query?: Query
  /** Of requests that change something: parsed JSON. */
  readonly body?: unknown
  /** The caller, for the audit: `operator (session) 127.0.0.1`. */
  readonly by?: string | undefined
}

export interface Route<A extends z.ZodType | 'document' = z.ZodType | 'document'> extends RouteText {
  readonly method: 'get' | 'post' | 'patch'
  readonly gives: A
  /** Log line once it is done. */
  readonly logged?: string
  /** Whether an answer says that something was done; default: unless it was a dry run. */
  readonly isDone?: (answer: object) => boolean
  /** The part of an answer that is logged; default: everything but lists. */
  readonly toLog?: (answer: object) => object
  /** Throws `bad_request`, `not_found` and what `refuses` lists. */
  answer(context: AdminContext, request: RawRequest): Promise<A extends z.ZodType ? z.output<A> : object>
}

type Optional = 'group' | 'role' | 'query' | 'status' | 'refuses'
type TextOptions<T extends RouteText> = Omit<T, Optional | 'method' | 'path'> &
  Partial<Pick<T, Optional>> & {
    /** The method, and the path below `/api/v1`; its first part is the group, unless `group` says otherwise. */
    readonly at: `${Uppercase<T['method']>} /${string}`
  }

/** Viewers may get, operators may do everything, unless `role` says otherwise. */
export function describeRoute({ at, ...given }: TextOptions<RouteText>): RouteText {
  const [method = '', path = ''] = at.split(' ')
  return {
    ...given,
    method: method.toLowerCase() as RouteText['method'],
    path,
    group: given.group ?? (path.split('/')[1] as Group),
    role: given.role ?? (method === 'GET' ? 'viewer' : 'operator'),
    query: given.query ?? noParameters,
    status: given.status ?? 200,
    refuses: given.refuses ?? [],
  }
}

interface RouteOptions<A extends z.ZodType | 'document', Q extends z.ZodObject, B extends z.ZodType> extends Omit<
  TextOptions<Route<A>>,
  'answer' | 'query' | 'body' | 'gives'
> {
  readonly query?: Q
  readonly body?: B
  readonly gives: A
  answer(
    context: AdminContext,
    request: { readonly id: string; readonly query: z.output<Q>; readonly body: z.output<B>; readonly by?: string },
  ): (A extends z.ZodType ? z.output<A> : object) | Promise<A extends z.ZodType ? z.output<A> : object>
}

/** A route that answers JSON. It checks parameters and body first; one without parameters rejects all: `bad_request`. */
export function route<A extends z.ZodType | 'document', Q extends z.ZodObject, B extends z.ZodType>(
  given: RouteOptions<A, Q, B>,
): Route<A> {
  const text = describeRoute(given)
  return {
    ...given,
    ...text,
    method: text.method as Route['method'],
    gives: given.gives,
    async answer(context, { id = '', query = {}, body, by }) {
      return given.answer(context, {
        id,
        query: parseParameters(text.query, query) as z.output<Q>,
        body: (given.body === undefined ? undefined : parseBody(given.body, body)) as z.output<B>,
        ...(by !== undefined && { by }),
      })
    },
  }
}

/** The number that an id in a path stands for; null if it is none. */
export function numberOf(id: string): number | null {
  return /^\d{1,15}$/.test(id) ? Number(id) : null
}
