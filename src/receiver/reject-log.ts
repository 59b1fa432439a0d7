import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../clock.ts'
import { createLogLimit } from '../log-limit.ts'
import { safeText, type Logger } from '../log.ts'
import type { Rejects } from './rejects.ts'
import { createSourceOf } from './source.ts'

export interface RejectLogOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Addresses or CIDR ranges whose X-Forwarded-For is believed, for naming the source and for nothing else. */
  readonly trustedProxies: readonly string[]
  /** Keeps what is refused, for people who look into it. */
  readonly rejects?: Pick<Rejects, 'add'>
}

/** What a request of Node has, and any other can be made to have. */
export interface RefusedRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** Logs a refused request: its source and a reason code, never its body or signature. `raw`: its body, where it was read. */
export type RejectLog = (request: RefusedRequest, reason: string, raw?: Uint8Array) => void

export function createRejectLog(options: RejectLogOptions): RejectLog {
  const { log, rejects } = options
  const limit = createLogLimit(options.clock)
  const sourceOf = createSourceOf(options.trustedProxies)

  return (request, reason, raw) => {
    rejects?.add(request, reason, raw)
    const line = limit()
    if (line === null) return
    // Express keeps the whole path there, where it gives a part of it only to what is mounted at the rest.
    const { method, url = '', originalUrl = url } = request as RefusedRequest & { readonly originalUrl?: string }
    const path = safeText(originalUrl.split('?')[0] ?? '', 100)
    log.warn({ source: sourceOf(request), method, path, reason, ...line }, 'a request was refused')
  }
}
