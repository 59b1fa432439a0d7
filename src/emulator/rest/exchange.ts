import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { planLimits, type Accounts, type Caller } from '../accounts/port.ts'
import type { AnswerPlan } from '../faults/port.ts'
import { readBearer, type Presented } from './bearer.ts'
import type { HttpError } from './error.ts'
import { excerptOf, excerptOfText, splitTarget, type RestExchange } from './journal.ts'
import { parseQuery } from './input.ts'
import { quotaHeaders, RateLimits, retryAfterSeconds, type Quota } from './rate-limits.ts'
import type { RestSettings } from './input.ts'

/** What `X-RateLimit-Limit` says where there is no limit: on the plan for load tests (A54). */
const unlimitedQuota = 1_000_000_000
const bucketCapacity = 10_000
const noticeMs = 180 * 24 * 3_600_000

/** One request, from who asks to its answer. It is answered once, by `succeed` or by `fail`. */
export interface Exchange {
  readonly presented: Presented
  /** Null without a valid key. */
  readonly caller: Caller | null
  readonly quota: Quota
  /** Seconds until the quota is full (A56). */
  retryAfter(): number
  /** Keeps the body of the request for the journal. */
  noteBody(body: unknown): void
  /** From now on the answer suffers this. */
  applyFaults(plan: AnswerPlan): void
  /** `meta`: what it has beside `timestamp` and `latency_ms`. */
  succeed(status: number, data: unknown, meta: Readonly<Record<string, unknown>>, isPage: boolean): void
  fail(error: HttpError): void
}

interface ExchangesOptions {
  readonly accounts: Pick<Accounts, 'authenticate'>
  readonly settings: RestSettings
  /** World time: what answers are dated with. */
  readonly clock: Pick<Clock, 'now'>
  /** Real time: rate windows and latency. */
  readonly wall: Pick<Clock, 'now' | 'random'>
  /** Called once for each request that was answered. */
  readonly onExchange?: ((exchange: RestExchange) => void) | undefined
}

export interface Exchanges {
  /** Finds out who asks and counts the request: by key, or without a valid one by remote address (R70, A55). */
  begin(request: IncomingMessage, response: ServerResponse): Exchange
  /** The whole HTTP/1.1 answer to a request that Node could not read. */
  refuseUnread(statusLine: string, error: HttpError, remoteAddress: string | undefined): string
}

/** Answers in the envelope (R8–R14), with the headers that every response has (R117–R119). */
export function createExchanges({ accounts, settings, clock, wall, onExchange }: ExchangesOptions): Exchanges {
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
    begin(request, response) {
      const requestId = newId()
      const startedAt = wall.now()
      const presented = readBearer(request)
      const presentedKey = presented.kind === 'key' ? presented.key : null
      const caller = presentedKey === null ? null : accounts.authenticate(presentedKey)
      const quota = takeQuota(caller, request.socket.remoteAddress)
      let requestBody: string | null = null
      let plan: AnswerPlan | null = null

      const send = (givenStatus: number, givenBody: string, extra: Readonly<Record<string, string>>) => {
        const instead = plan?.instead?.kind ?? 'error'
        const [status, body] = instead === 'empty' ? [200, ''] : [givenStatus, givenBody]
        if (!response.headersSent && !response.destroyed) {
          const headers = { ...headersOf(requestId, quota, body), ...extra }
          if (instead === 'error' || instead === 'empty') response.writeHead(status, headers).end(body)
          else sendBroken(instead, response, { status, headers, body })
        }
        onExchange?.({
          requestId,
          at: startedAt,
          method: request.method ?? '',
          ...splitTarget(request.url ?? '', presentedKey),
          status,
          keyId: caller?.keyId ?? null,
          accountId: caller?.accountId ?? null,
          latencyMs: timeAndLatency(startedAt).latency_ms,
          requestBody,
          responseBody: excerptOfText(body, presentedKey),
          ...(plan !== null && { faults: plan.faults }),
        })
      }

      return {
        presented,
        caller,
        quota,
        retryAfter: () => retryAfterSeconds(quota, wall.now()),
        noteBody(body) {
          if (onExchange !== undefined) requestBody = excerptOf(body, presentedKey)
        },
        applyFaults(given) {
          plan = given
        },
        succeed(status, data, meta, isPage) {
          const { timestamp, latency_ms } = timeAndLatency(startedAt)
          const latency = isPage && !settings.latencyOnLists ? undefined : latency_ms
          const envelope = { success: true, data, meta: { timestamp, ...meta, latency_ms: latency } }
          const answer = plan === null ? envelope : plan.alter(envelope, { cursor: cursorOf(request) })
          send(status, JSON.stringify(answer), {})
        },
        fail(error) {
          send(error.status, failure(error, requestId, startedAt), error.headers)
        },
      }
    },
    refuseUnread(statusLine, error, remoteAddress) {
      const requestId = newId()
      const body = failure(error, requestId, wall.now())
      const quota = takeQuota(null, remoteAddress)
      const headers = { ...headersOf(requestId, quota, body), ...error.headers, Connection: 'close' }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
      return [`HTTP/1.1 ${statusLine}`, ...lines, '', body].join('\r\n')
    },
  }
}

/** The cursor of the page that was asked for. */
function cursorOf({ url = '' }: IncomingMessage): string | null {
  const query = parseQuery(url)
  return query.ok ? (query.values['cursor'] ?? null) : null
}

/** How the end of v1 is announced, 180 days ahead (R126, A62). */
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

/** Sends an answer that breaks off: in its JSON with its framing right, in its framing, or as a reset connection. */
function sendBroken(
  kind: 'malformed' | 'malformed-chunk' | 'reset',
  response: ServerResponse,
  { status, headers, body }: WholeAnswer,
): void {
  // A response that waits for another one on its connection has none yet.
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
      // Not a length in hexadecimal: nothing can be read beyond it.
      socket.end('no length\r\n')
      return
    }
    case 'reset':
      // Above TLS there is nothing to reset.
      if ('encrypted' in socket) socket.destroy()
      else socket.resetAndDestroy()
  }
}
