import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { createLogLimit } from '../base/log-limit.ts'
import type { Logger } from '../base/log.ts'
import type { Rejects } from './rejects.ts'
import { createSourceOf } from './source.ts'

export interface RejectLogOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Addresses or CIDR ranges whose X-Forwarded-For is believed, for naming the source and for nothing else. */
  readonly trustedProxies: readonly string[]
  /** Of the webhook; absent: not known, and then no path is logged. */
  readonly path?: string
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
    const { method } = request
    const path = options.path === undefined ? {} : { path: describePath(request, options.path) }
    log.warn({ source: sourceOf(request), method, ...path, reason, ...line }, 'a request was refused')
  }
}

/** The path of a request if it is that of the webhook. Any other may hold a secret, so its length is all that is shown. */
export function describePath({ url = '' }: RefusedRequest, path: string): string {
  const [sent = ''] = url.split('?', 1)
  return sent === path ? path : `other (${sent.length} characters)`
}
