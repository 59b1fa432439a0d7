import type { RequestListener } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { demoCredentials } from '../base/demo-credentials.ts'
import { type Pages, builtFolder, createPages as createPagesOf } from '../base/http/page-files.ts'
import { startHttpServer } from '../base/http/server.ts'
import type { Logger } from '../base/log.ts'
import { createControlApp } from './control/app.ts'
import type { ControlContext } from './control/route.ts'
import { type DashboardLogin, createSessions } from './control/sessions.ts'
import { HttpError } from './rest/error.ts'
import { createExchanges } from './rest/exchange.ts'
import { defaultRestSettings } from './rest/input.ts'
import { createJournal } from './rest/journal.ts'
import { createRestApp } from './rest/server.ts'
import type { Seed } from './seed/schema.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 = a free one. */
  readonly port: number
  /** Certificate and key as PEM. If set, serves HTTPS only (R5). */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Folder of the built dashboard. Default: the build's output. */
  readonly dashboard?: string
}

interface ServingOptions extends Omit<ControlContext, 'journal' | 'sessions'> {
  readonly seed: Seed
  readonly wall: Clock
  readonly controlToken: string
  readonly login: DashboardLogin
  /** Requests get 503 until this returns true. */
  readonly isReady: () => boolean
  readonly log: Logger
}

export type EmulatorServer = Awaited<ReturnType<typeof startServing>>

const graceMs = 1_000
/** Requests in the journal. */
const journalCapacity = 1_000

/** Serves the REST service, the control routes and the dashboard. Throws `port_unavailable`. */
export async function startServing(listen: ListenOptions, options: ServingOptions) {
  const { seed, wall, controlToken, login, isReady, log, ...context } = options
  const { state, faults, stream, randomBytes } = context
  const { world, clock, accounts, cursorSecret } = state
  const journal = createJournal(journalCapacity)
  const rest = createRestApp({
    world,
    accounts,
    cursorSecret,
    epoch: () => state.epoch(),
    settings: seed.settings,
    faults,
    clock,
    wall,
    log,
    onExchange: (exchange) => journal.add(exchange),
  })
  const isPublished = login.password === demoCredentials.dashboardPassword
  const sessions = createSessions({ login, isPublished, wall, randomBytes, log })
  const control = createControlApp({ ...context, journal, sessions, token: controlToken, wall, log })
  const pages = await createPages(listen.dashboard ?? builtDashboard())
  const rejectEarly = createEarlyRejection(wall, clock)
  world.onEvent((event) => stream.publish('event', event))

  const handler: RequestListener = (request, response) => {
    if (!isReady()) rejectEarly(request, response)
    else if (control.isFor(request)) control.handle(request, response)
    else if (pages.isFor(request)) pages.handle(request, response)
    else rest(request, response)
  }
  const { host, port, tls } = listen
  const server = await startHttpServer({
    host,
    port,
    handler,
    maxConnections: 1_000,
    keepAliveMs: 15_000,
    // Requests without a Host header are rejected in the envelope, not by Node.
    settings: { maxHeaderSize: 16 * 1024, requireHostHeader: false },
    prepare: (server) =>
      server
        .on('clientError', (error, socket) => rest.onClientError(error, socket))
        .on('connect', (request, socket) => rest.onConnect(request, socket)),
    portSetting: remedyOf,
    ...(tls && { tls }),
  })
  return {
    url: server.url,
    /** Waits up to a second for responses in flight, then closes their connections. Idempotent. */
    close(): Promise<void> {
      // Streams never end on their own and would use up the grace period of all other responses.
      stream.close()
      return server.close(graceMs)
    },
  }
}

/** Error codes that the host causes; the port causes all others. */
const hostCodes: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EINVAL', 'EAFNOSUPPORT']

function remedyOf({ code }: NodeJS.ErrnoException): string {
  if (hostCodes.includes(code)) return 'choose another --host: a name or address of this machine'
  if (code === 'EACCES') return 'choose another --port: this one needs privileges'
  return 'choose another --port, or stop the process that uses it'
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>onchain-inbox emulator</title>
<h1>The dashboard is not built</h1>
<p>The emulator runs, and serves <code>/v1</code> and <code>/_emulator</code>. For the dashboard run
<code>npm run build</code>, then restart the emulator.</p>
</html>
`

/** Output folder of the dashboard build, from source or from a built file. */
function builtDashboard(): string {
  return builtFolder('dashboard')
}

/** Serves the dashboard from a folder. If the folder is missing, `/` says how to build it. Rejects if it can't be read. */
export function createPages(folder: string): Promise<Pages> {
  return createPagesOf(folder, notBuilt)
}

/** Answers 503 in the envelope while the world is being created. Requests count by address: no key is known yet. */
function createEarlyRejection(wall: Clock, clock: Pick<Clock, 'now'>): RequestListener {
  const accounts = { authenticate: () => null }
  const exchanges = createExchanges({ accounts, settings: defaultRestSettings, clock, wall })
  const error = new HttpError(503, 'not_ready', 'the emulator is still creating its world: retry in a second', {
    headers: { Connection: 'close', 'Retry-After': '1' },
  })
  return (request, response) => exchanges.begin(request, response).fail(error)
}
