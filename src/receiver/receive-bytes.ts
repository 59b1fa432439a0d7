import { isAnyArrayBuffer, isUint8Array } from 'node:util/types'
import { probeAnswer, type Answer, type AnswerCode } from './answer.ts'
import { ingestTraced, earlyRejection, rejectionOf, type ReceiveOptions } from './receive.ts'

/** A delivery from any framework, with its body already read. */
export interface DeliveryRequest {
  /** Default: POST. Any other value gets 405. */
  readonly method?: string
  /** Headers as received: `Headers`, or an object with names in any case. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /**
   * The exact bytes as received, not parsed or decoded; null or undefined without a body. Bodies of senders that gzip them
   * (QuickNode) may be passed as received or inflated. Other values get 500 `body_already_read`.
   */
  readonly body: Uint8Array | ArrayBuffer | null | undefined
  /** Address of the peer, for the log of rejected requests. */
  readonly remoteAddress?: string | undefined
  /** Name of the source. Default: the default source. */
  readonly source?: string
  /** Path and query of the request, for senders that sign them. */
  readonly target?: string
}

/** The response to send. */
export interface DeliveryResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
}

/** The same algorithm as `receive` (R73, R75, R79, R90), for a body that was already read. Never rejects. */
export async function receiveBytes(options: ReceiveOptions, request: DeliveryRequest): Promise<DeliveryResponse> {
  const startedAt = performance.now()
  const headers = toObject(request.headers)
  const reject = (code: AnswerCode): DeliveryResponse => {
    log(code)
    return toResponse(rejectionOf(options, code))
  }
  const log = (reason: string, raw?: Uint8Array) =>
    options.logReject(
      { method: request.method, headers, socket: { remoteAddress: request.remoteAddress } },
      reason,
      raw,
    )

  const { method = 'POST' } = request
  if (method !== 'POST')
    return options.methods.includes(method) ? toResponse(probeAnswer) : reject('method_not_allowed')
  const rejection = earlyRejection(options, headers)
  if (rejection !== null) return reject(rejection)
  const body = toBytes(request.body, headers)
  if (body === null) return reject('body_already_read')
  if (body.length > options.bodyLimitBytes) return reject('body_too_large')
  const raw = options.inflate === null ? body : await options.inflate(body, headers)
  if (typeof raw === 'string') return reject(raw)

  const rawHeaders = toRawHeaders(request.headers)
  const answer = await ingestTraced(options, { raw, headers, rawHeaders, target: request.target })
  if (answer.reason !== undefined) log(answer.reason, raw)
  if (answer.status < 300) options.observer.acknowledged(performance.now() - startedAt)
  return toResponse(answer)
}

export function toResponse({ status, headers, body }: Answer): DeliveryResponse {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body }
}

/** Null if the exact bytes are not available: then the signature can't be checked. */
function toBytes(body: unknown, headers: Readonly<Record<string, string>>): Uint8Array | null {
  if (isUint8Array(body)) return body
  if (isAnyArrayBuffer(body)) return new Uint8Array(body)
  const announcesBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  return (body === undefined || body === null) && !announcesBody ? new Uint8Array() : null
}

/** Names and values in turn. */
function toRawHeaders(headers: DeliveryRequest['headers']): readonly string[] {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
  return entries.flatMap(([name, value = []]) =>
    (typeof value === 'string' ? [value] : value).flatMap((text) => [name, text]),
  )
}

/** Names in lower case. Repeated headers are joined, as Node does. */
function toObject(headers: DeliveryRequest['headers']): Readonly<Record<string, string>> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      if (value === undefined) return []
      return [[name.toLowerCase(), typeof value === 'string' ? value : value.join(', ')]]
    }),
  )
}
