import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { Clock } from '../clock.ts'
import { createLogLimit } from '../log-limit.ts'
import { safeText, type Logger } from '../log.ts'

export interface RejectLogOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Addresses or CIDR ranges whose X-Forwarded-For is believed, for naming the source and for nothing else. */
  readonly trustedProxies: readonly string[]
}

/** What a request of Node has, and any other can be made to have. */
export interface RefusedRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** Logs a refused request: its source and a reason code, never its body or signature. */
export type RejectLog = (request: RefusedRequest, reason: string) => void

export function createRejectLog(options: RejectLogOptions): RejectLog {
  const { log } = options
  const limit = createLogLimit(options.clock)
  const isTrusted = createTrust(options.trustedProxies)

  return (request, reason) => {
    const line = limit()
    if (line === null) return
    // Express keeps the whole path there, where it gives a part of it only to what is mounted at the rest.
    const { method, url = '', originalUrl = url } = request as RefusedRequest & { readonly originalUrl?: string }
    const path = safeText(originalUrl.split('?')[0] ?? '', 100)
    log.warn({ source: sourceOf(request, isTrusted), method, path, reason, ...line }, 'a request was refused')
  }
}

/** The peer, or, behind trusted proxies, the nearest address in X-Forwarded-For that is none of them. */
function sourceOf(request: RefusedRequest, isTrusted: (address: string) => boolean): string {
  const peer = request.socket.remoteAddress ?? 'unknown'
  const forwarded = request.headers['x-forwarded-for']
  if (!isTrusted(peer) || forwarded === undefined) return peer
  const hops = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',').map((hop) => hop.trim())
  return safeText(hops.findLast((hop) => !isTrusted(hop)) ?? peer, 64)
}

function createTrust(proxies: readonly string[]): (address: string) => boolean {
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
