import type { RequestListener } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { demoCredentials } from '../base/demo-credentials.ts'
import { builtFolder, createPages } from '../base/http/page-files.ts'
import { startHttpServer } from '../base/http/server.ts'
import type { Logger } from '../base/log.ts'
import { createControlApp } from './control/app.ts'
import type { ControlContext } from './control/route.ts'
import { type DashboardLogin, createSessions } from './control/sessions.ts'
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
  /** Resolves once the world exists. Requests wait for it. */
  readonly ready: Promise<void>
  readonly log: Logger
}

export type EmulatorServer = Awaited<ReturnType<typeof startServing>>

const graceMs = 1_000
/** Requests in the journal. */
const journalCapacity = 1_000

/** Serves the REST service, the control routes and the dashboard. Throws `port_unavailable`. */
export async function startServing(listen: ListenOptions, options: ServingOptions) {
  const { seed, wall, controlToken, login, ready, log, ...context } = options
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
  const pages = await createPages(listen.dashboard ?? builtFolder('dashboard'), notBuilt)
  world.onEvent((event) => stream.publish('event', event))

  const route: RequestListener = (request, response) => {
    if (control.isFor(request)) control.handle(request, response)
    else if (pages.isFor(request)) pages.handle(request, response)
    else rest(request, response)
  }
  const { host, port, tls } = listen
  const server = await startHttpServer({
    host,
    port,
    handler: (request, response) => void ready.then(() => route(request, response)),
    maxConnections: 1_000,
    keepAliveMs: 15_000,
    // Requests without a Host header are rejected in the envelope, not by Node.
    settings: { maxHeaderSize: 16 * 1024, requireHostHeader: false },
    prepare: (server) =>
      server
        .on('clientError', (error, socket) => rest.onClientError(error, socket))
        .on('connect', (request, socket) => rest.onConnect(request, socket)),
    portSetting: '--port',
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

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>onchain-inbox emulator</title>
<h1>The dashboard is not built</h1>
<p>The emulator runs, and serves <code>/v1</code> and <code>/_emulator</code>. For the dashboard run
<code>npm run build</code>, then restart the emulator.</p>
</html>
`
