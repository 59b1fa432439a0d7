import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { RequestListener } from 'node:http'
import { bareExpress, groupByPath } from '../base/http/bare-express.ts'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { safeText, type Logger } from '../base/log.ts'
import { type Pages, builtFolder, createPages } from '../base/http/page-files.ts'
import type { ReceiverState } from '../receiver/receive.ts'
import { createGuard } from './auth.ts'
import type { Metrics } from './metrics.ts'
import { readJsonBody, sendError, sendJson } from './http.ts'
import { rawEvent } from './events.ts'
import { exportParameters, sendExport } from './export.ts'
import { toAdminOpenApi } from './openapi.ts'
import { noParameters, parseParameters } from './parse.ts'
import { createRoleOf, createSessions } from './sessions.ts'
import type { AdminContext, Route } from './route.ts'
import { describedRoutes, routes } from './routes.ts'
import { serveSession } from './session.ts'
import { createLiveStream, createPolls, streamParameters } from './stream.ts'

export interface AdminAppOptions extends AdminContext {
  readonly metrics: Pick<Metrics, 'scrape' | 'contentType'>
  /** The operator's token. */
  readonly token: string
  /** The viewers' token; undefined: no viewers. */
  readonly viewerToken?: string | undefined
  /** Files of the console; undefined: none. */
  readonly pages?: Pages
  readonly clock: Pick<Clock, 'after'>
  /** Allowed host names, in addition to loopback. */
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
    'Cross-Origin-Resource-Policy': 'same-origin',
  }),
)

const api = '/api/v1'

/** Values of the `Allow` header. */
const allowed = { get: 'GET, HEAD', post: 'POST', patch: 'PATCH' } as const

/** The OpenAPI document, built at its first request. */
let document: object | undefined

/** The Express app of the admin side. Health checks and console files are public; metrics and the API need a token or session. */
export function createAdminApp(options: AdminAppOptions) {
  const { inbox, metrics, state, log, now, hosts, pages } = options
  const tokens = { operator: options.token, viewer: options.viewerToken }
  const roleOf = createRoleOf(tokens)
  const sessions = createSessions({ tokens, now })
  const guard = createGuard({ roleOf, sessions, hosts })
  const app = bareExpress()
  const live = createLiveStream(createPolls(options), options.clock)

  /** Rejects a request if the check throws. */
  const check = (pass: (request: Request) => void): RequestHandler => {
    return (request, _response, next) => {
      pass(request)
      next()
    }
  }
  const get = (path: string, handler: RequestHandler<{ id: string }>) => {
    app.get(path, handler)
    app.all(path, notAllowed('GET, HEAD'))
  }

  function byOf(request: Request, { role }: Route): string {
    const caller = guard.authenticate(request)
    if (role === 'viewer' || caller.role === 'operator') return caller.by
    throw new InboxError('forbidden', "this needs the operator's token")
  }

  function serve(route: Route): void {
    const { method, path, status, logged } = route
    app[method](`${api}${path}`, async (request, response) => {
      const by = byOf(request, route)
      const { id = '' } = request.params as { readonly id?: string }
      const body = method === 'get' ? undefined : await readJsonBody(request, response, route.body !== undefined)
      const result = (await route.answer(options, { id, query: request.query, body, by })) as object
      if (logged !== undefined && isDone(result)) log.info(withoutLists(result), logged)
      sendJson(response, result, status)
    })
  }

  function isAuthenticated(request: Request): boolean {
    try {
      guard.authenticate(request)
      return true
    } catch {
      return false
    }
  }

  app.use((_request, response, next) => {
    if (state.stopping) response.set('Connection', 'close')
    next()
  })

  // Before the check of the Host header, because probes call by address.
  get('/healthz', (_request, response) => sendJson(response, { status: 'alive' }))
  get('/readyz', (_request, response) => {
    if (state.stopping) throw new InboxError('shutting_down', 'this instance is shutting down')
    const health = state.health()
    if (!health.ok && health.full) throw new InboxError('store_full', 'the disk is full')
    if (!health.ok) throw new InboxError('store_unavailable', 'the store is not writable')
    sendJson(response, { status: 'ready' })
  })

  app.use(check((request) => guard.checkHost(request)))
  app.use(check((request) => guard.checkOrigin(request)))
  app.use((request, response, next) => {
    if (pages?.isFor(request) === true) pages.handle(request, response)
    else next()
  })
  serveSession(app, `${api}/session`, { guard, roleOf, sessions, inbox, now, log })
  app.all(`${api}/session`, notAllowed('GET, HEAD, POST, DELETE'))
  get(`${api}/openapi.json`, (request, response) => {
    parseParameters(noParameters, request.query)
    sendJson(response, (document ??= toAdminOpenApi(describedRoutes)))
  })
  app.use(
    ['/metrics', api],
    check((request) => void guard.authenticate(request)),
  )

  get('/metrics', async (_request, response) => {
    const text = await metrics.scrape()
    response.set('Content-Type', metrics.contentType).end(text)
  })
  get(`${api}/events/:id/raw`, async (request, response) => {
    const raw = await rawEvent(options, request.params.id)
    response.set({
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': 'attachment; filename="event.json"',
    })
    response.set('Content-Length', String(raw.length)).end(raw)
  })
  get(`${api}/export`, (request, response) =>
    sendExport(options, parseParameters(exportParameters, request.query), response),
  )
  get(`${api}/stream`, (request, response) => {
    const { kinds } = parseParameters(streamParameters, request.query)
    live.take(request, response, kinds, () => isAuthenticated(request))
  })
  for (const [path, same] of groupByPath(routes)) {
    for (const route of same) serve(route)
    app.all(`${api}${path}`, notAllowed(same.map(({ method }) => allowed[method]).join(', ')))
  }

  app.use(() => {
    throw nothingHere()
  })
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) => {
    const error = toInboxError(thrown)
    if (error.status === 500)
      log.error({ path: safeText(request.path), error: messageOf(thrown) }, 'admin request failed')
    if (response.headersSent) response.destroy()
    else sendError(response, error)
  })
  // An invalid URL reaches no route. Express would answer it in HTML.
  const listener: RequestListener = (request, response) => {
    response.setHeaders(securityHeaders)
    app(request as Request, response as Response, () => sendError(response as Response, nothingHere()))
  }
  /** `close` ends all live streams. Idempotent. */
  return Object.assign(listener, { close: () => live.close() })
}

/** False if the request changed nothing: a dry run, or a replay that had ended before. */
function isDone(answer: { readonly dry_run?: true; readonly cancelled?: boolean }): boolean {
  return answer.dry_run === undefined && answer.cancelled !== false
}

/** Lists may be too long for a log line. */
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

/** Hides unexpected errors from clients. */
function toInboxError(thrown: unknown): InboxError {
  if (thrown instanceof InboxError && thrown.status !== 500) return thrown
  // Express throws this for invalid percent-encoding.
  if (thrown instanceof URIError) return new InboxError('bad_request', 'the path has invalid percent-encoding')
  return new InboxError('internal', 'internal error; see the log')
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>onchain-inbox</title>
<h1>The console was not built</h1>
<p>The receiver, the admin API below <code>/api/v1</code> and <code>/metrics</code> work. For the console, run
<code>npm run build</code> and restart the receiver.</p>
</html>
`

/**
 * The console's static files; default folder: that of the build. They contain no data, so they need no credential. Without
 * the folder, `/` says how to build it. Rejects if the folder can't be read.
 */
export function createConsolePages(folder: string = builtFolder('console')): Promise<Pages> {
  return createPages(folder, notBuilt)
}
