import type { z } from 'zod'
import type { alert } from '../../schema/rest/alert.ts'
import type { MetaKind, metas } from '../../schema/rest/envelope.ts'
import type { networkInfo } from '../../schema/rest/network.ts'
import type { OperationById } from '../../schema/rest/operations.ts'
import type { OperationId, routes } from '../../schema/rest/routes.ts'
import type { token } from '../../schema/rest/token.ts'
import type { pnlSummary, position, trade, walletOverview } from '../../schema/rest/wallet.ts'
import type { createdWebhook, webhook } from '../../schema/rest/webhook.ts'

export type { OperationId }
export type WalletOverview = z.output<typeof walletOverview>
export type Position = z.output<typeof position>
export type PnlSummary = z.output<typeof pnlSummary>
export type Trade = z.output<typeof trade>
export type Token = z.output<typeof token>
export type Alert = z.output<typeof alert>
export type Network = z.output<typeof networkInfo>
export type Webhook = z.output<typeof webhook>
export type CreatedWebhook = z.output<typeof createdWebhook>

/** `data` of the response to an operation. */
export type DataOf<Id extends OperationId> = z.output<OperationById<Id>['data']>

/** An element of the list that an operation returns. */
export type ItemOf<Id extends OperationId> = DataOf<Id> extends (infer Item)[] ? Item : never

/** `meta` of the response to an operation. Any member may be missing (R15). */
type MetaOf<Id extends OperationId> = Partial<z.output<(typeof metas)[OperationById<Id>['meta'] & MetaKind]>>

/** Networks are open strings, as in events; unknown ones are rejected when sent (R4). Lists may be read-only. */
type Argument<Name, T> = Name extends 'network' ? T | (string & {}) : T extends (infer Item)[] ? readonly Item[] : T

/** Members of a request. Optional ones, and ones with a default, may be omitted. */
type Members<S> =
  S extends z.ZodObject<infer Shape>
    ? {
        readonly [N in keyof Shape as undefined extends z.input<Shape[N]> ? never : N]: Argument<N, z.output<Shape[N]>>
      } & {
        readonly [N in keyof Shape as undefined extends z.input<Shape[N]> ? N : never]?:
          | Argument<N, z.output<Shape[N]>>
          | undefined
      }
    : unknown

/** The arguments of an operation: the parameters of its path and query and the members of its body, in one flat object. */
export type ArgumentsOf<Id extends OperationId> = Members<OperationById<Id>['params']> &
  Members<OperationById<Id>['query']> &
  Members<OperationById<Id>['body']>

/** A successful response. */
export interface ApiResponse<Data, Meta = Readonly<Record<string, unknown>>> {
  /** Unchanged: members that the types don't know are kept (R125). */
  readonly data: Data
  /** About the response. Any member may be missing (R15). */
  readonly meta: Meta
  readonly status: number
  /** The upstream's id of the request; null without one. */
  readonly requestId: string | null
  /** The whole JSON. */
  readonly body: unknown
  /** A number as the upstream wrote it, with all digits, by its path in the whole JSON: `exact('data.value_usd')`. */
  exact(path: string): string | undefined
}

/** The response to an operation. */
export type ResponseTo<Id extends OperationId> = ApiResponse<DataOf<Id>, MetaOf<Id>>

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, which rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** Timeout in milliseconds. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined
}

/**
 * A list with pages. Sends nothing until it is iterated or one of its methods is called. Iteration yields the items of all
 * pages, in no particular order (R55). Each iteration requests them again.
 */
export interface Pages<Item> extends AsyncIterable<Item> {
  /** The first page, or the one at the given `cursor`. */
  page(): Promise<PageOf<Item>>
  /** Page by page. */
  pages(): AsyncIterable<PageOf<Item>>
}

/** One page of a list; `meta.next_cursor` leads to the next. */
export type PageOf<Item> = ApiResponse<Item[], Partial<z.output<(typeof metas)['page']>>>

/** Members of a query; undefined ones are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** The list of networks is kept for up to five minutes; `fresh` requests it again. */
export interface NetworksOptions {
  readonly fresh?: boolean | undefined
}

type Call<Id extends OperationId, Result> =
  object extends ArgumentsOf<Id>
    ? (args?: ArgumentsOf<Id>, options?: CallOptions) => Result
    : (args: ArgumentsOf<Id>, options?: CallOptions) => Result

/** Lists are pages; everything else is one response. */
type Operations = {
  readonly [Id in OperationId]: Call<
    Id,
    (typeof routes)[Id]['data'] extends 'page' ? Pages<ItemOf<Id>> : Promise<ResponseTo<Id>>
  >
}

/**
 * The upstream, a method per operation. Arguments are one flat object: parameters and members of the body together. POST and
 * PATCH are not repeated after a lost response: a second alert or webhook would double its deliveries.
 *
 * All methods reject with `ApiError` for an unsuccessful, invalid or missing response, with the reason of an aborted signal,
 * and with InboxError `usage` for arguments that can't be sent.
 */
export interface ApiClient extends Omit<Operations, 'listNetworks'> {
  /** The supported networks with their status (R59), at most five minutes old (R123). */
  readonly listNetworks: (args?: NetworksOptions, options?: CallOptions) => Promise<ResponseTo<'listNetworks'>>
  /**
   * For undocumented paths: `get('/trending', { limit: 5 })`. The path, with or without the version prefix, is plain text: each
   * segment is encoded.
   */
  readonly get: (path: string, query?: Query, options?: CallOptions) => Promise<ApiResponse<unknown>>
}
