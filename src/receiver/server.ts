import type { NextFunction, Request, Response } from 'express'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { bareExpress } from '../bare-express.ts'
import { messageOf } from '../errors.ts'
import { sendContinue } from '../expect-continue.ts'
import { safeText, type Logger } from '../log.ts'
import { healthAnswer, answerFor, type Answer, type AnswerCode } from './answer.ts'
import { bodyError, readBody } from './body.ts'
import type { Ingest, IngestObserver } from './ingest.ts'
import type { Pressure } from './pressure.ts'
import type { RejectLog } from './reject-log.ts'

export interface ReceiverAppOptions {
  readonly path: string
  /** Lower case. */
  readonly signatureHeader: string
  readonly bodyLimitBytes: number
  readonly ingest: Ingest
  readonly pressure: Pressure
  readonly observer: ReceiverObserver
  readonly log: Logger
  readonly logReject: RejectLog
  readonly state: ReceiverState
}

export interface ReceiverObserver extends IngestObserver {
  /** So many arrivals went into one transaction. */
  committed(batchSize: number): void
  /** Milliseconds from the first byte of the request's body being read to its answer. */
  acknowledged(durationMs: number): void
}

/** What the server knows about itself. */
export interface ReceiverState {
  /** From the moment a stop was asked for. */
  readonly stopping: boolean
  /** Whether a commit can succeed as far as is known. */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string }
}

/**
 * The Express app of the webhook endpoint. Order of checks: path and method, framing and size, signature, parse, store. Bodies
 * are read as raw bytes, whatever their Content-Type says.
 */
export function createReceiverApp(options: ReceiverAppOptions): RequestListener {
  const app = bareExpress()

  app.get('/healthz', (_request, response) => send(response, healthAnswer('alive'), options.state.stopping))
  app.get('/readyz', (_request, response) => {
    const health = options.state.health()
    if (options.state.stopping) send(response, answerFor('shutting_down'), true)
    else send(response, health.ok ? healthAnswer('ready') : answerFor('store_unavailable'), false)
  })
  app.post(options.path, (request, response) => receive(options, request, response))
  app.all(options.path, (request, response) => reject(options, request, response, 'method_not_allowed'))
  app.use((request, response) => reject(options, request, response, 'not_found'))
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    options.log.error({ error: safeText(messageOf(error)) }, 'a request failed')
    reject(options, request, response, 'internal')
  })
  // A target that is no URL reaches no route: without this, Express answers it in HTML.
  return (request, response) =>
    app(request as Request, response as Response, () => reject(options, request, response, 'not_found'))
}

async function receive(options: ReceiverAppOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { state, pressure, observer } = options
  const startedAt = performance.now()

  const refusal = refuseEarly(options, request)
  if (refusal !== null) return reject(options, request, response, refusal)

  const limitBytes = options.bodyLimitBytes
  const length = contentLength(request)
  const roomBytes = length ?? limitBytes
  if (!pressure.enterBody(roomBytes)) return reject(options, request, response, 'overloaded')

  let raw: Buffer
  try {
    sendContinue(request, response)
    raw = await readBody(request, { limitBytes, length })
  } catch (error) {
    const code = bodyError(error)
    if (code === null) return // The client went away, or Node has answered it: nobody is left to tell.
    return reject(options, request, response, code)
  } finally {
    pressure.leaveBody(roomBytes)
  }

  const header = request.headers[options.signatureHeader]
  const answer = await options.ingest(raw, Array.isArray(header) ? header.join(', ') : header)
  send(response, answer, state.stopping)
  if (answer.reason !== undefined) options.logReject(request, answer.reason)
  if (answer.status < 300) observer.acknowledged(performance.now() - startedAt)
}

/** What can be refused before the body is read; null if nothing speaks against it. */
function refuseEarly(options: ReceiverAppOptions, request: IncomingMessage): AnswerCode | null {
  if (options.state.stopping) return 'shutting_down'
  if (hasRepeatedHost(request.rawHeaders)) return 'bad_request'
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'content_encoding_unsupported'
  const length = contentLength(request)
  if (length !== undefined && length > options.bodyLimitBytes) return 'body_too_large'
  return options.pressure.reason() === null ? null : 'overloaded'
}

/** Node takes several Host headers, which proxies in front may read differently. */
function hasRepeatedHost(rawHeaders: readonly string[]): boolean {
  let seen = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name === undefined || name.length !== 4 || name.toLowerCase() !== 'host') continue
    if (seen) return true
    seen = true
  }
  return false
}

function contentLength(request: IncomingMessage): number | undefined {
  const text = request.headers['content-length']
  return text === undefined ? undefined : Number(text)
}

function reject(
  options: ReceiverAppOptions,
  request: IncomingMessage,
  response: ServerResponse,
  code: AnswerCode,
): void {
  const answer = answerFor(code)
  if (answer.status >= 500) options.observer.refused(code)
  else options.observer.rejected(code)
  options.logReject(request, code)
  send(response, answer, options.state.stopping)
}

function send(response: ServerResponse, answer: Answer, close: boolean): void {
  if (response.headersSent || response.destroyed) return
  const headers: Record<string, string | number> = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(answer.body),
    ...answer.headers,
  }
  const isLast = close || answer.close
  if (isLast) headers['Connection'] = 'close'
  response.writeHead(answer.status, headers)
  if (isLast && !response.req.complete) closeLate(response, answer.body)
  else response.end(answer.body)
}

const lateClose = { afterMs: 2_000, discardBytes: 4 * 1024 * 1024 }

/**
 * Answers and says that nothing follows, but closes only when the client has, or after a while. Closing at once, with bytes
 * of the body on their way, would reset the connection, and the client could lose the answer. What still comes is thrown
 * away, and from some amount on not even read.
 */
function closeLate(response: ServerResponse, body: string): void {
  const { req: request } = response
  const close = () => {
    clearTimeout(timer)
    request.socket.destroySoon()
  }
  const timer = setTimeout(close, lateClose.afterMs)
  timer.unref()
  let discarded = 0
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length
    if (discarded > lateClose.discardBytes) request.pause()
  })
  request.once('end', close)
  request.once('close', close)

  // Complete by its Content-Length. Ending the response would make Node close at once.
  response.write(body)
  request.socket.end()
  request.resume()
}
