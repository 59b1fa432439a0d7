import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { parseTraceparent, type Tracer } from '../base/tracing.ts'
import { answerFor, methodAnswer, type Answer, type AnswerCode, send } from './answer.ts'
import { defaultSource, type AcceptPort } from '../inbox/port.ts'
import { createGroupCommit } from './group-commit.ts'
import { createInflater, type Inflater } from './inflate.ts'
import { createIngest, type Delivery, type Ingest, type IngestObserver, type IngestOptions } from './ingest.ts'
import { createHeaderReader, withoutSecrets, type HeaderReader, type StoredHeaders } from './stored-headers.ts'
import { createPressure, type Pressure } from './pressure.ts'
import { createDefaultReader, createSourceReader, type NamedSource } from './readers.ts'
import { toText, type RejectLog } from './rejects.ts'
import type { Secret } from '../signature/keys.ts'
import type { Provider } from '../sources/provider.ts'
import type { VerifiedSource } from '../sources/verify.ts'
import getRawBody from 'raw-body'

/** How the deliveries of one source are received. */
export interface ReceiveOptions {
  readonly bodyLimitBytes: number
  readonly ingest: Ingest
  readonly pressure: Pressure
  readonly observer: ReceiverObserver
  readonly logReject: RejectLog
  readonly state: ReceiverState
  readonly readHeaders: HeaderReader
  /** Null: gzipped bodies are rejected. */
  readonly inflate: Inflater | null
  /** Methods that its path takes. */
  readonly methods: readonly string[]
  /** Default: null, tracing is off. */
  readonly tracer?: Tracer | null
  /** Called before a body is read. */
  readonly beforeBody?: (request: IncomingMessage, response: ServerResponse) => void
}

export interface ReceiverObserver extends IngestObserver {
  /** Number of deliveries in one transaction. */
  committed(batchSize: number): void
  /** Milliseconds from the start of the request to its response. */
  acknowledged(durationMs: number): void
  /** A signature is valid and covers a time. `isOld`: the time is out of the tolerance. */
  signed(isOld: boolean): void
}

/** An observer that passes every call to all of these. */
export function observeAll(observers: readonly Partial<ReceiverObserver>[]): ReceiverObserver {
  return {
    stored: (result, delivery) => observers.forEach((observer) => observer.stored?.(result, delivery)),
    rejected: (reason) => observers.forEach((observer) => observer.rejected?.(reason)),
    refused: (code) => observers.forEach((observer) => observer.refused?.(code)),
    committed: (batchSize) => observers.forEach((observer) => observer.committed?.(batchSize)),
    acknowledged: (durationMs) => observers.forEach((observer) => observer.acknowledged?.(durationMs)),
    signed: (isOld) => observers.forEach((observer) => observer.signed?.(isOld)),
  }
}

/** State of the server. */
export interface ReceiverState {
  /** True once a stop was requested. */
  readonly stopping: boolean
  /** Whether a commit can succeed. `full`: it can't for lack of space. */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string; readonly full?: boolean }
}

/** Settings of the receiver. */
export interface ReceiverSettings extends StoredHeaders {
  readonly bodyLimitBytes: number
  readonly ackTimeoutMs: number
  /** Status for authentic bytes that are not a usable event: 200 or 422. */
  readonly unusableStatus: number
}

/** A running source other than the default one. */
export interface ReceivedSource extends NamedSource, VerifiedSource, Pick<Provider, 'probes' | 'inflates'> {
  readonly path: string
}

export interface SourceReceiving extends ReceiveOptions {
  readonly name: string
  readonly path: string
}

interface ReceivingOptions
  extends
    Pick<ReceiveOptions, 'logReject' | 'state' | 'tracer'>,
    Omit<IngestOptions, 'commits' | 'unusableStatus' | 'read' | 'observer'> {
  /** Returns the observer of a source. */
  readonly observerOf: (source: string) => ReceiverObserver
  /** Secrets of the default source. */
  readonly secrets: () => readonly Secret[]
  readonly accept: AcceptPort['accept']
  /** Default: none. */
  readonly sources?: readonly ReceivedSource[]
}

/**
 * Everything between the bytes of a delivery and the store: for the default source, and in `sources` for the others. They share
 * commits and pressure. Call `pressure.close` at the end.
 */
export function createReceiving(settings: ReceiverSettings, options: ReceivingOptions) {
  const { signatureHeader, bodyLimitBytes, ackTimeoutMs, unusableStatus } = settings
  const { accept, clock, sources = [] } = options
  const observer = options.observerOf(defaultSource)
  const commits = createGroupCommit({ accept, clock, ackTimeoutMs, onBatch: (size) => observer.committed(size) })
  const inflate = createInflater(bodyLimitBytes)
  const ingestOf = (source: Pick<IngestOptions, 'observer' | 'read'>) =>
    createIngest({ ...options, ...source, commits, unusableStatus })
  const receiving = {
    ...options,
    observer,
    bodyLimitBytes,
    commits,
    readHeaders: createHeaderReader({ ...settings, storedHeaders: withoutSecrets(settings.storedHeaders, sources) }),
    ingest: ingestOf({ observer, read: createDefaultReader({ ...options, signatureHeader }) }),
    pressure: createPressure(commits.pending, bodyLimitBytes),
    inflate: null,
    methods: ['POST'],
  }
  const receivingOf = (source: ReceivedSource): SourceReceiving => {
    const { name, path, probes, inflates, verify } = source
    const secretHeaders = verify.map(({ header }) => header)
    const observerOfSource = options.observerOf(name)
    return {
      ...receiving,
      name,
      path,
      observer: observerOfSource,
      ingest: ingestOf({
        observer: observerOfSource,
        read: createSourceReader(source, { clock, observer: observerOfSource }),
      }),
      // Only signatures of the default source can be explained, so the body isn't kept.
      logReject: (request, reason) => options.logReject(request, reason),
      // Without a signature a body needs no work.
      inflate: inflates
        ? async (raw, headers) => (secretHeaders.some((header) => header in headers) ? inflate(raw, headers) : raw)
        : null,
      methods: methodsOf(probes),
    }
  }
  return { ...receiving, sources: sources.map(receivingOf) }
}

/** Methods that the path of a source takes. */
export function methodsOf(probes: Provider['probes']): readonly string[] {
  return [...(probes.includes('GET') ? ['GET', 'HEAD'] : probes), 'POST']
}

/** Handles a request as a delivery and responds. Reads the body as raw bytes and ignores its Content-Type. */
export async function receive(
  options: ReceiveOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { state, observer } = options
  const startedAt = performance.now()

  const rejection = hasRepeatedHost(request.rawHeaders) ? 'bad_request' : earlyRejection(options, request.headers)
  if (rejection !== null) return reject(options, request, response, rejection)

  const body = await bodyOf(options, request, response)
  if (body === null) return
  const raw = options.inflate === null ? body : await options.inflate(body, request.headers)
  if (typeof raw === 'string') return reject(options, request, response, raw)

  const { headers, rawHeaders } = request
  // Express cuts the mounted path from the URL.
  const target = (request as { readonly originalUrl?: string }).originalUrl ?? request.url
  const answer = await ingestTraced(options, { raw, headers, rawHeaders, target })
  send(response, answer, state.stopping)
  if (answer.reason !== undefined) options.logReject(request, answer.reason, raw)
  if (answer.status < 300) observer.acknowledged(performance.now() - startedAt)
}

/** Returns the response to a delivery. Records its receipt as a span if tracing is on. */
export async function ingestTraced(
  { ingest, readHeaders, tracer = null }: Pick<ReceiveOptions, 'ingest' | 'readHeaders' | 'tracer'>,
  delivery: Delivery,
): Promise<Answer> {
  const { headers, rawHeaders } = delivery
  const incoming = parseTraceparent(toText(headers['traceparent']))
  const span = tracer?.startReceipt(incoming)
  let storedEvent: { readonly id: string; readonly type: string } | undefined
  const answer = await ingest(delivery, (event) => {
    storedEvent = event
    return { headers: readHeaders(rawHeaders), trace: span?.traceparent ?? incoming }
  })
  span?.end({ status: answer.status, result: answer.result, eventId: storedEvent?.id, type: storedEvent?.type })
  return answer
}

/** Returns the exact bytes of the body; null if the request was already rejected or aborted. */
async function bodyOf(
  options: ReceiveOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Buffer | null> {
  const { pressure, bodyLimitBytes: limitBytes } = options
  const rejectWith = (code: AnswerCode, close?: boolean) => {
    reject(options, request, response, code, close)
    return null
  }
  const parsed = bodyReadBefore(request)
  if (parsed === 'lost') return rejectWith('body_already_read')
  if (parsed !== 'unread') return parsed.length > limitBytes ? rejectWith('body_too_large') : parsed

  options.beforeBody?.(request, response)
  const read = await readBody(request, { limitBytes, length: contentLength(request.headers), pressure })
  if (typeof read === 'string') return rejectWith(read, true)
  // The client left, or Node has responded: no response is possible.
  if (read === null) {
    options.observer.rejected('body_incomplete')
    options.logReject(request, 'body_incomplete')
  }
  return read
}

/** Error code if the request can be rejected before its body is read; else null. */
export function earlyRejection(
  options: Pick<ReceiveOptions, 'state' | 'bodyLimitBytes' | 'pressure' | 'inflate'>,
  headers: IncomingHttpHeaders,
): AnswerCode | null {
  if (options.state.stopping) return 'shutting_down'
  // Node accepts any list of codings that ends with `chunked`.
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') return 'bad_request'
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && !(encoding === 'gzip' && options.inflate !== null))
    return 'content_encoding_unsupported'
  const length = contentLength(headers)
  if (length !== undefined && length > options.bodyLimitBytes) return 'body_too_large'
  return options.pressure.reason() === null ? null : 'overloaded'
}

/** Node accepts several Host headers, which proxies may interpret differently. */
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

function contentLength(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['content-length']
  return text === undefined ? undefined : Number(text)
}

/** Rejects a request without reading its body. */
export function reject(
  options: ReceiveOptions,
  request: IncomingMessage,
  response: ServerResponse,
  code: AnswerCode,
  close = options.state.stopping,
): void {
  const answer = rejectionOf(options, code)
  options.logReject(request, code)
  send(response, answer, close)
}

/** The answer for a rejected request, which it counts. */
export function rejectionOf({ methods, observer }: ReceiveOptions, code: AnswerCode): Answer {
  const answer = code === 'method_not_allowed' ? methodAnswer(methods) : answerFor(code)
  if (answer.status >= 500) observer.refused(code)
  else observer.rejected(code)
  return answer
}

export interface BodyOptions {
  readonly limitBytes: number
  /** The Content-Length; undefined if there is none. */
  readonly length: number | undefined
  readonly pressure: Pick<Pressure, 'enterBody'>
}

// Limits the chunks of a body: each takes some 450 bytes of memory on top of its content. Normal chunks are far larger.
const chunkLimit = { free: 128, bytesEach: 256 }

/** Makes raw-body stop. Shared, because a stack trace per request would be expensive under attack. */
const stopped = new Error('the body is not read to its end')

/** Reads the exact bytes of a body. Otherwise returns the error code; null if the client left before the end. */
async function readBody(
  request: IncomingMessage,
  { limitBytes, length, pressure }: BodyOptions,
): Promise<Buffer | AnswerCode | null> {
  let code: AnswerCode | null = null
  let count = 0
  let bytes = 0
  const room = pressure.enterBody(() => stop('overloaded'))

  function stop(reason: AnswerCode): void {
    code = reason
    request.off('data', onData)
    request.emit('error', stopped)
  }
  function onData(chunk: Buffer): void {
    bytes += chunk.length
    // A complete body needs no more room.
    if (bytes !== length) room.received(chunk.length)
    if (++count > chunkLimit.free + bytes / chunkLimit.bytesEach) stop('bad_request')
  }

  // raw-body may have removed its listener already. Without this one, an error would end the process.
  request.on('error', () => {}).on('data', onData)
  try {
    return await getRawBody(request, { limit: limitBytes, ...(length !== undefined && { length }) })
  } catch (error) {
    return code ?? codeOf(error)
  } finally {
    request.off('data', onData)
    room.leave()
  }
}

/** Null if the client left. */
function codeOf(error: unknown): AnswerCode | null {
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return 'body_too_large'
  return type === 'request.size.invalid' ? 'bad_request' : null
}

/**
 * The body if a parser read it before: its exact bytes from `body` (`express.raw()`) or `rawBody` (the `verify` hook of
 * other parsers); `lost` without them; `unread` if no parser read it.
 */
function bodyReadBefore(request: IncomingMessage): Buffer | 'unread' | 'lost' {
  if (!request.readableDidRead && request.readableEncoding === null) return 'unread'
  const { rawBody, body } = request as { readonly rawBody?: unknown; readonly body?: unknown }
  if (Buffer.isBuffer(rawBody)) return rawBody
  return Buffer.isBuffer(body) ? body : 'lost'
}
