import type { z } from 'zod'
import type { OperationById } from '../../../schema/rest/operations.ts'
import type { OperationId } from '../../../schema/rest/routes.ts'
import type { Caller } from '../accounts/port.ts'
import type { KeyedPageRequest, PageEnd } from './pages.ts'

type Output<S> = S extends z.ZodType ? Readonly<z.output<S>> : null

/** A validated request of one operation. */
export interface Call<Id extends OperationId> {
  readonly caller: Caller
  readonly params: Output<OperationById<Id>['params']>
  readonly query: Output<OperationById<Id>['query']>
  readonly body: Output<OperationById<Id>['body']>
  /** Null for operations that don't return pages. */
  readonly page: OperationById<Id>['meta'] extends 'page' ? KeyedPageRequest : null
}

/** The result of an operation. */
export interface Result<Id extends OperationId> {
  readonly data: Output<OperationById<Id>['data']>
  /** Null for operations that don't return pages. */
  readonly page: OperationById<Id>['meta'] extends 'page' ? PageEnd : null
}

/** Implementations of the operations. They throw `RestError`, `LimitReached` or `WorldRefusal`. */
export type Handlers = { readonly [Id in OperationId]: (call: Call<Id>) => Result<Id> }
/** The handlers of one group of operations. */
export type HandlersOf<Id extends OperationId> = Pick<Handlers, Id>
