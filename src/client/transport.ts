import type { Clock } from '../clock.ts'
import { InboxError, messageOf } from '../errors.ts'
import { safeText, type Logger } from '../log.ts'
import { version } from '../version.ts'
import { toAnswer, type Received } from './answer.ts'
import { ApiError, ApiNetworkError, ApiTimeoutError } from './errors.ts'
import { parseTimeout } from './options.ts'
import { longestPauseMs, Pacer, type Turn } from './pacer.ts'
import { readText } from './read-text.ts'
import type { ApiRequest } from './request.ts'
import { isInDoubt, mayRepeat, repeatDelayMs } from './repeat.ts'
import type { ApiAnswer, CallOptions } from './types.ts'
import { linkSignals, orAborted, pause } from './wait.ts'

export interface TransportOptions {
  /** With the prefix of the version and without a slash at its end. */
  readonly baseUrl: string
  readonly apiKey: () => string | Promise<string>
  readonly timeoutMs: number
  readonly retries: number
  readonly fetch: typeof fetch
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal | undefined
  readonly log: Logger
}

/** What is known of a call while it goes on. */
interface Call {
  readonly request: ApiRequest
  readonly label: string
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Of `timeoutMs`. */
  leftMs: number
  /** Whether an earlier try may have been carried out, though no answer came. */
  mayBeDone: boolean
}

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

  /** `ofRun`: a further signal that ends the call. See `ApiClient` for what it rejects with. */
  async call(request: ApiRequest, options: CallOptions = {}, ofRun?: AbortSignal): Promise<ApiAnswer<unknown>> {
    const timeoutMs = parseTimeout(options.timeoutMs) ?? this.#options.timeoutMs
    using link = linkSignals([this.#options.signal, ofRun, options.signal])
    const { method, path } = request
    const label = safeText(`${method.toUpperCase()} ${path}`, 200)
    const call: Call = { request, label, signal: link.signal, timeoutMs, leftMs: timeoutMs, mayBeDone: false }
    for (let attempt = 1; ; attempt++) {
      const turn = await this.#turn(call)
      try {
        return await this.#timed(call, link.abort, () => this.#send(call, turn))
      } catch (error) {
        if (!(error instanceof ApiError) || link.signal.aborted) throw error
        const delayMs = this.#delayAfter(error, call, attempt)
        if (delayMs === null) throw explain(error, call)
        call.mayBeDone ||= isInDoubt(error)
        this.#options.log.warn({ call: label, error: error.code, attempt, delayMs }, 'api call is tried again')
        if (delayMs > 0) await this.#timed(call, link.abort, () => pause(this.clock, delayMs, link.signal))
      }
    }
  }

  /** Waiting for one's turn takes nothing of the time of the call, but it has an end, too. */
  async #turn({ label, signal }: Call): Promise<Turn> {
    const waitMs = this.#pacer.waitMs()
    if (waitMs > 1_000) this.#options.log.info({ call: label, waitMs }, 'api call waits for the rate limit')
    using link = linkSignals([signal])
    const late = this.clock.after(longestPauseMs, () => {
      const message = `${label} was not sent: for ${longestPauseMs / 1_000} s the rate limit left no room for it; ask less at once`
      const retryAfterMs = this.#pacer.waitMs()
      link.abort(new ApiError(message, { code: 'rate_limited', retryAfterMs, isRetryable: true }))
    })
    try {
      return await this.#pacer.turn(link.signal)
    } finally {
      late.cancel()
    }
  }

  /** Counts what `work` takes as time of the call, and ends the call when that is used up. */
  async #timed<T>(call: Call, abort: (reason: unknown) => void, work: () => Promise<T>): Promise<T> {
    const startedAt = this.clock.now()
    const late = this.clock.after(call.leftMs, () => {
      const message = `${call.label} took longer than ${call.timeoutMs} ms: give it more time by timeoutMs, or try again later`
      abort(explain(new ApiTimeoutError(message, { code: 'timed_out', isRetryable: true }), call))
    })
    try {
      return await work()
    } finally {
      late.cancel()
      call.leftMs = Math.max(1, call.leftMs - Math.max(0, this.clock.now() - startedAt))
    }
  }

  /** One try. */
  async #send(call: Call, turn: Turn): Promise<ApiAnswer<unknown>> {
    let headers: Headers | null = null
    try {
      const key = await orAborted(this.#key(), call.signal)
      const received = await this.#exchange(call, key)
      headers = received.headers
      return toAnswer(received, call.request.data, { now: this.clock.now(), key })
    } catch (error) {
      const isPause = error instanceof ApiError && error.status === 429
      if (isPause) this.#pacer.pause(error.retryAfterMs ?? 1_000)
      throw error
    } finally {
      turn.end(headers)
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
        // It would take the key with it.
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
    // Anything else cannot be a header, and what is said about that elsewhere might show it.
    if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key
    throw new InboxError(
      'config_invalid',
      'the API key cannot be used: expected visible ASCII characters without spaces',
    )
  }

  /** Null: it is not tried again. */
  #delayAfter(error: ApiError, call: Call, attempt: number): number | null {
    if (attempt > this.#options.retries || !mayRepeat(error, call.request.method)) return null
    const askedMs = error.retryAfterMs ?? 0
    // The pacer waits for it, with all other calls.
    if (error.status === 429) return askedMs > longestPauseMs ? null : 0
    const delayMs = Math.max(repeatDelayMs(attempt, this.#options.random()), askedMs)
    return delayMs < call.leftMs ? delayMs : null
  }
}

const untrusted: readonly unknown[] = [
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]

function noAnswer(error: unknown, label: string, baseUrl: string): ApiNetworkError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const isUntrusted = untrusted.includes((cause as { readonly code?: unknown } | undefined)?.code)
  const advice = isUntrusted ? ': name the file of its certificate in NODE_EXTRA_CA_CERTS, if it is the right one' : ''
  return new ApiNetworkError(`${label}: no answer from ${new URL(baseUrl).origin} (${messageOf(cause)})${advice}`, {
    code: isUntrusted ? 'certificate_untrusted' : 'network_failed',
    isRetryable: !isUntrusted,
    cause: error,
  })
}

/** Says what the caller has to know of it, and cannot see. */
function explain(error: ApiError, { request: { method }, mayBeDone }: Call): ApiError {
  if (method === 'delete' && error.status === 404 && mayBeDone) {
    return withAdvice(error, 'an earlier try, whose answer was lost, may have deleted it')
  }
  return method !== 'get' && isInDoubt(error) ? withAdvice(error, 'whether it was done is not known') : error
}

function withAdvice(error: ApiError, advice: string): ApiError {
  const Class = error.constructor as typeof ApiError
  const { code, status, requestId, body, retryAfterMs, isRetryable, cause } = error
  const options = { code, status, requestId, body, retryAfterMs, isRetryable, cause }
  return new Class(`${error.message}; ${advice}`, options)
}
