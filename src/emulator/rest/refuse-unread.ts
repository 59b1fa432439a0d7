import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { RestError } from './error.ts'
import type { Exchanges } from './exchange.ts'
import { wrongMethod } from './refusals.ts'

/** Answers what is no HTTP in the envelope as well (R1, A3): for the event `clientError` of a server. */
export interface UnreadRefusal {
  /** Remembers what is being answered on a connection. */
  note(request: IncomingMessage, response: ServerResponse): void
  refuse(error: Error, socket: Duplex): void
}

/** Code of an error that stands for a request to be a proxy: Node gives it to nobody who answers requests. */
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
    'what came is not a well-formed HTTP/1.1 request: check its target, its headers and the framing of its body',
  ),
}

export function createUnreadRefusal({ refuseUnread }: Pick<Exchanges, 'refuseUnread'>): UnreadRefusal {
  const latest = new WeakMap<Duplex, ServerResponse>()

  return {
    note(request, response) {
      latest.set(request.socket, response)
    },
    refuse(error, socket) {
      const response = latest.get(socket)
      // Into the middle of an answer nothing can be written.
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
