import { readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { InboxError, messageOf } from '../errors.ts'

export interface HttpServerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Also called for requests with `Expect`: it must call `sendContinue` before it reads a body. */
  readonly handler: RequestListener
  readonly maxConnections: number
  readonly keepAliveMs: number
  /** Idle connections are closed after this time, even while they wait for a response. Default 30,000 ms. */
  readonly socketTimeoutMs?: number
  /** Files, or their contents. */
  readonly tls?:
    | { readonly certFile: string; readonly keyFile: string }
    | { readonly cert: string; readonly key: string }
  /** Other settings than the default ones. */
  readonly settings?: ServerOptions
  /** Called before the server listens, to add listeners. */
  readonly prepare?: (server: Server) => void
  /** Name of the setting for the port, for error messages. */
  readonly portSetting: string
}

export interface HttpServer {
  readonly url: string
  readonly port: number
  /**
   * Stops accepting connections and closes idle ones. Lets responses in flight finish for `graceMs` milliseconds, then
   * closes all connections. Idempotent.
   */
  close(graceMs: number): Promise<void>
}

/** Time and size limits of a request. Node responds 408 when a time is over. */
const limits = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8 * 1024,
  socketTimeoutMs: 30_000,
}

/** If the accept queue is full, the kernel drops new connections and clients retry after a second or more. */
const backlog = 4_096

/** Starts an HTTP(S) server with limits on everything that a client can hold open. Throws `port_unavailable`. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { headersTimeout, requestTimeout, connectionsCheckingInterval, maxHeaderSize } = limits
  const settings = {
    headersTimeout,
    requestTimeout,
    connectionsCheckingInterval,
    maxHeaderSize,
    keepAliveTimeout: options.keepAliveMs,
    ...options.settings,
  }
  const handler: RequestListener = (request, response) => {
    onRequest(request, response)
    // Node's parser also accepts request lines of HTTP/0.9 and HTTP/2.0.
    if (request.httpVersionMajor === 1) options.handler(request, response)
    else response.writeHead(400, { Connection: 'close' }).end()
  }
  const { tls } = options
  const pair = tls && ('cert' in tls ? tls : { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) })
  // An import of these modules would also load the WebSocket client, with some 800 kB of source.
  const server = pair
    ? process
        .getBuiltinModule('node:https')
        .createServer({ ...settings, handshakeTimeout: headersTimeout, ...pair }, handler)
    : process.getBuiltinModule('node:http').createServer(settings, handler)
  options.prepare?.(server)
  // Otherwise Node sends 100 Continue before any check, and answers other expectations without a body.
  server.on('checkContinue', handler)
  server.on('checkExpectation', handler)
  // A client may close its side after the request and still wait for the response. Node's types lack the property.
  Object.assign(server, { httpAllowHalfOpen: true })
  const onRequest = limitConnections(server, options.maxConnections)
  server.timeout = options.socketTimeoutMs ?? limits.socketTimeoutMs

  const { port } = await listen(server, options)
  const shownHost = options.host.includes(':') ? `[${options.host}]` : options.host
  let closing: Promise<void> | undefined

  function close(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const force = setTimeout(() => server.closeAllConnections(), graceMs)
      server.close(() => {
        clearTimeout(force)
        resolve()
      })
      server.closeIdleConnections()
    })
  }

  return {
    url: `${tls ? 'https' : 'http'}://${shownHost}:${port}`,
    port,
    close: (graceMs) => (closing ??= close(graceMs)),
  }
}

/** Error codes that the host causes; the port causes all others. */
const hostCodes: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EINVAL', 'EAFNOSUPPORT']

function adviceOn({ code }: NodeJS.ErrnoException, portSetting: string): string {
  if (hostCodes.includes(code)) return 'choose another host: a name or address of this machine'
  return code === 'EACCES'
    ? `this user may not use the port; set ${portSetting} to 1024 or above, or give Node CAP_NET_BIND_SERVICE`
    : `choose another ${portSetting}, or stop what uses it`
}

function listen(server: Server, { host, port, portSetting }: HttpServerOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message = `cannot listen on ${host}:${port}: ${listenErrorOf(error)}; ${adviceOn(error, portSetting)}`
      reject(new InboxError('port_unavailable', message, { cause: error }))
    })
    server.listen(port, host, backlog, () => resolve(server.address() as AddressInfo))
  })
}

/** `address already in use (EADDRINUSE)`, without the address that Node repeats. */
function listenErrorOf(error: unknown): string {
  return messageOf(error).replace(/^listen (\w+): (.+) \S+$/, '$2 ($1)')
}

interface Connection {
  readonly socket: Socket
  /** Requests whose responses aren't sent completely, oldest first. */
  readonly exchanges: { readonly request: IncomingMessage; readonly response: ServerResponse }[]
  /** True once a POST got a 2xx: its sender is most likely genuine. */
  isTrusted: boolean
  /** Time (`performance.now`) of the latest measurement of progress, and bytes received until then. */
  measuredAt: number
  measuredBytes: number
}

const stalledBytesPerMs = 1.024
/** Time for the first request of a new client, unless new clients are the majority. */
const firstMs = 1_000
/** Maximum connections examined for a new one. */
const maxExamined = 64

/**
 * Limits the open connections of a server. At the limit it closes an idle connection: one without a complete request.
 * Connections that receive less than 1 KiB/s are closed first, longest idle ones before others. Clients with an
 * accepted POST are closed last. A new connection is closed only if all others wait for responses to complete requests.
 *
 * @returns a function to call with every request
 */
function limitConnections(server: Server, max: number): (request: IncomingMessage, response: ServerResponse) => void {
  const open = new Set<Connection>()
  // Both are ordered by `measuredAt`. A connection found busy is in neither until its response is sent.
  const untrusted = new Set<Connection>()
  const trusted = new Set<Connection>()
  const bySocket = new WeakMap<object, Connection>()

  function forget(connection: Connection): void {
    for (const set of [open, untrusted, trusted]) set.delete(connection)
  }

  function queue(connection: Connection): void {
    if (!open.has(connection)) return
    measure(connection)
    const connections = connection.isTrusted ? trusted : untrusted
    connections.add(connection)
  }

  /** Drops answered requests, and returns true if there were any. Responses of a connection are sent in order. */
  function settle(connection: Connection): boolean {
    const { exchanges } = connection
    const before = exchanges.length
    for (let first = exchanges[0]; first?.response.writableFinished; first = exchanges[0]) {
      connection.isTrusted ||= first.request.method === 'POST' && first.response.statusCode < 300
      exchanges.shift()
    }
    return exchanges.length < before
  }

  /** Returns the first stalled idle connection, else the slowest examined one. Moves the others to the right set. */
  function findIdle(connections: Set<Connection>): Connection | undefined {
    let slowest: { readonly connection: Connection; readonly rate: number } | undefined
    let examined = 0
    for (const connection of connections.values().take(connections.size)) {
      connections.delete(connection)
      const isUsed = settle(connection)
      const busy = connection.exchanges.find(({ request }) => request.complete)
      if (busy !== undefined) busy.response.once('close', () => queue(connection))
      else if (connection.isTrusted && connections === untrusted) trusted.add(connection)
      else {
        const rate = isUsed && connection.isTrusted ? Infinity : measure(connection)
        if (rate < stalledBytesPerMs) return connection
        connections.add(connection)
        if (slowest === undefined || rate < slowest.rate) slowest = { connection, rate }
        if (++examined === maxExamined) break
      }
    }
    return slowest?.connection
  }

  function chooseIdle(): Connection | undefined {
    const [oldest] = untrusted
    const isOldestNew = oldest === undefined || performance.now() - oldest.measuredAt < firstMs
    // Without a flood, new clients get time for their first request.
    const isFlood = untrusted.size >= trusted.size
    return isOldestNew && !isFlood
      ? (findIdle(trusted) ?? findIdle(untrusted))
      : (findIdle(untrusted) ?? findIdle(trusted))
  }

  server.on('connection', (socket) => {
    // Node caches the address when it is read. A closed socket no longer has it.
    void socket.remoteAddress
    if (open.size >= max) {
      const idle = chooseIdle()
      if (idle === undefined) return void socket.destroy()
      forget(idle)
      idle.socket.destroy()
    }
    const connection = { socket, exchanges: [], isTrusted: false, measuredAt: performance.now(), measuredBytes: 0 }
    open.add(connection)
    untrusted.add(connection)
    bySocket.set(socket, connection)
    socket.once('close', () => forget(connection))
  })
  server.on('secureConnection', (secure: Socket) => {
    const isSame = ({ socket }: Connection) =>
      socket.remotePort === secure.remotePort && socket.remoteAddress === secure.remoteAddress
    const connection = untrusted.values().find(isSame)
    if (connection !== undefined) bySocket.set(secure, connection)
  })

  return (request, response) => {
    const connection = bySocket.get(request.socket)
    if (connection === undefined) return
    settle(connection)
    connection.exchanges.push({ request, response })
    // Headers don't count as progress.
    connection.measuredBytes = connection.socket.bytesRead
  }
}

/** Bytes received per millisecond since the last call. */
function measure(connection: Connection): number {
  const now = performance.now()
  const { bytesRead } = connection.socket
  const rate = (bytesRead - connection.measuredBytes) / Math.max(1, now - connection.measuredAt)
  connection.measuredAt = now
  connection.measuredBytes = bytesRead
  return rate
}
