import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'

/** How long the receiver has to answer (R80, R115). */
const acknowledgementTimeoutMs = 5000

/** What became of one POST. `status` is null when none came in time. */
export interface PostResult {
  readonly isAcknowledged: boolean
  readonly status: number | null
  /** Why it failed, for people; null when acknowledged. */
  readonly failure: string | null
  readonly latencyMs: number
}

export interface Poster {
  /** Sends one body. Never rejects: whatever goes wrong is a result. */
  post(url: URL, body: Buffer, headers: Readonly<Record<string, string>>): Promise<PostResult>
  /** Cuts every connection; posts under way end as failed. */
  close(): void
}

/**
 * Posts over kept-alive connections. Acknowledged = a 2xx status within 5.000 s of the start of the attempt, name
 * look-up and TLS included, measured on `wall`. The body of the answer is not awaited, a redirect is not followed (A43).
 */
export function createPoster(wall: Clock): Poster {
  const http = new HttpAgent({ keepAlive: true })
  const https = new HttpsAgent({ keepAlive: true })

  return {
    post(url, body, headers) {
      return new Promise((resolve) => {
        const startedAt = wall.now()
        const finish = (status: number | null, failure: string | null) => {
          const latencyMs = wall.now() - startedAt
          // The clock decides, not the timer: a busy event loop may see the answer before a timer long due.
          const late = latencyMs > acknowledgementTimeoutMs ? `answered after ${latencyMs} ms` : null
          resolve({ isAcknowledged: (failure ?? late) === null, status, failure: failure ?? late, latencyMs })
        }
        const options = { method: 'POST', headers: { ...headers, 'Content-Length': body.length } }
        const request =
          url.protocol === 'https:'
            ? httpsRequest(url, { ...options, agent: https })
            : httpRequest(url, { ...options, agent: http })
        const deadline = wall.after(acknowledgementTimeoutMs, () => {
          finish(null, `no answer within ${acknowledgementTimeoutMs} ms`)
          request.destroy()
        })
        request.on('response', (response) => {
          const status = response.statusCode ?? 0
          finish(status, status >= 200 && status <= 299 ? null : `answered ${status}`)
          // An answer whose body breaks off or never ends changes nothing; it only costs its connection.
          response.on('error', () => request.destroy())
          response.resume()
        })
        request.on('error', (error) => finish(null, messageOf(error)))
        request.on('close', () => {
          deadline.cancel()
          finish(null, 'connection closed without an answer')
        })
        request.end(body)
      })
    },
    close() {
      http.destroy()
      https.destroy()
    },
  }
}
