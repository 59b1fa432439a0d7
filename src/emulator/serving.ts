import type { Clock } from '../base/clock.ts'
import { demoCredentials } from '../base/demo-credentials.ts'
import type { Logger } from '../base/log.ts'
import { createControlApp } from './control/app.ts'
import type { Controlled } from './control/route.ts'
import { createJournal } from './journal.ts'
import { builtDashboard, createPages } from './pages.ts'
import { createEarlyRefusal, createPlainRefusal } from './refuse-all.ts'
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

export interface ServingOptions extends Omit<Controlled, 'journal' | 'sessions'> {
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
