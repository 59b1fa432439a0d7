import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { NetworkId } from '../../../schema/index.ts'
import { type Operation, operations, successStatus, undocumentedGroups } from '../../../schema/rest/operations.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { bareExpress, groupByPath } from '../../base/http/bare-express.ts'
import { type Logger, safeText } from '../../base/log.ts'
import type { Accounts } from '../accounts/port.ts'
import type { AnswerPlan, Faults } from '../faults/port.ts'
import { createAlertHandlers, createWebhookHandlers } from './alerts.ts'
import { readJsonBody } from './body.ts'
import type { Handlers } from './calls.ts'
import { type PageAsked, type PageEnd, createPages } from './pages.ts'
import { RestError } from './error.ts'
import { type Exchange, createExchanges } from './exchange.ts'
import { createInputReader, defaultRestSettings, type RestSettings } from './input.ts'
import { type RestExchange, splitTarget } from './journal.ts'
import {
  callerOf,
  createUnreadRefusal,
  missingScope,
  notDocumented,
  nothingHere,
  overLimit,
  toRestError,
  versionPrefix,
  withoutHost,
  wrongMethod,
} from './refusals.ts'
import { createNetworkHandlers, createTokenHandlers, createWalletHandlers } from './wallets.ts'
import type { World } from '../world/port.ts'

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

interface RestApp {
  (request: IncomingMessage, response: ServerResponse): void
  /**
   * For the server event `clientError`: answers bytes that are not HTTP in the envelope. A missing Host header gets
   * there only with `requireHostHeader: false`.
   */
  readonly onClientError: (error: Error, socket: Duplex) => void
}

/**
 * The REST service under `/v1` (R1, R2, R124): one route per operation. The same schemas validate input and generate
 * the API description.
 *
 * Order of checks: rate limit (429) – Host (400) – path, method (404, 405) – key (401) – documented (501) – scope (403)
 * – media type, size and syntax of the body (415, 413, 400) – parameters, body and cursor (400) – network status (503)
 * – existence and conflicts (404, 409). Faults are injected only for requests with a valid key within its limit.
 */
export function createRestApp(options: RestAppOptions): RestApp {
  const { world, accounts, settings = defaultRestSettings, clock, wall, log, onExchange } = options
  const exchanges = createExchanges({ accounts, settings, clock, wall, onExchange })
  const current = new WeakMap<IncomingMessage, Exchange>()
  const unread = createUnreadRefusal(exchanges)
  const injectFaults = createFaultInjector(wall, options.faults)
  const passNetwork = createNetworkGate(options)
  const pages = createPages({
    secret: options.cursorSecret,
    epoch: options.epoch ?? (() => 0),
    now: () => ({ at: world.now(), seq: world.seq() }),
  })
  const handlers: Handlers = {
    ...createNetworkHandlers(world),
    ...createWalletHandlers(world, settings),
    ...createTokenHandlers(world),
    ...createAlertHandlers(accounts),
    ...createWebhookHandlers(accounts),
  }
  const catchUp = () => world.advanceTo(Math.floor(clock.now()))

  const exchangeOf = (request: IncomingMessage): Exchange => {
    const exchange = current.get(request)
    if (exchange === undefined) throw new TypeError('a request without an exchange')
    return exchange
  }

  function createOperation(operation: Operation): RequestHandler {
    const { id, scope, meta } = operation
    const status = successStatus(operation)
    const readInput = createInputReader(operation, settings)
    const handle = handlers[operation.id as keyof Handlers] as (call: unknown) => HandlerResult

    return async (request, response) => {
      const exchange = exchangeOf(request)
      const caller = callerOf(exchange)
      if (scope !== null && !caller.scopes.includes(scope)) throw missingScope(scope)
      const given = operation.body === null ? null : await readJsonBody(request, response)
      if (given !== null) exchange.noteBody(given)

      const input = readInput({ params: request.params, target: request.url, body: given })
      catchUp()
      const asked = meta === 'page' ? pages.ask(id, input, caller) : null
      const waiting = input.network === null ? null : passNetwork(input.network)
      if (waiting !== null) {
        await waiting
        catchUp()
      }
      const page = asked && pages.toRequest(asked)
      const result = handle({ caller, params: input.params, query: input.query, body: input.body, page })
      if (asked !== null && page !== null && result.page !== null) {
        const cursor = pages.nextCursor(asked, page.asOf, result.page.lastKey)
        exchange.succeed(status, result.data, pageMeta(asked, cursor, result.page), true)
      } else {
        exchange.succeed(status, result.data, meta === 'network' ? { network: input.network } : {}, false)
      }
    }
  }

  function pageMeta({ limit }: PageAsked, cursor: string | null, { total }: PageEnd) {
    const isOmitted = cursor === null && settings.omitNextCursor
    return { ...(!isOmitted && { next_cursor: cursor }), limit, total }
  }

  const app = bareExpress()
  const routes = operations.map((operation) => {
    return { path: `${versionPrefix}${operation.path.replaceAll(/\{(\w+)\}/g, ':$1')}`, operation }
  })
  for (const [path, same] of groupByPath(routes)) {
    const operationsByMethod = new Map(
      same.map(({ operation }) => [operation.method.toUpperCase(), createOperation(operation)]),
    )
    const allowed = [...operationsByMethod.keys()].join(', ')
    app.all(path, (request, response, next) => {
      const operation = operationsByMethod.get(request.method)
      if (operation === undefined) throw wrongMethod(allowed)
      return operation(request, response, next)
    })
  }
  for (const group of undocumentedGroups) {
    app.use(`${versionPrefix}/${group}`, (request) => {
      callerOf(exchangeOf(request))
      throw notDocumented(group)
    })
  }
  app.use((error: unknown, request: Request, _response: Response, _next: NextFunction) => {
    const known = toRestError(error)
    if (known.code === 'internal') {
      log.error(
        { path: safeText(splitTarget(request.path, null).path), error: safeText(messageOf(error)) },
        'request failed',
      )
    }
    exchangeOf(request).fail(known)
  })

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    unread.note(request, response)
    const exchange = exchanges.begin(request, response)
    if (exchange.quota.isExceeded) {
      exchange.fail(overLimit(exchange))
      return
    }
    if (request.headers.host === undefined && request.httpVersion === '1.1') {
      exchange.fail(withoutHost())
      return
    }
    current.set(request, exchange)
    injectFaults(request, exchange, () =>
      app(request as Request, response as Response, () => exchange.fail(nothingHere(request.url ?? ''))),
    )
  }
  return Object.assign(listener, { onClientError: (error: Error, socket: Duplex) => unread.refuse(error, socket) })
}

interface HandlerResult {
  readonly data: unknown
  readonly page: PageEnd | null
}

/**
 * Applies the network status to requests (A18). Maintenance throws `network_unavailable`. Degraded returns a promise
 * that delays the request in real time. Null if there is nothing to wait for.
 */
function createNetworkGate({ world, wall, settings = defaultRestSettings }: RestAppOptions) {
  const { degradedMinMs, degradedMaxMs, maintenanceRetryAfterS } = settings

  return (network: NetworkId): Promise<void> | null => {
    const status = world.views.networkStatus(network)
    if (status === 'operational') return null
    if (status === 'maintenance') {
      throw new RestError('network_unavailable', `${network} is in maintenance; retry later (see Retry-After)`, {
        headers: { 'Retry-After': String(maintenanceRetryAfterS) },
      })
    }
    const ms = degradedMinMs + wall.random() * Math.max(0, degradedMaxMs - degradedMinMs)
    return new Promise((resolve) => wall.after(ms, resolve))
  }
}

/** Processes a request, at once or delayed, or rejects it. */
export type FaultInjector = (request: IncomingMessage, exchange: Exchange, process: () => void) => void

/**
 * Injects response faults (2.8) under `/v1`, for requests with a valid key. Their quota is counted first, so that an
 * injected error carries it too (R117). Requests without a key are rejected as usual.
 */
function createFaultInjector(wall: Clock, faults: Pick<Faults, 'planAnswer'> | undefined): FaultInjector {
  return (request, exchange, process) => {
    const { method = '', url = '' } = request
    const [path = ''] = url.split('?')
    const isMeant = exchange.caller !== null && path.startsWith(`${versionPrefix}/`)
    const plan = isMeant ? (faults?.planAnswer({ method, path }) ?? null) : null
    if (plan === null) {
      process()
      return
    }
    exchange.applyFaults(plan)
    const answer = () => {
      const error = toInjected(plan)
      if (error === null) process()
      else exchange.fail(error)
    }
    if (plan.delayMs > 0) wall.after(plan.delayMs, answer)
    else answer()
  }
}

function toInjected({ instead }: AnswerPlan): RestError | null {
  if (instead?.kind !== 'error') return null
  if (instead.status === 500) return new RestError('internal', 'injected fault: internal error')
  const message = 'injected fault: rejected; retry later (see Retry-After)'
  const headers = { 'Retry-After': String(instead.retryAfterS) }
  return new RestError(instead.status === 429 ? 'rate_limited' : 'network_unavailable', message, { headers })
}
