import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { NetworkId } from '../../../schema/index.ts'
import { type Operation, operations, successStatus, undocumentedGroups } from '../../../schema/rest/operations.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { bareExpress, groupByPath } from '../../base/http/bare-express.ts'
import { type Logger, safeText } from '../../base/log.ts'
import { type Accounts, type Caller, LimitReached } from '../accounts/accounts.ts'
import type { Faults } from '../faults/faults.ts'
import type { InsteadOfAnswer } from '../faults/kinds.ts'
import { WorldRefusal } from '../world/port.ts'
import type { World } from '../world/world.ts'
import { readJsonBody } from './body.ts'
import { type ErrorOptions, RestError, shownPath } from './error.ts'
import { type Exchange, createExchanges } from './exchange.ts'
import { type Handlers, createHandlers } from './handlers.ts'
import { createInputReader, defaultRestSettings, type RestSettings } from './input.ts'
import type { RestExchange } from './journal.ts'
import { createPages } from './pages.ts'

export interface RestAppOptions {
  readonly world: World
  readonly accounts: Accounts
  /** Signs cursors: cursors of another world are rejected (A58). */
  readonly cursorSecret: string
  /** Number of restores of the world; a restore voids earlier cursors. Default: always 0. */
  readonly epoch?: () => number
  readonly settings?: RestSettings
  /** World time. */
  readonly clock: Pick<Clock, 'now'>
  /** Real time: rate windows, latency, and delays of degraded networks. */
  readonly wall: Clock
  readonly log: Logger
  /** Called once per answered request, without secrets. */
  readonly onExchange?: (exchange: RestExchange) => void
  /** Faults of responses (2.8). Default: none. */
  readonly faults?: Pick<Faults, 'planAnswer'>
}

/** Path prefix of the service (R124). */
const versionPrefix = '/v1'

/**
 * The REST service under `/v1` (R1, R2, R124): one route per operation. The same schemas validate input and generate
 * the API description.
 *
 * Order of checks: rate limit (429) – Host (400) – path, method (404, 405) – key (401) – documented (501) – scope (403)
 * – media type, size and syntax of the body (415, 413, 400) – parameters, body and cursor (400) – network status (503)
 * – existence and conflicts (404, 409). Faults are injected only for requests with a valid key within its limit.
 */
export function createRestApp(options: RestAppOptions) {
  const { world, accounts, settings = defaultRestSettings, clock, wall, log, onExchange, faults } = options
  const exchanges = createExchanges({ accounts, settings, clock, wall, onExchange })
  const exchangeByRequest = new WeakMap<IncomingMessage, Exchange>()
  /** The latest response of each connection. */
  const latestResponse = new WeakMap<Duplex, ServerResponse>()
  const now = () => ({ at: world.now(), seq: world.seq() })
  const pages = createPages({
    secret: options.cursorSecret,
    epoch: options.epoch ?? (() => 0),
  })
  const handlers: Handlers = createHandlers({ world, accounts, settings })
  const catchUp = () => world.advanceTo(Math.floor(clock.now()))

  const exchangeOf = (request: IncomingMessage): Exchange => {
    const exchange = exchangeByRequest.get(request)
    if (exchange === undefined) throw new TypeError('a request without an exchange')
    return exchange
  }

  /**
   * Applies the network status to a request (A18). Maintenance throws `network_unavailable`. Degraded returns a promise
   * that delays the request in real time. Null if there is nothing to wait for.
   */
  function waitForNetwork(network: NetworkId): Promise<void> | null {
    const status = world.views.networkStatus(network)
    const { degradedMinMs, degradedMaxMs, maintenanceRetryAfterS } = settings
    if (status === 'operational') return null
    if (status === 'maintenance') {
      throw new RestError('network_unavailable', `${network} is in maintenance; retry later (see Retry-After)`, {
        headers: { 'Retry-After': String(maintenanceRetryAfterS) },
      })
    }
    const ms = degradedMinMs + wall.random() * Math.max(0, degradedMaxMs - degradedMinMs)
    return new Promise((resolve) => wall.after(ms, resolve))
  }

  function createOperation(operation: Operation): RequestHandler {
    const { id, scope, meta } = operation
    const status = successStatus(operation)
    const readInput = createInputReader(operation, settings)
    const handle = handlers[id] as (call: object) => unknown

    return async (request, response) => {
      const exchange = exchangeOf(request)
      const caller = callerOf(exchange)
      if (scope !== null && !caller.scopes.includes(scope)) {
        throw new RestError('insufficient_scope', `the API key lacks the scope ${scope}; use a key that has it`)
      }
      const received = operation.body === null ? null : await readJsonBody(request, response)
      const { network, ...input } = readInput({ params: request.params, target: request.url, body: received })
      catchUp()
      const requested = meta === 'page' ? pages.readRequested(id, input, caller) : null
      const waiting = network === null ? null : waitForNetwork(network)
      if (waiting !== null) {
        await waiting
        catchUp()
      }
      const page = requested && { ...requested, asOf: requested.asOf ?? now() }
      const result = handle({ caller, ...input, page })
      if (page === null) {
        exchange.succeed(status, result, meta === 'network' ? { network } : {}, false)
        return
      }
      const { items, lastKey, total } = result as ReturnType<Handlers['listAlerts']>
      const cursor = pages.nextCursor(page, lastKey)
      const isOmitted = cursor === null && settings.omitNextCursor
      exchange.succeed(status, items, { ...(!isOmitted && { next_cursor: cursor }), limit: page.limit, total }, true)
    }
  }

  const app = bareExpress()
  const routes = operations.map((operation) => {
    return { path: `${versionPrefix}${operation.path.replaceAll(/\{(\w+)\}/g, ':$1')}`, operation }
  })
  for (const [path, same] of groupByPath(routes)) {
    const byMethod = new Map(same.map(({ operation }) => [operation.method.toUpperCase(), createOperation(operation)]))
    app.all(path, (request, response, next) => {
      const operation = byMethod.get(request.method)
      if (operation === undefined) throw wrongMethod([...byMethod.keys()].join(', '))
      return operation(request, response, next)
    })
  }
  for (const group of undocumentedGroups) {
    app.use(`${versionPrefix}/${group}`, (request) => {
      callerOf(exchangeOf(request))
      const message = `operations under ${versionPrefix}/${group} are undocumented and not emulated`
      throw new RestError('not_documented', message)
    })
  }
  app.use(({ url }) => {
    const isVersioned = url === versionPrefix || url.startsWith(`${versionPrefix}/`)
    const hint = isVersioned ? 'check the spelling' : `every path begins with ${versionPrefix}/`
    throw new RestError('not_found', `there is nothing at this path; ${hint}`)
  })
  app.use((error: unknown, request: Request, _response: Response, _next: NextFunction) => {
    const restError = toRestError(error)
    if (restError.code === 'internal') {
      log.error({ path: safeText(shownPath(request.path)), error: safeText(messageOf(error)) }, 'request failed')
    }
    exchangeOf(request).fail(restError)
  })

  /** Faults of the response to this request (2.8); null if none. Requests without a valid key are rejected as usual. */
  function planFaults({ method = '', url = '' }: IncomingMessage, { caller }: Exchange) {
    const [path = ''] = url.split('?')
    const hasValidKey = caller !== null && path.startsWith(`${versionPrefix}/`)
    return hasValidKey ? (faults?.planAnswer({ method, path }) ?? null) : null
  }

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    latestResponse.set(request.socket, response)
    const exchange = exchanges.begin(request, response)
    exchangeByRequest.set(request, exchange)
    if (exchange.quota.isExceeded) {
      exchange.fail(overLimit(exchange))
      return
    }
    if (request.headers.host === undefined && request.httpVersion === '1.1') {
      exchange.fail(new RestError('invalid_request', 'expected the header Host; it is missing'))
      return
    }
    const plan = planFaults(request, exchange)
    const error = plan?.instead?.kind === 'error' ? toInjected(plan.instead) : null
    const respond = () => (error === null ? app(request as Request, response as Response) : exchange.fail(error))
    if (plan !== null) exchange.applyFaults(plan)
    if (plan !== null && plan.delayMs > 0) wall.after(plan.delayMs, respond)
    else respond()
  }

  function rejectUnread(socket: Duplex, statusLine: string, error: RestError): void {
    const response = latestResponse.get(socket)
    // An error can't be written into the middle of a response.
    const isFree = response === undefined || !response.headersSent || response.writableFinished
    if (!socket.writable || !isFree) {
      socket.destroy()
      return
    }
    const remoteAddress = 'remoteAddress' in socket ? String(socket.remoteAddress) : undefined
    socket.end(exchanges.rejectUnread(statusLine, error, remoteAddress))
  }

  return Object.assign(listener, {
    /** For the server event `clientError`: answers bytes that are not HTTP in the envelope (R1, A3). */
    onClientError(error: Error, socket: Duplex): void {
      const code = 'code' in error ? String(error.code) : ''
      const [statusLine, message] = unreadable[code] ?? malformed
      if (code === 'ECONNRESET') socket.destroy()
      else rejectUnread(socket, statusLine, new RestError('invalid_request', message))
    },
    /** For the server event `connect`: Node doesn't pass CONNECT requests to request handlers. */
    onConnect(_request: IncomingMessage, socket: Duplex): void {
      rejectUnread(socket, '405 Method Not Allowed', wrongMethod('GET, POST, PATCH, DELETE'))
    },
  })
}

/** Status line and message by the code of Node's error. */
const unreadable: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not arrive in time; send it again'],
}
const malformed = [
  '400 Bad Request',
  'malformed HTTP/1.1 request: check its target, its headers and the framing of its body',
] as const

/** Returns the caller. Throws `invalid_api_key` without a valid key (R66, A28). */
function callerOf({ caller, presented }: Exchange): Caller {
  if (caller !== null) return caller
  const expected = 'expected the header "Authorization: Bearer <API_KEY>"'
  const messages = {
    none: `${expected}; it is missing`,
    malformed: `${expected} once, with one key; the header is malformed`,
    key: 'the API key is unknown or revoked; use an active key of your account',
  }
  const challenge = presented.kind === 'none' ? 'Bearer' : 'Bearer error="invalid_token"'
  throw new RestError('invalid_api_key', messages[presented.kind], { headers: { 'WWW-Authenticate': challenge } })
}

function wrongMethod(allowed: string): RestError {
  return new RestError('method_not_allowed', `this path takes ${allowed} only`, { headers: { Allow: allowed } })
}

/** R107, A56 */
function overLimit(exchange: Exchange): RestError {
  const seconds = exchange.retryAfter()
  const message = `more than ${exchange.quota.limit} requests within a minute; retry in ${seconds} s (see Retry-After)`
  return new RestError('rate_limited', message, { headers: { 'Retry-After': String(seconds) } })
}

function toInjected({ status, retryAfterS }: Extract<InsteadOfAnswer, { kind: 'error' }>): RestError {
  if (status === 500) return new RestError('internal', 'injected fault: internal error')
  const options: ErrorOptions = { headers: { 'Retry-After': String(retryAfterS) } }
  const code = status === 429 ? 'rate_limited' : 'network_unavailable'
  return new RestError(code, 'injected fault: rejected; retry later (see Retry-After)', options)
}

/** Maps a thrown value to an error response. Unexpected errors reveal nothing. */
function toRestError(thrown: unknown): RestError {
  if (thrown instanceof RestError) return thrown
  if (thrown instanceof LimitReached) return new RestError('limit_reached', thrown.message)
  if (thrown instanceof WorldRefusal) return new RestError('invalid_request', thrown.message)
  // Express and `parseQuery` throw this for broken percent-encoding.
  if (thrown instanceof URIError) {
    return new RestError('invalid_request', 'the path or query is not well-formed percent-encoding of UTF-8')
  }
  return new RestError('internal', 'internal error; see the log of the service', { cause: thrown })
}
