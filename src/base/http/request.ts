import type { IncomingMessage, ServerResponse } from 'node:http'
import getRawBody from 'raw-body'
import { isLoopback, withoutBrackets } from '../loopback.ts'
import { sendContinue } from './bare-express.ts'

/** Reads a body; null if it is larger than `limitBytes`. Rejects if it is not as long as announced. */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limitBytes: number,
): Promise<Buffer | null> {
  const length = request.headers['content-length']
  try {
    if (length === undefined || Number(length) <= limitBytes) sendContinue(request, response)
    return await getRawBody(request, { limit: limitBytes, ...(length !== undefined && { length }) })
  } catch (error) {
    if (error instanceof Error && 'type' in error && error.type === 'entity.too.large') return null
    throw error
  }
}

/** Client address, without the prefix that IPv6 sockets add to IPv4 addresses. */
export function addressOf({ socket }: IncomingMessage): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
}

/** Host header in lower case; null if missing or repeated. */
export function hostOf({ headersDistinct }: IncomingMessage): string | null {
  const [host, ...others] = headersDistinct['host'] ?? []
  return host === undefined || others.length > 0 ? null : host.toLowerCase()
}

/** Name in the Host header, without port and brackets; null if missing, repeated or malformed. */
export function hostNameOf(request: IncomingMessage): string | null {
  const [, host] = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/.exec(hostOf(request) ?? '') ?? []
  return host === undefined ? null : withoutBrackets(host)
}

/** True if the Host header names loopback. Otherwise DNS rebinding could reach this server from another origin. */
export function namesLoopback(request: IncomingMessage): boolean {
  return isLoopback(hostNameOf(request) ?? '')
}

/** True if a page of this server sent the request, or no browser did, by `Sec-Fetch-Site` and `Origin`. */
export function isSameOrigin(request: IncomingMessage): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers
  const host = hostOf(request)
  const isSameSite = site === undefined || site === 'same-origin' || site === 'none'
  return host !== null && isSameSite && (origin === undefined || URL.parse(origin)?.host === host)
}
