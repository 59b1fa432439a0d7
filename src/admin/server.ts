import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { RequestListener } from 'node:http'
import { bareExpress } from '../bare-express.ts'
import { InboxError, messageOf } from '../errors.ts'
import { safeText, type Logger } from '../log.ts'
import type { ReceiverState } from '../receiver/receive.ts'
import { createGuard, type RequestCheck } from './auth.ts'
import type { Metrics } from './metrics.ts'
import { readJsonBody, sendError, sendJson } from './http.ts'
import { routes, type Route } from './routes.ts'
import { createEventAccess, type AccessOptions } from './views.ts'

export interface AdminAppOptions extends AccessOptions {
  readonly metrics: Pick<Metrics, 'scrape' | 'contentType'>
  readonly token: string
  /** Host names that are allowed beside those of loopback. */
  readonly hosts: readonly string[]
  readonly state: ReceiverState
  readonly log: Logger
}

const securityHeaders = new Map(
  Object.entries({
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  }),
)

const api = '/api/v1'

/** As the header `Allow` has them. */
const allowed = { get: 'GET, HEAD', post: 'POST', patch: 'PATCH' } as const

/** Paths without a parameter first: to one with a parameter their last part would be an id. */
const routesByPath = [...Map.groupBy(routes, ({ path }) => path)].toSorted(
  ([a], [b]) => Number(a.endsWith(':id')) - Number(b.endsWith(':id')),
)

/** The Express app of the admin side: health for anyone, metrics and the API for those who have the token. */
export function createAdminApp(options: AdminAppOptions): RequestListener {
  const { metrics, state, log } = options
  const guard = createGuard(options)
  const access = createEventAccess(options)
  const app = bareExpress()

  const check = (...checks: readonly RequestCheck[]): RequestHandler => {
    return (request, _response, next) => {
      for (const find of checks) {
        const refusal = find(request)
        if (refusal !== null) throw refusal
      }
      next()
    }
  }
  const get = (path: string, handler: RequestHandler<{ id: string }>) => {
    app.get(path, handler)
    app.all(path, notAllowed('GET, HEAD'))
  }

  function serve(route: Route): void {
    const { method, path, takesBody, logged, isDone = () => true, toLog = withoutLists } = route
    app[method](`${api}${path}`, async (request, response) => {
      const { id = '' } = request.params as { readonly id?: string }
      const body = takesBody && (await readJsonBody(request, response))
      const result = await route.answer(access, { id, query: request.query, body })
      if (logged !== undefined && isDone(result)) log.info(toLog(result), logged)
      sendJson(response, result)
    })
  }

  app.use((_request, response, next) => {
    if (state.stopping) response.set('Connection', 'close')
    next()
  })

  // Before the check of the Host header: probes call by address, and these answers tell nothing.
  get('/healthz', (_request, response) => sendJson(response, { status: 'alive' }))
  get('/readyz', (_request, response) => {
    if (state.stopping) throw new InboxError('shutting_down', 'this instance is shutting down')
    const health = state.health()
    if (!health.ok && health.full) throw new InboxError('store_full', 'there is not enough space to store anything')
    if (!health.ok) throw new InboxError('store_unavailable', 'nothing can be stored at the moment')
    sendJson(response, { status: 'ready' })
  })

  app.use(check(guard.checkHost, guard.checkOrigin))
  app.use(['/metrics', api], check(guard.checkToken))

  get('/metrics', async (_request, response) => {
    const text = await metrics.scrape()
    response.set('Content-Type', metrics.contentType).end(text)
  })
  get(`${api}/events/:id/raw`, async (request, response) => {
    const raw = await access.rawEvent(request.params.id)
    response.set({
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': 'attachment; filename="event.json"',
    })
    response.set('Content-Length', String(raw.length)).end(raw)
  })
  for (const [path, same] of routesByPath) {
    for (const route of same) serve(route)
    app.all(`${api}${path}`, notAllowed(same.map(({ method }) => allowed[method]).join(', ')))
  }

  app.use(() => {
    throw nothingHere()
  })
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) => {
    const error = toInboxError(thrown)
    if (error.status === 500)
      log.error({ path: safeText(request.path), error: messageOf(thrown) }, 'an admin request failed')
    if (response.headersSent) response.destroy()
    else sendError(response, error)
  })
  // A target that is no URL reaches no route: without this, Express answers it in HTML.
  return (request, response) => {
    response.setHeaders(securityHeaders)
    app(request as Request, response as Response, () => sendError(response as Response, nothingHere()))
  }
}

/** A log line is no place for what may be long. */
function withoutLists(result: object): object {
  return Object.fromEntries(Object.entries(result).filter(([, value]) => typeof value !== 'object' || value === null))
}

function nothingHere(): InboxError {
  return new InboxError('not_found', 'there is nothing at this path')
}

function notAllowed(methods: string): RequestHandler {
  return (_request, response) => {
    response.set('Allow', methods)
    throw new InboxError('method_not_allowed', `this path takes ${methods} only`)
  }
}

/** What a client may know of an error: one of ours as it is, of all others nothing. */
function toInboxError(thrown: unknown): InboxError {
  if (thrown instanceof InboxError && thrown.status !== 500) return thrown
  // Express refuses a path whose percent-encoding is broken with this.
  if (thrown instanceof URIError) return new InboxError('bad_request', 'the path is not well-formed percent-encoding')
  return new InboxError('internal', 'the request could not be processed; the log of this instance says why')
}
