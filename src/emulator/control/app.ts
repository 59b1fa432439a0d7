import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { type Logger, safeText } from '../../base/log.ts'
import { readJsonBody } from '../rest/body.ts'
import { splitTarget } from '../rest/journal.ts'
import { HttpError, type Place, toInvalidRequest } from '../rest/error.ts'
import { parseQuery } from '../rest/input.ts'
import { KeyTaken, LimitReached } from '../accounts/port.ts'
import { FaultRefused } from '../faults/port.ts'
import { WorldRefusal } from '../world/port.ts'
import { createGuard } from './session.ts'
import { type ControlContext, type Route, responseTaken } from './route.ts'
import { routes } from './routes.ts'

export interface ControlAppOptions extends ControlContext {
  readonly token: string
  readonly wall: Clock
  readonly log: Logger
}

export interface ControlApp {
  /** True for requests to the control API. */
  isFor(request: IncomingMessage): boolean
  handle(request: IncomingMessage, response: ServerResponse): void
}

const prefix = '/_emulator'

/** The control API for tests and operators; not part of `/v1`. */
export function createControlApp({ token, wall, log, ...controlled }: ControlAppOptions): ControlApp {
  const guard = createGuard({ token, sessions: controlled.sessions })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = wall.now()
    const meta = () => ({
      timestamp: new Date(controlled.state.clock.now()).toISOString(),
      latency_ms: Math.max(0, Math.round(wall.now() - startedAt)),
    })
    try {
      const found = matchesOf(request)
      if (!found.some(({ route }) => route.isOpen)) guard(request)
      const { route, id } = matchOf(request, found)
      const body = route.body === null ? null : parse(route.body, await readJsonBody(request, response), 'body')
      const query = readQuery(route, request.url ?? '')
      const data = await route.answer(controlled, { body, query, id, request, response })
      if (request.method !== 'GET' && !route.isOpen)
        log.info({ path: safeText(splitTarget(request.url ?? '', null).path) }, 'control request')
      if (data !== responseTaken) sendData(response, route.status, data, meta())
    } catch (thrown) {
      const error = toHttpError(thrown)
      if (error === null) log.error({ error: messageOf(thrown) }, 'control request failed')
      sendError(response, error ?? new HttpError(500, 'internal', 'internal error; see the log'), meta())
    }
  }

  return {
    isFor: ({ url = '' }) => url === prefix || url.startsWith(`${prefix}/`) || url.startsWith(`${prefix}?`),
    handle(request, response) {
      // Advancing a clock by days can take minutes without traffic.
      request.socket.setTimeout(0)
      void answer(request, response)
    },
  }
}

interface Match {
  readonly route: Route
  /** Value of `:id`; empty if the pattern has none. */
  readonly id: string
}

/** Literal paths first: `counts` must not match as an id. */
const inOrder = routes.toSorted((a, b) => Number(a.path.includes(':')) - Number(b.path.includes(':')))

/** Routes that match the path of a request, with any method. */
function matchesOf({ url = '' }: IncomingMessage): readonly Match[] {
  const [path = ''] = url.slice(prefix.length).split('?')
  return inOrder.flatMap((route) => {
    const id = idIn(path, route.path)
    return id === undefined ? [] : [{ route, id }]
  })
}

function matchOf(request: IncomingMessage, found: readonly Match[]): Match {
  const match = found.find(({ route }) => route.method === request.method)
  if (match !== undefined) return match
  if (found.length === 0)
    throw new HttpError(404, 'not_found', `there is nothing at this path; GET ${prefix} lists all routes`)
  const allowed = [...new Set(found.map(({ route }) => route.method))].join(', ')
  throw new HttpError(405, 'method_not_allowed', `this path takes ${allowed} only`, { headers: { Allow: allowed } })
}

/** Value of `:id` in a path; empty if the pattern has none; undefined if the path doesn't match. */
function idIn(path: string, pattern: string): string | undefined {
  const [parts, expected] = [path.split('/'), pattern.split('/')]
  const isSame = parts.length === expected.length && parts.every((part, index) => fits(part, expected[index]))
  return isSame ? (parts[expected.indexOf(':id')] ?? '') : undefined
}

function fits(part: string, expected: string | undefined): boolean {
  return expected === ':id' ? part !== '' : part === expected
}

function readQuery(route: Route, target: string): unknown {
  const query = parseQuery(target)
  if (!query.ok) throw new HttpError(400, 'invalid_request', `${query.parameter}: ${query.problem}`)
  if (route.query !== null) return parse(route.query, { ...query.values }, 'query')
  const [name] = Object.keys(query.values)
  if (name !== undefined)
    throw new HttpError(400, 'invalid_request', `this path takes no parameter ${safeText(name, 80)}`)
  return null
}

function parse(schema: NonNullable<Route['body']>, given: unknown, place: Place): unknown {
  const result = schema.safeParse(given)
  if (result.success) return result.data
  throw toInvalidRequest(result.error, given, place)
}

/** Maps a thrown value to a response; null for an unexpected error, which must not be shown. */
function toHttpError(thrown: unknown): HttpError | null {
  if (thrown instanceof HttpError) return thrown
  if (thrown instanceof WorldRefusal) return new HttpError(409, 'refused_by_world', thrown.message, { cause: thrown })
  if (thrown instanceof LimitReached || thrown instanceof FaultRefused)
    return new HttpError(409, 'limit_reached', thrown.message, { cause: thrown })
  if (thrown instanceof KeyTaken) return new HttpError(409, 'conflict', thrown.message, { cause: thrown })
  if (thrown instanceof InboxError && thrown.code === 'bad_request') {
    return new HttpError(409, 'conflict', thrown.message, { cause: thrown })
  }
  return null
}

interface AnswerMeta {
  readonly timestamp: string
  readonly latency_ms: number
}

function sendData(response: ServerResponse, status: number, data: unknown, meta: AnswerMeta): void {
  send(response, status, { success: true, data, meta }, {})
}

function sendError(response: ServerResponse, error: HttpError, meta: AnswerMeta): void {
  const { status, code, message, details, headers } = error
  // The rest of the body stays unread.
  const connection = status === 413 ? { Connection: 'close' } : {}
  send(response, status, { success: false, error: { code, message, details }, meta }, { ...headers, ...connection })
}

function send(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>>,
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
