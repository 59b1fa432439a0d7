import http from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { InboxError } from '../base/errors.ts'
import { listenErrorOf } from '../base/http/server.ts'
import { connectCode } from './rest/refusals.ts'
import type { TlsPair } from './tls.ts'
import type { Clock } from '../base/clock.ts'
import { demoCredentials } from '../base/demo-credentials.ts'
import { type Pages, builtFolder, createPages as createPagesOf } from '../base/http/page-files.ts'
import type { Logger } from '../base/log.ts'
import { createControlApp } from './control/app.ts'
import type { ControlContext } from './control/route.ts'
import { HttpError } from './rest/error.ts'
import { createExchanges } from './rest/exchange.ts'
import { defaultRestSettings } from './rest/input.ts'
import { createJournal } from './rest/journal.ts'
import { createRestApp } from './rest/server.ts'
import type { Seed } from './seed/schema.ts'
import { type DashboardLogin, createSessions } from './control/sessions.ts'

export interface EmulatorServerOptions {
  readonly host: string
  /** 0 = a free one. */
  readonly port: number
  readonly handler: RequestListener
  /** Answers bytes that are not HTTP. */
  readonly onClientError: (error: Error, socket: Duplex) => void
  /** If set, serves HTTPS only (R5). `refusePlain` answers plain HTTP on the same port. */
  readonly tls?: TlsPair
  readonly refusePlain: RequestListener
}

export interface EmulatorServer {
  readonly url: string
  readonly port: number
  /** Waits up to a second for responses in flight, then closes their connections. Idempotent. */
  close(): Promise<void>
}

const settings = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
  keepAliveTimeout: 15_000,
  // Requests without a Host header are rejected in the envelope, not by Node.
  requireHostHeader: false,
}
const maxConnections = 1_000
const socketTimeoutMs = 30_000
const firstByteTimeoutMs = 5_000
const graceMs = 1_000
/** The first byte of a TLS handshake. */
const handshake = 0x16

/** Serves HTTP, or HTTPS only if `tls` is set. Throws `port_unavailable`. */
async function startEmulatorServer(options: EmulatorServerOptions): Promise<EmulatorServer> {
  const { host, handler, tls, onClientError } = options
  const server =
    tls === undefined
      ? http.createServer(settings, handler)
      : https.createServer({ ...settings, ...tls, handshakeTimeout: settings.headersTimeout }, handler)
  // By default Node sends 100 Continue before any check, and answers other expectations without a body.
  server.on('checkContinue', handler)
  server.on('checkExpectation', handler)
  server.on('clientError', onClientError)
  server.on('connect', (_request, socket) =>
    onClientError(Object.assign(new Error(connectCode), { code: connectCode }), socket),
  )
  server.maxConnections = maxConnections
  server.timeout = socketTimeoutMs
  const plain = tls === undefined ? null : servePlainBeside(server, options)

  const { port } = await listen(server, options)
  const shownHost = host.includes(':') ? `[${host}]` : host
  let closing: Promise<void> | undefined

  function close(): Promise<void> {
    return new Promise((resolve) => {
      const force = setTimeout(() => server.closeAllConnections(), graceMs)
      server.close(() => {
        clearTimeout(force)
        resolve()
      })
      server.closeIdleConnections()
      plain?.close()
    })
  }

  return {
    url: `${tls === undefined ? 'http' : 'https'}://${shownHost}:${port}`,
    port,
    close: () => (closing ??= close()),
  }
}

/** Reads the first byte of each connection. One that is no TLS handshake goes to a plain HTTP server. */
function servePlainBeside(secure: Server, options: Pick<EmulatorServerOptions, 'refusePlain' | 'onClientError'>) {
  const server = http.createServer(settings, (request: IncomingMessage, response) => {
    response.shouldKeepAlive = false
    options.refusePlain(request, response)
  })
  server.on('clientError', options.onClientError)
  const sockets = new Set<Socket>()
  const [takeSecure] = secure.listeners('connection')
  secure.removeAllListeners('connection')
  secure.on('connection', (socket: Socket) => {
    const onError = () => socket.destroy()
    socket.on('error', onError)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.setTimeout(firstByteTimeoutMs, () => socket.destroy())
    socket.once('data', (first: Buffer) => {
      socket.pause()
      socket.off('error', onError)
      socket.unshift(first)
      if (first[0] === handshake) {
        sockets.delete(socket)
        socket.setTimeout(0)
        socket.removeAllListeners('timeout')
        takeSecure?.call(secure, socket)
      } else server.emit('connection', socket)
      process.nextTick(() => socket.resume())
    })
  })
  return {
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function listen(server: Server, { host, port }: EmulatorServerOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const message = `cannot listen on ${host}:${port}: ${listenErrorOf(error)}; ${remedyOf(error)}`
      reject(new InboxError('port_unavailable', message, { cause: error }))
    })
    server.listen(port, host, () => resolve(server.address() as AddressInfo))
  })
}

/** Error codes that the host causes; the port causes all others. */
const hostCodes: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EINVAL', 'EAFNOSUPPORT']

function remedyOf({ code }: NodeJS.ErrnoException): string {
  if (hostCodes.includes(code)) return 'choose another --host: a name or address of this machine'
  if (code === 'EACCES') return 'choose another --port: this one needs privileges'
  return 'choose another --port, or stop the process that uses it'
}

export interface ListenOptions {
  readonly host: string
  /** 0 = a free one. */
  readonly port: number
  /** If set, serves HTTPS only (R5). */
  readonly tls?: TlsPair
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

/** Requests in the journal. */
const journalCapacity = 1_000

/** Serves the REST service, the control routes and the dashboard. Throws `port_unavailable`. */
export async function startServing(listen: ListenOptions, options: ServingOptions): Promise<EmulatorServer> {
  const { seed, wall, controlToken, login, isReady, log, ...controlled } = options
  const { state, faults, stream, randomBytes } = controlled
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
      // Streams never end on their own and would use up the grace period of all other responses.
      stream.close()
      return server.close()
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

/** Output folder of the dashboard build, from source or from a built file. */
export function builtDashboard(): string {
  return builtFolder('dashboard')
}

/** Serves the dashboard from a folder. If the folder is missing, `/` says how to build it. Rejects if it can't be read. */
export function createPages(folder: string): Promise<Pages> {
  return createPagesOf(folder, notBuilt)
}

/** Answers plain HTTP with 400 in the envelope, and no data (R5, R108). */
function createPlainRefusal(wall: Clock, clock: Pick<Clock, 'now'>): RequestListener {
  const message = 'plain HTTP is not supported: use https on the same host and port'
  return createRefusal(wall, clock, new HttpError(400, 'invalid_request', message, { headers: closing }))
}

/** Answers 503 in the envelope while the world is being created. */
export function createEarlyRefusal(wall: Clock, clock: Pick<Clock, 'now'>): RequestListener {
  const message = 'the emulator is still creating its world: retry in a second'
  return createRefusal(
    wall,
    clock,
    new HttpError(503, 'not_ready', message, { headers: { ...closing, 'Retry-After': '1' } }),
  )
}

const closing = { Connection: 'close' }

/** Counts requests by remote address: without accounts no key is known. */
function createRefusal(wall: Clock, clock: Pick<Clock, 'now'>, error: HttpError): RequestListener {
  const accounts = { authenticate: () => null }
  const exchanges = createExchanges({ accounts, settings: defaultRestSettings, clock, wall })
  return (request, response) => exchanges.begin(request, response).fail(error)
}
