import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { LimitReached, type Caller } from '../accounts/port.ts'
import { RestError } from './error.ts'
import type { Exchange, Exchanges } from './exchange.ts'
import { WorldRefusal } from '../world/port.ts'

/** Path prefix of the service (R124). */
export const versionPrefix = '/v1'

/** Returns the caller. Throws `invalid_api_key` without a valid key (R66, A28). */
export function callerOf({ caller, presented }: Exchange): Caller {
  if (caller !== null) return caller
  const expected = 'expected the header "Authorization: Bearer <API_KEY>"'
  const messages = {
    none: `${expected}; it is missing`,
    malformed: `${expected} once, with one key; the header is malformed`,
    key: 'the API key is unknown or revoked; use an active key of your account',
  }
  const challenge = presented.kind === 'none' ? 'Bearer' : 'Bearer error="invalid_token"'
  throw new RestError('invalid_api_key', messages[presented.kind], { headers: { 'WWW-Authenticate': challenge } })
}

export function missingScope(scope: string): RestError {
  return new RestError('insufficient_scope', `the API key lacks the scope ${scope}; use a key that has it`)
}

/** `invalid_request`: HTTP/1.1 requires the header. */
export function withoutHost(): RestError {
  return new RestError('invalid_request', 'expected the header Host; it is missing')
}

/** `method_not_allowed`; `allowed` goes into the header `Allow`. */
export function wrongMethod(allowed: string): RestError {
  return new RestError('method_not_allowed', `this path takes ${allowed} only`, { headers: { Allow: allowed } })
}

export function notDocumented(group: string): RestError {
  return new RestError('not_documented', `operations under ${versionPrefix}/${group} are undocumented and not emulated`)
}

/** `not_found` for an unknown path. */
export function nothingHere(target: string): RestError {
  const isVersioned = target === versionPrefix || target.startsWith(`${versionPrefix}/`)
  const hint = isVersioned ? 'check the spelling' : `every path begins with ${versionPrefix}/`
  return new RestError('not_found', `there is nothing at this path; ${hint}`)
}

/** `rate_limited`, with `Retry-After` (R107, A56). */
export function overLimit(exchange: Exchange): RestError {
  const seconds = exchange.retryAfter()
  return new RestError(
    'rate_limited',
    `more than ${exchange.quota.limit} requests within a minute; retry in ${seconds} s (see Retry-After)`,
    { headers: { 'Retry-After': String(seconds) } },
  )
}

/** Maps a thrown value to an error response. Unexpected errors reveal nothing. */
export function toRestError(thrown: unknown): RestError {
  if (thrown instanceof RestError) return thrown
  if (thrown instanceof LimitReached) return new RestError('limit_reached', thrown.message)
  if (thrown instanceof WorldRefusal) return new RestError('invalid_request', thrown.message)
  // Express throws this for broken percent-encoding.
  if (thrown instanceof URIError) {
    return new RestError('invalid_request', 'the path is not well-formed percent-encoding of UTF-8')
  }
  return new RestError('internal', 'internal error; see the log of the service', {
    cause: thrown,
  })
}

/** Code of the error for CONNECT requests, which Node doesn't pass to request handlers. */
export const connectCode = 'CONNECT'

const refusals: ReadonlyMap<string, { readonly statusLine: string; readonly error: RestError }> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    {
      statusLine: '431 Request Header Fields Too Large',
      error: new RestError('invalid_request', 'the headers are too large'),
    },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    {
      statusLine: '408 Request Timeout',
      error: new RestError('invalid_request', 'the request did not arrive in time; send it again'),
    },
  ],
  [connectCode, { statusLine: '405 Method Not Allowed', error: wrongMethod('GET, POST, PATCH, DELETE') }],
])
const malformed = {
  statusLine: '400 Bad Request',
  error: new RestError(
    'invalid_request',
    'malformed HTTP/1.1 request: check its target, its headers and the framing of its body',
  ),
}

/** Answers bytes that are not HTTP, in the envelope too (R1, A3): for the server event `clientError`. */
export function createUnreadRefusal({ refuseUnread }: Pick<Exchanges, 'refuseUnread'>) {
  const latest = new WeakMap<Duplex, ServerResponse>()

  return {
    /** Records the response in progress on a connection. */
    note(request: IncomingMessage, response: ServerResponse): void {
      latest.set(request.socket, response)
    },
    refuse(error: Error, socket: Duplex): void {
      const response = latest.get(socket)
      // An error can't be written into the middle of a response.
      const isFree = response === undefined || !response.headersSent || response.writableFinished
      if (!socket.writable || !isFree || codeOf(error) === 'ECONNRESET') {
        socket.destroy()
        return
      }
      const refusal = refusals.get(codeOf(error)) ?? malformed
      const remoteAddress = 'remoteAddress' in socket ? String(socket.remoteAddress) : undefined
      socket.end(refuseUnread(refusal.statusLine, refusal.error, remoteAddress))
    },
  }
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}
