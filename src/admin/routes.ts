import { toAdminOpenApi } from './openapi.ts'
import { routesApart } from './routes/apart.ts'
import { eventRoutes } from './routes/events.ts'
import { handlerRoutes } from './routes/handlers.ts'
import { healthRoutes } from './routes/health.ts'
import { letterRoutes } from './routes/letters.ts'
import { describeRoute, type Route, type RouteText } from './routes/route.ts'
import { upkeepRoutes } from './routes/upkeep.ts'

export type { Route } from './routes/route.ts'

let document: object | undefined

const documentRoute: Route = {
  ...describeRoute({
    id: 'getDocument',
    group: 'overview',
    method: 'get',
    path: '/openapi.json',
    role: 'anyone',
    summary: 'Get this document',
    gives: 'document',
  }),
  method: 'get',
  takesBody: false,
  // Made when somebody asks for it, once.
  answer: () => (document ??= toAdminOpenApi(describedRoutes)),
}

/** The API below `/api/v1` that answers in JSON. */
export const routes: readonly Route[] = [
  ...healthRoutes,
  ...eventRoutes,
  ...letterRoutes,
  ...handlerRoutes,
  ...upkeepRoutes,
  documentRoute,
]

/** All of them, with those that are served apart. */
export const describedRoutes: readonly RouteText[] = [...routesApart, ...routes]
