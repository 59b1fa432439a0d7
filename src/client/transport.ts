import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { safeText, type Logger } from '../base/log.ts'
import { version } from '../base/version.ts'
import { toAnswer, type Received } from './answer.ts'
import type { ApiAnswer, CallOptions } from './api.ts'
import { ApiError, ApiNetworkError, ApiProtocolError, ApiTimeoutError, isInDoubt, wasNeverSent } from './errors.ts'
import { parseTimeout, type TransportOptions } from './options.ts'
import { maxPauseMs, Pacer } from './pacer.ts'
import type { ApiRequest } from './request.ts'

interface Call {
  readonly request: ApiRequest
  readonly label: string
  /** Aborted by a caller or by `abort`. */
  readonly signal: AbortSignal
  readonly abort: (reason: ApiError) => void
  readonly timeoutMs: number
  /** Rest of `timeoutMs`. */
  leftMs: number
  /** True if an earlier attempt may have been carried out, though no answer came. */
  mayBeDone: boolean
}

const [baseDelayMs, maxDelayMs] = [500, 10_000]
/** Far more than the largest page. */
const maxAnswerBytes = 10 * 1024 * 1024

/** Sends requests: paced, repeated where that is safe, within their time. One for all calls with the same key. */
export class Transport {
  readonly #options: TransportOptions
  readonly #pacer: Pacer

  constructor(options: TransportOptions) {
    this.#options = options
    this.#pacer = new Pacer(options.clock)
  }

  get clock(): Clock {
    return this.#options.clock
  }

  get log(): Logger {
    return this.#options.log
  }

  /** `ofRun`: another signal that aborts the call. Rejects as described at `ApiClient`. */
  async call(request: ApiRequest, options: CallOptions = {}, ofRun?: AbortSignal): Promise<ApiAnswer<unknown>> {
    const timeoutMs = parseTimeout(options.timeoutMs) ?? this.#options.timeoutMs
    const ending = new AbortController()
    const signal = anyOf(ending.signal, this.#options.signal, ofRun, options.signal)
    const label = safeText(`${request.method.toUpperCase()} ${request.path}`, 200)
    const abort = (reason: ApiError) => ending.abort(reason)
    const call: Call = { request, label, signal, abort, timeoutMs, leftMs: timeoutMs, mayBeDone: false }
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#inTurn(call)
      } catch (error) {
        if (!(error instanceof ApiError) || signal.aborted) throw error
        const delayMs = this.#delayAfter(error, call, attempt)
        if (delayMs === null) throw explain(error, call)
        call.mayBeDone ||= isInDoubt(error)
        this.log.warn({ call: label, error: error.code, attempt, delayMs }, 'api call retried')
        if (delayMs > 0) await this.#timed(call, () => pause(this.clock, delayMs, signal))
      }
    }
  }

  /** The wait for the rate limit doesn't count as time of the call, and has another limit. */
  async #inTurn(call: Call): Promise<ApiAnswer<unknown>> {
    const { label, signal } = call
    const waitMs = this.#pacer.waitMs()
    if (waitMs > 1_000) this.log.info({ call: label, waitMs }, 'api call delayed')
    const late = this.clock.after(maxPauseMs, () => {
      const message = `${label} was not sent: the rate limit allowed no request for ${maxPauseMs / 1_000} s; make fewer calls at once`
      const retryAfterMs = this.#pacer.waitMs()
      call.abort(new ApiError(message, { code: 'rate_limited', retryAfterMs, isRetryable: true }))
    })
    try {
      return await this.#pacer.run(() => {
        late.cancel()
        return this.#timed(call, () => this.#send(call))
      }, signal)
    } finally {
      late.cancel()
    }
  }

  /** Counts the time of `work` as time of the call, and aborts the call at its time limit. */
  async #timed<T>(call: Call, work: () => Promise<T>): Promise<T> {
    const startedAt = this.clock.now()
    const late = this.clock.after(call.leftMs, () => {
      const message = `${call.label} took longer than ${call.timeoutMs} ms: raise timeoutMs, or try again later`
      call.abort(explain(new ApiTimeoutError(message, { code: 'timed_out', isRetryable: true }), call))
    })
    try {
      return await work()
    } finally {
      late.cancel()
      call.leftMs = Math.max(1, call.leftMs - Math.max(0, this.clock.now() - startedAt))
    }
  }

  async #send(call: Call): Promise<ApiAnswer<unknown>> {
    const key = await orAborted(this.#key(), call.signal)
    const received = await this.#exchange(call, key)
    try {
      return toAnswer(received, call.request.data, { now: this.clock.now(), key })
    } catch (error) {
      if (error instanceof ApiError && error.status === 429) this.#pacer.pause(error.retryAfterMs ?? 1_000)
      throw error
    } finally {
      this.#pacer.hear(received.headers)
    }
  }

  async #exchange({ request, label, signal }: Call, key: string): Promise<Received> {
    const { method, path, query, body } = request
    try {
      const response = await this.#options.fetch(this.#options.baseUrl + path + query, {
        method: method.toUpperCase(),
        headers: {
          Authorization: `Bearer ${key}`,
          Accept: 'application/json',
          'User-Agent': `onchain-inbox/${version}`,
          ...(body !== null && { 'Content-Type': 'application/json' }),
        },
        body,
        // A redirect would take the key along.
        redirect: 'manual',
        signal,
      })
      const text = await readText(response, label)
      return { label, status: response.status, headers: response.headers, text }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw error instanceof ApiError ? error : noAnswer(error, label, this.#options.baseUrl)
    }
  }

  async #key(): Promise<string> {
    const key: unknown = await this.#options.apiKey()
    // `fetch` rejects other headers, and its error might contain the key.
    if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key
    throw new InboxError('config_invalid', 'the API key is invalid: expected visible ASCII characters without spaces')
  }

  /** Delay before the next attempt; null: no retry. The delay doubles from 500 ms to 10 s, minus up to half at random. */
  #delayAfter(error: ApiError, call: Call, attempt: number): number | null {
    if (attempt > this.#options.retries || !mayRepeat(error, call.request.method)) return null
    const askedMs = error.retryAfterMs ?? 0
    // The pacer waits, for all calls.
    if (error.status === 429) return askedMs > maxPauseMs ? null : 0
    const fullMs = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1))
    const delayMs = Math.max(Math.round(fullMs * (1 - this.#options.random() / 2)), askedMs)
    return delayMs < call.leftMs ? delayMs : null
  }
}

/** @throws ApiProtocolError `answer_too_large`, with the rest unread */
async function readText(response: Response, label: string): Promise<string> {
  const decoder = new TextDecoder()
  let [text, received] = ['', 0]
  for await (const part of response.body ?? []) {
    received += part.byteLength
    if (received > maxAnswerBytes) {
      const message = `${label}: the answer is larger than ${maxAnswerBytes} bytes`
      throw new ApiProtocolError(message, {
        code: 'answer_too_large',
        status: response.status,
        isRetryable: false,
      })
    }
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}

/**
 * Reads and deletes are idempotent. POST and PATCH are repeated only if the first one was not carried out for certain:
 * rejected by the rate limit (R107), or not connected. The service has no idempotency keys (A27).
 */
function mayRepeat(error: ApiError, method: ApiRequest['method']): boolean {
  if (!error.isRetryable) return false
  return method === 'get' || method === 'delete' || error.status === 429 || wasNeverSent(error)
}

const untrusted: readonly unknown[] = [
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]

function noAnswer(cause: unknown, label: string, baseUrl: string): ApiNetworkError {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const isUntrusted = untrusted.includes((reason as { readonly code?: unknown } | undefined)?.code)
  const advice = isUntrusted ? ': if you trust its certificate, set its file in NODE_EXTRA_CA_CERTS' : ''
  return new ApiNetworkError(`${label}: no answer from ${new URL(baseUrl).origin} (${messageOf(reason)})${advice}`, {
    code: isUntrusted ? 'certificate_untrusted' : 'network_failed',
    isRetryable: !isUntrusted,
    cause,
  })
}

/** Adds to the message if the request may have been carried out. */
function explain(error: ApiError, { request: { method }, mayBeDone }: Call): ApiError {
  if (method === 'delete' && error.status === 404 && mayBeDone)
    error.message += '; an earlier attempt, whose answer was lost, may have deleted it'
  else if (method !== 'get' && isInDoubt(error)) error.message += '; the request may have been carried out'
  return error
}

/** A signal that is aborted when one of `signals` is, with its reason. */
export function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined))
}

/** Resolves with `promise`, unless the signal is aborted before: then it rejects with its reason. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const listener = () => aborted.reject(signal.reason)
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener)
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', listener)
  }
}

/** Resolves `ms` milliseconds later, or rejects with the reason of the signal. */
async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = clock.after(ms, over.resolve)
  try {
    await orAborted(over.promise, signal)
  } finally {
    timer.cancel()
  }
}
