import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { planLimits, type Accounts, type Caller } from '../accounts/accounts.ts'
import type { AnswerPlan } from '../faults/faults.ts'
import { type HttpError, shownPath } from './error.ts'
import type { RestExchange } from './journal.ts'
import { parseQuery } from './input.ts'
import { quotaHeaders, RateLimits, retryAfterSeconds, type Quota } from '../../base/http/rate-limits.ts'
import type { RestSettings } from './input.ts'

/** Value of `X-RateLimit-Limit` on the unlimited plan, for load tests (A54). */
const unlimitedQuota = 1_000_000_000
const bucketCapacity = 10_000
const noticeMs = 180 * 24 * 3_600_000

interface ExchangesOptions {
  readonly accounts: Pick<Accounts, 'authenticate'>
  readonly settings: RestSettings
  /** World time, for the timestamps of responses. */
  readonly clock: Pick<Clock, 'now'>
  /** Real time: rate windows and latency. */
  readonly wall: Pick<Clock, 'now' | 'random'>
  /** Called once per answered request. */
  readonly onExchange?: ((exchange: RestExchange) => void) | undefined
}

/** One request and its response. Call `succeed` or `fail` exactly once. */
export type Exchange = ReturnType<ReturnType<typeof createExchanges>['begin']>

/** Responds in the envelope (R8–R14), with the headers of every response (R117–R119). */
export function createExchanges({ accounts, settings, clock, wall, onExchange }: ExchangesOptions) {
  const keys = new RateLimits(wall, bucketCapacity)
  const addresses = new RateLimits(wall, bucketCapacity)
  const versionHeaders = deprecationHeaders(settings)

  const hexPart = () =>
    Math.floor(wall.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  const newId = () => `req_${hexPart()}${hexPart()}`
  const timeAndLatency = (startedAt: number) => ({
    timestamp: new Date(clock.now()).toISOString(),
    latency_ms: Math.max(0, Math.round(wall.now() - startedAt)),
  })

  const takeQuota = (caller: Caller | null, remoteAddress = ''): Quota =>
    caller === null
      ? addresses.take(remoteAddress, planLimits.free)
      : keys.take(caller.keyId, planLimits[caller.plan] ?? unlimitedQuota)

  const headersOf = (requestId: string, quota: Quota, body: string) => ({
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...quotaHeaders(quota),
    'X-Request-Id': requestId,
    ...versionHeaders,
  })

  const failure = ({ code, message, details }: HttpError, requestId: string, startedAt: number) =>
    JSON.stringify({
      success: false,
      error: { code, message, details, request_id: requestId },
      meta: timeAndLatency(startedAt),
    })

  return {
    /** Authenticates and counts a request: by key, or by remote address without a valid key (R70, A55). */
    begin(request: IncomingMessage, response: ServerResponse) {
      const requestId = newId()
      const startedAt = wall.now()
      const presented = readBearer(request)
      const caller = presented.kind === 'key' ? accounts.authenticate(presented.key) : null
      const quota = takeQuota(caller, request.socket.remoteAddress)
      let plan: AnswerPlan | null = null

      const send = (fullStatus: number, fullBody: string, error: HttpError | null) => {
        const instead = plan?.instead?.kind ?? 'error'
        const [status, body] = instead === 'empty' ? [200, ''] : [fullStatus, fullBody]
        if (!response.headersSent && !response.destroyed) {
          const headers = { ...headersOf(requestId, quota, body), ...error?.headers }
          if (instead === 'error' || instead === 'empty') response.writeHead(status, headers).end(body)
          else sendBroken(instead, response, { status, headers, body })
        }
        onExchange?.({
          requestId,
          at: startedAt,
          method: request.method ?? '',
          path: shownPath(request.url ?? ''),
          status,
          error: error?.code ?? null,
          keyId: caller?.keyId ?? null,
          accountId: caller?.accountId ?? null,
          latencyMs: timeAndLatency(startedAt).latency_ms,
          ...(plan !== null && { faults: plan.faults }),
        })
      }

      return {
        presented,
        /** Null without a valid key. */
        caller,
        quota,
        /** Seconds until the quota is full (A56). */
        retryAfter: () => retryAfterSeconds(quota, wall.now()),
        /** Sets the faults of the response. */
        applyFaults(chosen: AnswerPlan): void {
          plan = chosen
        },
        /** `meta`: members in addition to `timestamp` and `latency_ms`. */
        succeed(status: number, data: unknown, meta: Readonly<Record<string, unknown>>, isPage: boolean): void {
          const { timestamp, latency_ms } = timeAndLatency(startedAt)
          const latency = isPage && !settings.latencyOnLists ? undefined : latency_ms
          const envelope = { success: true, data, meta: { timestamp, ...meta, latency_ms: latency } }
          const answer =
            plan === null ? envelope : plan.alter(envelope, parseQuery(request.url ?? '')['cursor'] ?? null)
          send(status, JSON.stringify(answer), null)
        },
        fail(error: HttpError): void {
          send(error.status, failure(error, requestId, startedAt), error)
        },
      }
    },
    /** The whole HTTP/1.1 response to a request that Node could not parse. */
    rejectUnread(statusLine: string, error: HttpError, remoteAddress: string | undefined): string {
      const requestId = newId()
      const body = failure(error, requestId, wall.now())
      const quota = takeQuota(null, remoteAddress)
      const headers = { ...headersOf(requestId, quota, body), ...error.headers, Connection: 'close' }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
      return [`HTTP/1.1 ${statusLine}`, ...lines, '', body].join('\r\n')
    },
  }
}

const bearer = /^Bearer +([\x21-\x7e]+)$/i

/**
 * Reads the API key from `Authorization: Bearer <API_KEY>` (R66). `malformed`: another scheme, no key, a key with
 * spaces, or the header twice.
 */
export function readBearer(request: IncomingMessage) {
  // Node keeps the first of several such headers; a proxy in front may read the last.
  const [authorization, ...others] = request.headersDistinct['authorization'] ?? []
  if (authorization === undefined) return { kind: 'none' } as const
  const [, key] = bearer.exec(authorization) ?? []
  if (key === undefined || others.length > 0) return { kind: 'malformed' } as const
  return { kind: 'key', key } as const
}

/** Headers that announce the end of v1, 180 days ahead (R126, A62). */
function deprecationHeaders({ v1DeprecatedOn }: RestSettings): Readonly<Record<string, string>> {
  if (v1DeprecatedOn === null) return {}
  const at = Date.parse(v1DeprecatedOn)
  return { Deprecation: `@${at / 1_000}`, Sunset: new Date(at + noticeMs).toUTCString() }
}

interface WholeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends a response that breaks: within the JSON, within the framing, or by a connection reset. */
function sendBroken(
  kind: 'malformed' | 'malformed-chunk' | 'reset',
  response: ServerResponse,
  { status, headers, body }: WholeAnswer,
): void {
  // A pipelined response that waits for an earlier one has no socket yet.
  const socket = response.socket ?? response.req.socket
  const half = body.slice(0, Math.floor(body.length / 2))
  switch (kind) {
    case 'malformed':
      response.writeHead(status, { ...headers, 'Content-Length': String(Buffer.byteLength(half)) }).end(half)
      return
    case 'malformed-chunk': {
      const { 'Content-Length': _, ...others } = headers
      response.writeHead(status, others)
      response.write(half)
      // Not a hexadecimal chunk length, so the parser fails here.
      socket.end('no length\r\n')
      return
    }
    case 'reset':
      // TLS sockets can't be reset.
      if ('encrypted' in socket) socket.destroy()
      else socket.resetAndDestroy()
  }
}
