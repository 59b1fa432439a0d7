import http, { type IncomingMessage, type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { InboxError, messageOf } from '../base/errors.ts'
import { connectCode } from './rest/refusals.ts'
import type { TlsPair } from './tls.ts'

export interface EmulatorServerOptions {
  readonly host: string
  /** 0 = a free one. */
  readonly port: number
  readonly handler: RequestListener
  /** Answers what is no HTTP. */
  readonly onClientError: (error: Error, socket: Duplex) => void
  /** With it HTTPS alone is served (R5): `refusePlain` answers everything that comes by plain HTTP on the same port. */
  readonly tls?: TlsPair
  readonly refusePlain: RequestListener
}

export interface EmulatorServer {
  readonly url: string
  readonly port: number
  /** Lets answers in flight finish for a second, then cuts what is left. Idempotent. */
  close(): Promise<void>
}

const settings = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
  keepAliveTimeout: 15_000,
  // A request without a Host header is refused in the envelope, too.
  requireHostHeader: false,
}
const maxConnections = 1_000
const socketTimeoutMs = 30_000
const firstByteTimeoutMs = 5_000
const graceMs = 1_000
/** The first byte of a TLS handshake. */
const handshake = 0x16

/** Serves HTTP, or in strict mode HTTPS alone. Throws `port_unavailable`. */
export async function startEmulatorServer(options: EmulatorServerOptions): Promise<EmulatorServer> {
  const { host, handler, tls, onClientError } = options
  const server =
    tls === undefined
      ? http.createServer(settings, handler)
      : https.createServer({ ...settings, ...tls, handshakeTimeout: settings.headersTimeout }, handler)
  // Else Node says 100 Continue before anything is checked, and answers any other expectation without a body.
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

/** Looks at the first byte of each connection: one that begins no TLS handshake is given to a server of plain HTTP. */
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
      const message = `cannot listen on ${host}:${port}: ${messageOf(error)}; ${remedyOf(error)}`
      reject(new InboxError('port_unavailable', message, { cause: error }))
    })
    server.listen(port, host, () => resolve(server.address() as AddressInfo))
  })
}

/** These are of the host, all others of the port. */
const hostCodes: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EINVAL', 'EAFNOSUPPORT']

function remedyOf({ code }: NodeJS.ErrnoException): string {
  if (hostCodes.includes(code)) return 'choose another --host: a name or an address of this machine'
  if (code === 'EACCES') return 'choose another --port: this one is not for everybody'
  return 'choose another --port, or stop what uses it'
}
