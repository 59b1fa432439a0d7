import type { z } from 'zod'
import { conflictRoutes } from './conflicts.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { eventBytesRoute, eventRoutes } from './events.ts'
import { exportRoute } from './export.ts'
import { handlerRoutes } from './handlers.ts'
import { healthRoutes } from './health.ts'
import { overviewRoutes } from './overview.ts'
import { quarantineRoutes } from './quarantine.ts'
import { reconcileRoutes } from './reconcile.ts'
import { rejectRoutes } from './rejects.ts'
import { replayRoutes } from './replays.ts'
import { describeRoute, type AdminContext, type RawRequest, type Route, type RouteText } from './route.ts'
import { sessionRoutes } from './session.ts'
import { streamRoute } from './stream.ts'
import { upkeepRoutes } from './upkeep.ts'

const documentRoute = describeRoute({
  group: 'overview',
  at: 'GET /openapi.json',
  role: 'anyone',
  summary: 'Get this document',
  gives: 'document',
})

/** Operations that answer JSON, by their id in the OpenAPI document. */
export const operations = {
  ...overviewRoutes,
  ...healthRoutes,
  ...reconcileRoutes,
  ...eventRoutes,
  ...replayRoutes,
  ...deadLetterRoutes,
  ...quarantineRoutes,
  ...rejectRoutes,
  ...conflictRoutes,
  ...handlerRoutes,
  ...upkeepRoutes,
} satisfies Readonly<Record<string, Route>>

export const routes: readonly Route[] = Object.values(operations)

/** All operations, with the ones that server.ts serves separately. */
export const describedRoutes: Readonly<Record<string, RouteText>> = {
  ...sessionRoutes,
  getEventBytes: eventBytesRoute,
  exportEvents: exportRoute,
  followStream: streamRoute,
  ...operations,
  getDocument: documentRoute,
}

export type OperationId = keyof typeof operations
export type AnswerOf<I extends OperationId> = z.output<(typeof operations)[I]['gives']>

/** Calls operations of the admin API, over HTTP or in this process. Throws `bad_request`, `not_found`. */
export interface AdminCalls {
  call<I extends OperationId>(id: I, request?: Omit<RawRequest, 'by'>): Promise<AnswerOf<I>>
  /** The exact bytes of an event. */
  rawEvent(id: string): Promise<Buffer>
}

/** Calls operations on an inbox in this process. */
export function callOperation<I extends OperationId>(
  context: AdminContext,
  id: I,
  request: RawRequest = {},
): Promise<AnswerOf<I>> {
  return operations[id].answer(context, request) as Promise<AnswerOf<I>>
}
