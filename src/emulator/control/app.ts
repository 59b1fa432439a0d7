import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { safeText, type Logger } from '../../base/log.ts'
import { readJsonBody } from '../rest/body.ts'
import { splitTarget } from '../rest/journal-entry.ts'
import { toInvalidRequest, type Place } from '../rest/problems.ts'
import { parseQuery } from '../rest/query.ts'
import { ControlError, sendData, sendError, toControlError } from './answers.ts'
import { createGuard } from './guard.ts'
import { taken, type Controlled, type Route } from './route.ts'
import { routes } from './routes.ts'

export interface ControlAppOptions extends Controlled {
  readonly token: string
  readonly wall: Clock
  readonly log: Logger
}

export interface ControlApp {
  /** Whether a request is one to control the emulator. */
  isFor(request: IncomingMessage): boolean
  handle(request: IncomingMessage, response: ServerResponse): void
}

const prefix = '/_emulator'

/** The routes by which tests and people steer the emulator; never part of `/v1`. */
export function createControlApp({ token, wall, log, ...controlled }: ControlAppOptions): ControlApp {
  const guard = createGuard({ token, sessions: controlled.sessions })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = wall.now()
    const meta = () => ({
      timestamp: new Date(controlled.keeper.clock.now()).toISOString(),
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
        log.info({ path: safeText(splitTarget(request.url ?? '', null).path) }, 'the emulator was steered')
      if (data !== taken) sendData(response, route.status, data, meta())
    } catch (thrown) {
      const error = toControlError(thrown)
      if (error === null) log.error({ error: messageOf(thrown) }, 'a control request failed')
      sendError(response, error ?? new ControlError(500, 'internal', 'the request failed; the log says why'), meta())
    }
  }

  return {
    isFor: ({ url = '' }) => url === prefix || url.startsWith(`${prefix}/`) || url.startsWith(`${prefix}?`),
    handle(request, response) {
      // To advance a clock by days may take minutes, in which nothing is sent.
      request.socket.setTimeout(0)
      void answer(request, response)
    },
  }
}

interface Match {
  readonly route: Route
  /** What stands for `:id`, empty if the pattern has none. */
  readonly id: string
}

/** Paths that are written out come first: `counts` is no id where it is a path of its own. */
const inOrder = routes.toSorted((a, b) => Number(a.path.includes(':')) - Number(b.path.includes(':')))

/** The routes of the path of a request, whatever their methods. */
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
    throw new ControlError(404, 'not_found', `there is nothing at this path; GET ${prefix} lists all there is`)
  const allowed = [...new Set(found.map(({ route }) => route.method))].join(', ')
  throw new ControlError(405, 'method_not_allowed', `this path takes ${allowed} only`, { headers: { Allow: allowed } })
}

/** What stands for `:id` in a path, empty if the pattern has none; undefined if the path is another. */
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
  if (!query.ok) throw new ControlError(400, 'invalid_request', `${query.parameter}: ${query.problem}`)
  if (route.query !== null) return parse(route.query, { ...query.values }, 'query')
  const [name] = Object.keys(query.values)
  if (name !== undefined)
    throw new ControlError(400, 'invalid_request', `this path takes no parameter ${safeText(name, 80)}`)
  return null
}

function parse(schema: NonNullable<Route['body']>, given: unknown, place: Place): unknown {
  const result = schema.safeParse(given)
  if (result.success) return result.data
  throw toInvalidRequest(result.error, given, place)
}
