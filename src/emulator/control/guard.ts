import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isLoopback, withoutBrackets } from '../../loopback.ts'
import { readBearer } from '../rest/bearer.ts'
import { ControlError } from './answers.ts'

/** Throws what a request is refused with that may not control the emulator. */
export type Guard = (request: IncomingMessage) => void

/**
 * Lets those pass that come from this machine, call it by a name of loopback (else a page of another origin could have had
 * its name resolved to this address), and know the token.
 */
export function createGuard(token: string): Guard {
  const expected = digest(token)
  return (request) => {
    if (!isLoopback(withoutMapping(request.socket.remoteAddress ?? ''))) {
      throw new ControlError(403, 'forbidden', 'control requests are taken from this machine only')
    }
    const [host, ...others] = request.headersDistinct['host'] ?? []
    if (host === undefined || others.length > 0 || !namesLoopback(host.toLowerCase())) {
      const message = 'the Host header does not name this machine: call it as localhost, 127.0.0.1 or [::1]'
      throw new ControlError(403, 'forbidden', message)
    }
    const presented = readBearer(request)
    // Digests have one length, whatever came: timingSafeEqual insists on it, and neither content nor length shows.
    if (presented.kind === 'key' && timingSafeEqual(digest(presented.key), expected)) return
    const message = 'expected the header "Authorization: Bearer <token>" with the control token'
    throw new ControlError(401, 'unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } })
  }
}

function namesLoopback(header: string): boolean {
  const [, host] = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/.exec(header) ?? []
  return host !== undefined && isLoopback(withoutBrackets(host))
}

/** An IPv4 address as a socket of IPv6 shows it: as itself. */
function withoutMapping(address: string): string {
  return address.replace(/^::ffff:/, '')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
