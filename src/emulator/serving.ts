import type { RequestListener } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { demoCredentials } from '../base/demo-credentials.ts'
import { builtFolder, createPages as createPagesOf, type Pages } from '../base/http/page-files.ts'
import type { Logger } from '../base/log.ts'
import { planLimits } from './accounts/port.ts'
import { createControlApp } from './control/app.ts'
import type { Controlled } from './control/route.ts'
import { createJournal } from './journal.ts'
import { quotaHeaders, RateLimits } from './rest/rate-limits.ts'
import { createRestApp } from './rest/server.ts'
import type { Seed } from './seed/schema.ts'
import { startEmulatorServer, type EmulatorServer } from './server.ts'
import { createSessions, type DashboardLogin } from './session/sessions.ts'
import type { TlsPair } from './tls.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 = a free one. */
  readonly port: number
  /** With it HTTPS alone is served (R5). */
  readonly tls?: TlsPair
  /** The folder of the built dashboard. Default: where the build puts it. */
  readonly dashboard?: string
}

interface ServingOptions extends Omit<Controlled, 'journal' | 'sessions'> {
  readonly seed: Seed
  readonly wall: Clock
  readonly controlToken: string
  readonly login: DashboardLogin
  /** Until then requests get 503. */
  readonly isReady: () => boolean
  readonly log: Logger
}

/** How many requests are remembered. */
const journalCapacity = 1_000

/** Serves the REST service, the control routes and the dashboard. Throws `port_unavailable`. */
export async function startServing(listen: ListenOptions, options: ServingOptions): Promise<EmulatorServer> {
  const { seed, wall, controlToken, login, isReady, log, ...controlled } = options
  const { keeper, faults, stream, randomBytes } = controlled
  const { world, clock, accounts, cursorSecret } = keeper
  const journal = createJournal(journalCapacity)
  const rest = createRestApp({
    world,
    accounts,
    cursorSecret,
    course: () => keeper.course(),
    settings: seed.settings,
    faults,
    clock,
    wall,
    log,
    onExchange: (exchange) => journal.add(exchange),
  })
  const isPublished = login.password === demoCredentials.dashboardPassword
  const sessions = createSessions({ login, isPublished, wall, randomBytes, log })
  const control = createControlApp({ ...controlled, journal, sessions, token: controlToken, wall, log })
  const pages = await createPages(listen.dashboard ?? builtDashboard())
  const refuseEarly = createEarlyRefusal(wall, clock)
  world.onEvent((arisen) => stream.publish('event', arisen))
  const server = await startEmulatorServer({
    ...listen,
    handler(request, response) {
      if (!isReady()) refuseEarly(request, response)
      else if (control.isFor(request)) control.handle(request, response)
      else if (pages.isFor(request)) pages.handle(request, response)
      else rest(request, response)
    },
    onClientError: rest.onClientError,
    refusePlain: createPlainRefusal(wall, clock),
  })
  return {
    ...server,
    close() {
      // What never ends by itself would be cut only after the grace of all others.
      stream.close()
      return server.close()
    },
  }
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>onchain-inbox emulator</title>
<h1>The dashboard was not built</h1>
<p>The emulator runs, and serves <code>/v1</code> and <code>/_emulator</code>. For the dashboard run
<code>npm run build</code>, then start the emulator anew.</p>
</html>
`

/** Where the build puts the dashboard, seen from a source as from a built file. */
export function builtDashboard(): string {
  return builtFolder('dashboard')
}

/** The dashboard as static files of a folder; where that is not there, `/` says how to build it. Rejects if it cannot be read. */
export function createPages(folder: string): Promise<Pages> {
  return createPagesOf(folder, notBuilt)
}

const mostAddresses = 10_000

interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers each request by plain HTTP with 400 in the envelope, and no data (R5, R108). */
function createPlainRefusal(wall: Clock, clock: Pick<Clock, 'now'>): RequestListener {
  const message = 'plain HTTP is not supported: send the request by https, to the same host and port'
  return createRefusal(wall, clock, { status: 400, code: 'invalid_request', message })
}

/** Answers each request with 503 in the envelope, while the world is not there yet. */
export function createEarlyRefusal(wall: Clock, clock: Pick<Clock, 'now'>): RequestListener {
  const message = 'the emulator is still making its world: try again in a second'
  return createRefusal(wall, clock, { status: 503, code: 'not_ready', message, headers: { 'Retry-After': '1' } })
}

function createRefusal(wall: Clock, clock: Pick<Clock, 'now'>, refusal: Refusal): RequestListener {
  const { status, code, message, headers = {} } = refusal
  const limits = new RateLimits(wall, mostAddresses)
  return (request, response) => {
    const requestId = `req_${Math.floor(wall.random() * 2 ** 48)
      .toString(16)
      .padStart(12, '0')}`
    const body = JSON.stringify({
      success: false,
      error: { code, message, request_id: requestId },
      meta: { timestamp: new Date(clock.now()).toISOString(), latency_ms: 0 },
    })
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...quotaHeaders(limits.take(request.socket.remoteAddress ?? '', planLimits.free)),
      'X-Request-Id': requestId,
      Connection: 'close',
      ...headers,
    })
    response.end(body)
  }
}
