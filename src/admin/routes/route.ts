import type { z } from 'zod'
import type { ErrorCode } from '../../errors.ts'
import { noParameters, parseParameters } from '../parameters.ts'
import type { Role } from '../roles.ts'
import type { AdminAccess, Query } from '../views.ts'

/** A request as a route sees it. */
export interface RouteRequest {
  /** The part of the path that stands for `:id`, decoded; empty where there is none. */
  readonly id: string
  readonly query: Query
  /** Of requests that change something: parsed JSON. */
  readonly body: unknown
  /** Who sent it, for the audit: `operator (session) 127.0.0.1`. */
  readonly by: string
}

export const groups = [
  'session',
  'overview',
  'events',
  'replays',
  'dead-letters',
  'quarantine',
  'rejects',
  'conflicts',
  'handlers',
  'health',
  'reconcile',
  'subscription',
  'upkeep',
] as const
export type Group = (typeof groups)[number]

/** What is told of a route: the OpenAPI document is made of these. */
export interface RouteText {
  /** Names it in the document. */
  readonly id: string
  readonly group: Group
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** Below `/api/v1`; it has `:id` at most once. */
  readonly path: string
  /** What stands for `:id`. */
  readonly param?: { readonly name: string; readonly description: string }
  /** Who may call it. */
  readonly role: Role | 'anyone'
  readonly summary: string
  readonly query: z.ZodObject
  readonly body?: z.ZodType | undefined
  /** The answer; `bytes` and `stream` are no JSON. */
  readonly gives: z.ZodType | 'bytes' | 'stream' | 'document'
  readonly status: 200 | 201 | 202
  /** Errors beside those that any route may answer. */
  readonly refuses: readonly ErrorCode[]
}

export interface Route extends RouteText {
  readonly method: 'get' | 'post' | 'patch'
  /** Whether it takes a body. */
  readonly takesBody: boolean
  /** Said in the log once it is done. */
  readonly logged?: string
  /** Whether an answer says that something was done; without it, each does. */
  readonly isDone?: (answer: object) => boolean
  /** What of an answer is logged with it; without it, all but lists. */
  readonly toLog?: (answer: object) => object
  answer(access: AdminAccess, request: RouteRequest): object | Promise<object>
}

type Usual = 'role' | 'query' | 'status' | 'refuses'
type TextOptions<T extends RouteText> = Omit<T, Usual> & Partial<Pick<T, Usual>>

interface RouteOptions<A extends z.ZodType> extends Omit<TextOptions<Route>, 'gives' | 'takesBody' | 'answer'> {
  readonly gives: A
  answer(access: AdminAccess, request: RouteRequest): z.output<A> | Promise<z.output<A>>
}

/** Viewers may get, operators do everything else, unless it says otherwise. */
export function describeRoute(given: TextOptions<RouteText>): RouteText {
  return {
    ...given,
    role: given.role ?? (given.method === 'get' ? 'viewer' : 'operator'),
    query: given.query ?? noParameters,
    status: given.status ?? 200,
    refuses: given.refuses ?? [],
  }
}

/** A route whose answer is what it says. One that takes no parameters refuses all: `bad_request`. */
export function route<A extends z.ZodType<object>>(given: RouteOptions<A>): Route {
  const { method } = given
  return {
    ...given,
    ...describeRoute(given),
    method,
    takesBody: given.body !== undefined,
    answer(access, request) {
      if (given.query === undefined) parseParameters(noParameters, request.query)
      return given.answer(access, request)
    },
  }
}
