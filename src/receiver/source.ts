import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { safeText } from '../base/log.ts'

/** What of a request says where it came from. */
export interface Sourced {
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/**
 * Names the source of requests: the peer, or, behind trusted proxies, the nearest address in X-Forwarded-For that is none of them.
 * `trustedProxies`: addresses or CIDR ranges.
 */
export function createSourceOf(trustedProxies: readonly string[]): (request: Sourced) => string {
  const isTrusted = createTrust(trustedProxies)
  return ({ socket, headers }) => {
    const peer = socket.remoteAddress ?? 'unknown'
    const forwarded = headers['x-forwarded-for']
    if (forwarded === undefined || !isTrusted(peer)) return peer
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',').map((hop) => hop.trim())
    return safeText(hops.findLast((hop) => !isTrusted(hop)) ?? peer, 64)
  }
}

function createTrust(proxies: readonly string[]): (address: string) => boolean {
  if (proxies.length === 0) return () => false
  const list = new BlockList()
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}
