import type { components, operations } from './generated.ts'
import type { OperationId } from './operations.ts'

type Schemas = components['schemas']

export type WalletOverview = Schemas['WalletOverview']
export type Position = Schemas['Position']
export type PnlSummary = Schemas['PnlSummary']
export type Trade = Schemas['Trade']
export type Token = Schemas['Token']
export type Alert = Schemas['Alert']
export type Network = Schemas['Network']
export type Webhook = Schemas['Webhook']
export type CreatedWebhook = Schemas['CreatedWebhook']

type Success<Id extends OperationId> = operations[Id]['responses'] extends infer Responses
  ? Responses[keyof Responses] extends { content: { 'application/json': infer Body } }
    ? Body
    : never
  : never

/** `data` of the answer to an operation. */
export type DataOf<Id extends OperationId> = Success<Id> extends { data: infer Data } ? Data : never

/** An element of the list that an operation gives. */
export type ItemOf<Id extends OperationId> = DataOf<Id> extends (infer Item)[] ? Item : never

/** `meta` of the answer to an operation; any member may be missing (R15). */
type MetaOf<Id extends OperationId> = Success<Id> extends { meta: infer Meta } ? Partial<Meta> : never

type Parameters<Id extends OperationId, Part extends 'path' | 'query'> = operations[Id]['parameters'] extends {
  [P in Part]?: infer Given
}
  ? OrNothing<NonNullable<Given>>
  : unknown

/** Where the document has nothing, its type is never. */
type OrNothing<T> = [T] extends [never] ? unknown : T

type Body<Id extends OperationId> = operations[Id] extends {
  requestBody: { content: { 'application/json': infer Given } }
}
  ? Given
  : unknown

/** What is optional may be undefined, too. */
type Loose<T> = {
  readonly [Name in keyof T]: object extends Pick<T, Name> ? Given<Name, T[Name]> | undefined : Given<Name, T[Name]>
}
/** Lists may be read-only. A network may be any text, as events have it; one that the service has not is refused when it is asked (R4). */
type Given<Name, T> = Name extends 'network' ? T | (string & {}) : T extends (infer Item)[] ? readonly Item[] : T

/** The arguments of an operation: the parameters of its path and query, and the members of its body, in one flat object. */
export type ArgumentsOf<Id extends OperationId> = Loose<Parameters<Id, 'path'> & Parameters<Id, 'query'> & Body<Id>>

/** An answer that is a success. */
export interface ApiAnswer<Data, Meta = Readonly<Record<string, unknown>>> {
  /** As it came: members that the types do not know are kept (R125). */
  readonly data: Data
  /** About the answer. Any member may be missing (R15). */
  readonly meta: Meta
  readonly status: number
  /** By which the service knows the request; null if it does not say. */
  readonly requestId: string | null
  /** The whole JSON. */
  readonly body: unknown
  /** A number as the service wrote it, every digit kept, by its path in the whole JSON: `exact('data.value_usd')`. */
  exact(path: string): string | undefined
}

/** The answer to an operation. */
export type AnswerTo<Id extends OperationId> = ApiAnswer<DataOf<Id>, MetaOf<Id>>

/** Of one call. */
export interface CallOptions {
  /** Ends the call; it rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** In place of that of the client. */
  readonly timeoutMs?: number | undefined
}

/**
 * A list that comes in pages. Nothing is asked before it is iterated, or one of its methods called. Iterated, it gives the items of
 * all pages, in no order that may be relied on (R55); each iteration asks anew.
 */
export interface Pages<Item> extends AsyncIterable<Item> {
  /** The first page, or the one behind the `cursor` that was given. */
  page(): Promise<PageOf<Item>>
  /** Page by page. */
  pages(): AsyncIterable<PageOf<Item>>
}

/** One page of a list; `meta.next_cursor` leads to the next. */
export type PageOf<Item> = ApiAnswer<Item[], Partial<Schemas['PageMeta']>>
