import type { z } from 'zod'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { bareExpress, groupByPath } from '../../base/http/bare-express.ts'
import { type Logger, safeText } from '../../base/log.ts'
import { readJsonBody } from '../rest/body.ts'
import { HttpError, type RequestPart, shownPath, toInvalidRequest } from '../rest/error.ts'
import { parseQuery } from '../rest/input.ts'
import { KeyTaken, LimitReached } from '../accounts/accounts.ts'
import { WorldRefusal } from '../world/port.ts'
import { createGuard } from './session.ts'
import { type ControlContext, type Route, responseTaken } from './route.ts'
import { routes } from './routes.ts'

export interface ControlAppOptions extends ControlContext {
  readonly token: string
  readonly wall: Clock
  readonly log: Logger
}

const prefix = '/_emulator'

/** The control API for tests and operators; not part of `/v1`. */
export function createControlApp({ token, wall, log, ...context }: ControlAppOptions) {
  const guard = createGuard(token, context.sessions)
  const startedAt = new WeakMap<IncomingMessage, number>()
  const metaOf = (request: IncomingMessage) => ({
    timestamp: new Date(context.state.clock.now()).toISOString(),
    latency_ms: Math.max(0, Math.round(wall.now() - (startedAt.get(request) ?? 0))),
  })

  function serve(routesOfPath: readonly Route[]): RequestHandler<{ id?: string }> {
    const allowed = routesOfPath.map(({ method }) => method).join(', ')
    return async (request, response) => {
      if (!routesOfPath.some(({ isOpen }) => isOpen === true)) guard(request)
      const route = routesOfPath.find(({ method }) => method === request.method)
      if (route === undefined) {
        const message = `this path takes ${allowed} only`
        throw new HttpError(405, 'method_not_allowed', message, { headers: { Allow: allowed } })
      }
      const body = route.body === undefined ? null : parse(route.body, await readJsonBody(request, response), 'body')
      const query = readQuery(route, request.url)
      const { id = '' } = request.params
      const data = await route.answer(context, { body, query, id, request, response })
      if (request.method !== 'GET' && route.isOpen !== true)
        log.info({ path: safeText(shownPath(request.url)) }, 'control request')
      if (data !== responseTaken) send(response, route.status ?? 200, { success: true, data, meta: metaOf(request) })
    }
  }

  const app = bareExpress()
  for (const [path, routesOfPath] of groupByPath(routes)) app.all(`${prefix}${path}`, serve(routesOfPath))
  app.use((request) => {
    guard(request)
    throw new HttpError(404, 'not_found', `there is nothing at this path; GET ${prefix} lists all routes`)
  })
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) => {
    const httpError = toHttpError(thrown)
    if (httpError === null) log.error({ error: messageOf(thrown) }, 'control request failed')
    const { status, code, message, details, headers } =
      httpError ?? new HttpError(500, 'internal', 'internal error; see the log')
    // The rest of the body stays unread.
    const connection = status === 413 ? { Connection: 'close' } : {}
    const error = { code, message, details }
    send(response, status, { success: false, error, meta: metaOf(request) }, { ...headers, ...connection })
  })

  return {
    /** True for requests to the control API. */
    isFor: ({ url = '' }: IncomingMessage): boolean =>
      url === prefix || url.startsWith(`${prefix}/`) || url.startsWith(`${prefix}?`),
    handle(request: IncomingMessage, response: ServerResponse): void {
      // Advancing a clock by days can take minutes without traffic.
      request.socket.setTimeout(0)
      startedAt.set(request, wall.now())
      app(request as Request, response as Response)
    },
  }
}

function readQuery(route: Route, target: string): unknown {
  const query = parseQuery(target)
  if (route.query !== undefined) return parse(route.query, query, 'query')
  const [name] = Object.keys(query)
  if (name !== undefined)
    throw new HttpError(400, 'invalid_request', `this path takes no parameter ${safeText(name, 80)}`)
  return null
}

function parse(schema: z.ZodType, received: unknown, part: RequestPart): unknown {
  const result = schema.safeParse(received)
  if (result.success) return result.data
  throw toInvalidRequest(result.error, received, part)
}

/** Maps a thrown value to a response; null for an unexpected error, which must not be shown. */
function toHttpError(thrown: unknown): HttpError | null {
  if (thrown instanceof HttpError) return thrown
  if (thrown instanceof WorldRefusal) return new HttpError(409, 'refused_by_world', thrown.message, { cause: thrown })
  if (thrown instanceof LimitReached) return new HttpError(409, 'limit_reached', thrown.message, { cause: thrown })
  if (thrown instanceof KeyTaken) return new HttpError(409, 'conflict', thrown.message, { cause: thrown })
  if (thrown instanceof InboxError && thrown.code === 'bad_request') {
    return new HttpError(409, 'conflict', thrown.message, { cause: thrown })
  }
  // Express and `parseQuery` throw this for broken percent-encoding.
  if (thrown instanceof URIError) return new HttpError(400, 'invalid_request', 'the path or query is malformed')
  return null
}

function send(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  })
  response.end(body)
}
