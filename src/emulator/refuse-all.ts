import type { RequestListener } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { planLimits } from './accounts/port.ts'
import { quotaHeaders, RateLimits } from './rest/rate-limits.ts'

const mostAddresses = 10_000

interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers each request by plain HTTP with 400 in the envelope, and no data (R5, R108). */
export function createPlainRefusal(wall: Clock, clock: Pick<Clock, 'now'>): RequestListener {
  const message = 'plain HTTP is not supported: send the request by https, to the same host and port'
  return createRefusal(wall, clock, { status: 400, code: 'invalid_request', message })
}

/** Answers each request with 503 in the envelope, while the world is not there yet. */
export function createEarlyRefusal(wall: Clock, clock: Pick<Clock, 'now'>): RequestListener {
  const message = 'the emulator is still making its world: try again in a second'
  return createRefusal(wall, clock, { status: 503, code: 'not_ready', message, headers: { 'Retry-After': '1' } })
}

function createRefusal(wall: Clock, clock: Pick<Clock, 'now'>, refusal: Refusal): RequestListener {
  const { status, code, message, headers = {} } = refusal
  const limits = new RateLimits(wall, mostAddresses)
  return (request, response) => {
    const requestId = `req_${Math.floor(wall.random() * 2 ** 48)
      .toString(16)
      .padStart(12, '0')}`
    const body = JSON.stringify({
      success: false,
      error: { code, message, request_id: requestId },
      meta: { timestamp: new Date(clock.now()).toISOString(), latency_ms: 0 },
    })
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...quotaHeaders(limits.take(request.socket.remoteAddress ?? '', planLimits.free)),
      'X-Request-Id': requestId,
      Connection: 'close',
      ...headers,
    })
    response.end(body)
  }
}
