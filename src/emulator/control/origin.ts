import type { IncomingMessage } from 'node:http'
import { isLoopback, withoutBrackets } from '../../base/loopback.ts'

/** Whether a request comes from this machine. */
export function isFromThisMachine({ socket }: IncomingMessage): boolean {
  // An IPv4 address as a socket of IPv6 shows it: as itself.
  return isLoopback((socket.remoteAddress ?? '').replace(/^::ffff:/, ''))
}

/**
 * Whether the Host header names loopback, with or without a port. Else a page of another origin could have had its name
 * resolved to this address.
 */
export function namesThisMachine(request: IncomingMessage): boolean {
  const [, host] = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/.exec(hostOf(request) ?? '') ?? []
  return host !== undefined && isLoopback(withoutBrackets(host))
}

/** Whether a browser sent the request for a page of this very server, or no browser did: `Sec-Fetch-Site` and `Origin` tell. */
export function isSameOrigin(request: IncomingMessage): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers
  const host = hostOf(request)
  const isSameSite = site === undefined || site === 'same-origin' || site === 'none'
  const ofHost = origin === undefined || [`http://${host}`, `https://${host}`].includes(origin.toLowerCase())
  return host !== null && isSameSite && ofHost
}

/** In lower case; null if there is none, or more than one. */
function hostOf(request: IncomingMessage): string | null {
  const [host, ...others] = request.headersDistinct['host'] ?? []
  return host === undefined || others.length > 0 ? null : host.toLowerCase()
}
