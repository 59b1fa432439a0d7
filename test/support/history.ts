import { createHash } from 'node:crypto'
import http from 'node:http'
import { sign } from '../../src/signature/sign.ts'
import { testSecret } from './app.ts'
import { eventBytes, type EventParts } from './signed.ts'

/** A signed delivery. */
export interface Delivery {
  readonly id: string
  /** The event's key; null: no order. */
  readonly key: string | null
  readonly raw: Buffer
  readonly signature: string
}

/** `forge`: with an invalid signature. It must be rejected. */
export type Operation = 'deliver' | 'forge'

/** One request and its result. After a timeout, a reset or a 5xx, the event may or may not be stored. */
export interface RecordedRequest {
  readonly op: Operation
  readonly delivery: Delivery
  readonly id: string
  readonly digest: string
  /** Milliseconds on the client's clock. */
  readonly startedAt: number
  readonly endedAt: number
  readonly answer: number | 'timeout' | 'reset' | 'refused'
}

/** A request is answered or closed within this time (P6). */
export const answerLimitMs = 5_000

export function toDelivery(raw: Buffer, given: { readonly id: string; readonly key?: string | null }): Delivery {
  return { id: given.id, key: given.key ?? null, raw, signature: sign(raw, testSecret) }
}

export function eventDelivery(parts: EventParts, key: string | null = null): Delivery {
  return toDelivery(eventBytes(parts), { id: parts.id, key })
}

export function digestOf(raw: Uint8Array): string {
  return createHash('sha256').update(raw).digest('hex')
}

export function isAcknowledged(request: Pick<RecordedRequest, 'answer'>): boolean {
  return typeof request.answer === 'number' && request.answer >= 200 && request.answer < 300
}

/** A client that records its requests. It keeps connections alive. */
export class RecordingClient implements Disposable {
  readonly requests: RecordedRequest[] = []
  readonly #url: () => string
  readonly #timeoutMs: number
  readonly #agent: http.Agent

  /** `url` is called before each request, because it changes with each start. */
  constructor(options: { readonly url: () => string; readonly connections?: number; readonly timeoutMs?: number }) {
    this.#url = options.url
    this.#timeoutMs = options.timeoutMs ?? answerLimitMs
    this.#agent = new http.Agent({ keepAlive: true, timeout: 5_000, maxSockets: options.connections ?? 64 })
  }

  deliver(delivery: Delivery): Promise<RecordedRequest> {
    return this.#send('deliver', delivery)
  }

  /** Sends the bytes with the signature of other bytes. */
  forge(delivery: Delivery): Promise<RecordedRequest> {
    return this.#send('forge', delivery)
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  async #send(op: Operation, delivery: Delivery): Promise<RecordedRequest> {
    const { id, raw, signature } = delivery
    const startedAt = performance.now()
    const answer = await this.#post(raw, signature)
    const request = { op, delivery, id, digest: digestOf(raw), startedAt, endedAt: performance.now(), answer }
    this.requests.push(request)
    return request
  }

  #post(raw: Buffer, signature: string): Promise<RecordedRequest['answer']> {
    const { promise, resolve } = Promise.withResolvers<RecordedRequest['answer']>()
    const headers = { 'X-Service-Signature': signature, 'Content-Length': raw.length }
    const request = http.request(this.#url(), { method: 'POST', agent: this.#agent, headers }, (response) => {
      // A response counts once it is complete.
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', () => resolve('reset'))
    })
    const timer = setTimeout(() => {
      resolve('timeout')
      request.destroy()
    }, this.#timeoutMs)
    request.on('error', (error) => resolve('code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'reset'))
    request.on('close', () => clearTimeout(timer))
    request.end(raw)
    return promise
  }
}
