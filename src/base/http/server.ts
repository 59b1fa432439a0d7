import { readFileSync } from 'node:fs'
import http, { type RequestListener, type Server } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { limitConnections } from './connections.ts'
import { InboxError, messageOf } from '../errors.ts'

export interface HttpServerOptions {
  readonly host: string
  /** 0 = a free one. */
  readonly port: number
  /** Also gets requests with `Expect`: before it reads a body, it calls `sendContinue`. */
  readonly handler: RequestListener
  readonly maxConnections: number
  readonly keepAliveMs: number
  /** A connection on which nothing goes on for so long is closed, also while it waits for an answer. Default 30 s. */
  readonly socketTimeoutMs?: number
  readonly tls?: { readonly certFile: string; readonly keyFile: string }
  /** Name of the setting that chose the port, for the error message. */
  readonly portSetting: string
}

export interface HttpServer {
  readonly url: string
  readonly port: number
  /**
   * Stops accepting connections, lets replies in flight finish, closes idle connections at once and all others after
   * `graceMs` milliseconds. Idempotent.
   */
  close(graceMs: number): Promise<void>
}

/** Times in which a request must arrive; Node answers 408 by itself when they are over. */
const limits = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8 * 1024,
  socketTimeoutMs: 30_000,
}

/** With a full queue the kernel drops new connections, and clients try again after one second or more. */
const backlog = 4_096

/** Starts an HTTP(S) server with bounds on everything a client can hold open. Throws `port_unavailable`. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { headersTimeout, requestTimeout, connectionsCheckingInterval, maxHeaderSize } = limits
  const settings = {
    headersTimeout,
    requestTimeout,
    connectionsCheckingInterval,
    maxHeaderSize,
    keepAliveTimeout: options.keepAliveMs,
  }
  const handler: RequestListener = (request, response) => {
    onRequest(request, response)
    // Node's parser also takes the request lines of HTTP/0.9 and HTTP/2.0.
    if (request.httpVersionMajor === 1) options.handler(request, response)
    else response.writeHead(400, { Connection: 'close' }).end()
  }
  const server = options.tls
    ? https.createServer(
        {
          ...settings,
          handshakeTimeout: headersTimeout,
          cert: readFileSync(options.tls.certFile),
          key: readFileSync(options.tls.keyFile),
        },
        handler,
      )
    : http.createServer(settings, handler)
  // Else Node says 100 Continue before anything is checked, and answers any other expectation without a body.
  server.on('checkContinue', handler)
  server.on('checkExpectation', handler)
  // A client may close its side after its request and still wait for the answer. Node's types lack the property.
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
    url: `${options.tls ? 'https' : 'http'}://${shownHost}:${port}`,
    port,
    close: (graceMs) => (closing ??= close(graceMs)),
  }
}

function listen(server: Server, options: HttpServerOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        new InboxError(
          'port_unavailable',
          `cannot listen on ${options.host}:${options.port}: ${messageOf(error)}; choose another ${options.portSetting}, ` +
            `or stop what uses it`,
          { cause: error },
        ),
      )
    })
    server.listen(options.port, options.host, backlog, () => resolve(server.address() as AddressInfo))
  })
}
