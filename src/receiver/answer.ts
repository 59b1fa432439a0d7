import { errorCatalogue, type ErrorCode } from '../base/errors.ts'
import type { ServerResponse } from 'node:http'

/** A response to the sender. The body is constant JSON: no stack, no echo of the request. */
export interface Answer {
  readonly status: number
  readonly body: string
  /** Result in one word: `accepted`, `duplicate`, `quarantined`, or an error code. */
  readonly result: string
  readonly headers: Readonly<Record<string, string>>
  /** True: the connection is closed after the response. */
  readonly close: boolean
  /** Why the request was not authentic. Logged, never sent to the client. */
  readonly reason?: string
}

const retryAfterSeconds = '5'

const messages = {
  bad_request: 'the request is not well formed',
  signature_invalid:
    'the signature header must be one HMAC-SHA256 hex digest of the exact body bytes, made with a configured secret',
  not_found: 'there is nothing at this path',
  method_not_allowed: methodMessage(['POST']),
  body_too_large: 'the body exceeds the size limit of this endpoint',
  content_encoding_unsupported: 'send the body as it was signed, without Content-Encoding',
  body_already_read:
    'a body parser read the body before its signature could be checked: mount the router of the inbox before the parser',
  internal: 'the request could not be processed',
  overloaded: 'the receiver is overloaded; deliver it again',
  not_committed_in_time: 'the event could not be stored in time; deliver it again',
  keys_unavailable: "the sender's public keys can't be fetched now; deliver it again",
  shutting_down: 'this instance is shutting down; deliver it again',
  store_full: 'the disk is full; deliver it again',
  store_unavailable: "the event can't be stored now; deliver it again",
} as const satisfies Partial<Record<ErrorCode, string>>

export type AnswerCode = keyof typeof messages

const noHeaders = {}

const closingCodes: ReadonlySet<AnswerCode> = new Set(['bad_request', 'body_too_large', 'content_encoding_unsupported'])

function errorAnswer(code: AnswerCode): Answer {
  const { status } = errorCatalogue[code]
  return {
    status,
    result: code,
    body: JSON.stringify({ error: { code, message: messages[code] } }),
    headers: {
      ...(status === 503 && { 'Retry-After': retryAfterSeconds }),
      ...(status === 405 && { Allow: 'POST' }),
    },
    close: closingCodes.has(code),
  }
}

const answers = Object.fromEntries(
  (Object.keys(messages) as AnswerCode[]).map((code) => [code, errorAnswer(code)]),
) as Readonly<Record<AnswerCode, Answer>>

function methodMessage(methods: readonly string[]): string {
  return methods.length === 1 ? `this path takes ${methods.join()} only` : `this path takes ${methods.join(', ')}`
}

/** The response to another method than these. */
export function methodAnswer(methods: readonly string[]): Answer {
  const error = { code: 'method_not_allowed', message: methodMessage(methods) }
  return { ...answers.method_not_allowed, body: JSON.stringify({ error }), headers: { Allow: methods.join(', ') } }
}

/** The response to a delivery of another source than the default one that is not authentic. */
export const notAuthentic: Answer = {
  ...answers.signature_invalid,
  body: JSON.stringify({
    error: { code: 'signature_invalid', message: 'the delivery must have a valid signature of the exact body bytes' },
  }),
}

/** The response to a request that tests the URL. It says nothing about the inbox. */
export const probeAnswer: Answer = { status: 200, result: 'probe', body: '', headers: noHeaders, close: false }

/** The response to an authentic test delivery, which is not stored. */
export function testAnswer(status: number): Answer {
  return { status, result: 'test', body: '{"status":"test"}', headers: noHeaders, close: false }
}

/** The response for an error code. */
export function answerFor(code: AnswerCode): Answer {
  return answers[code]
}

export function isAnswerCode(code: string): code is AnswerCode {
  return Object.hasOwn(messages, code)
}

export function acceptedAnswer(status: number, result: 'accepted' | 'duplicate' | 'quarantined', id: string): Answer {
  return { status, result, body: `{"status":"${result}","id":${JSON.stringify(id)}}`, headers: noHeaders, close: false }
}

/** The response of the health endpoints. */
export function healthAnswer(status: 'alive' | 'ready'): Answer {
  return { status: 200, result: status, body: JSON.stringify({ status }), headers: noHeaders, close: false }
}

/** Sends a response. `close`: close the connection after it. */
export function send(response: ServerResponse, answer: Answer, close: boolean): void {
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
 * Sends the response and ends the write side, but closes only after the client did, or after a timeout. Closing at
 * once, while body bytes still arrive, would reset the connection and could lose the response. Remaining bytes are
 * discarded, and not read above a limit.
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

  // The response is complete by its Content-Length. `response.end` would make Node close at once.
  response.write(body)
  request.socket.end()
  request.resume()
}
