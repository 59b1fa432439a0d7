import { InboxError, messageOf } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { version } from '../base/version.ts'
import type { ApiResponse, CallOptions } from './api.ts'
import { ApiError, isInDoubt, wasNeverSent } from './errors.ts'
import { isTimeout, timeoutRule, type TransportOptions } from './options.ts'
import { maxPauseMs, Pacer } from './pacer.ts'
import type { ApiRequest } from './request.ts'
import { toResponse, type Received } from './response.ts'

const [baseDelayMs, maxDelayMs] = [500, 10_000]
/** Far more than the largest page. */
const maxResponseBytes = 10 * 1024 * 1024

/** Sends requests: paced, repeated where that is safe, within their time. Use one transport for all calls with the same key. */
export function createTransport(options: TransportOptions) {
  const { clock, log, retries } = options
  const pacer = new Pacer(clock)

  /** Sends a request. `signalOfRun` also aborts the call. Rejects as described at `ApiClient`. */
  async function call(
    request: ApiRequest,
    { timeoutMs = options.timeoutMs, signal: signalOfCall }: CallOptions = {},
    signalOfRun?: AbortSignal,
  ): Promise<ApiResponse<unknown>> {
    if (!isTimeout(timeoutMs))
      throw new InboxError('usage', `timeoutMs: expected ${timeoutRule}, received ${timeoutMs}`)
    const label = safeText(`${request.method.toUpperCase()} ${request.path}`, 200)
    const ending = new AbortController()
    const signals = [ending.signal, options.signal, signalOfCall, signalOfRun]
    const signal = AbortSignal.any(signals.filter((item) => item !== undefined))
    /** Rest of `timeoutMs`. */
    let remainingMs = timeoutMs
    /** True if an earlier attempt may have been carried out, though no response came. */
    let mayBeDone = false

    /** Counts the time of `work` as time of the call, and aborts the call at its time limit. */
    async function timed<T>(work: () => Promise<T>): Promise<T> {
      const startedAt = clock.now()
      const late = clock.after(remainingMs, () => {
        const message = `${label} took longer than ${timeoutMs} ms: raise timeoutMs, or try again later`
        ending.abort(explain(new ApiError(message, { code: 'timed_out', isRetryable: true })))
      })
      try {
        return await work()
      } finally {
        late.cancel()
        remainingMs = Math.max(1, remainingMs - Math.max(0, clock.now() - startedAt))
      }
    }

    /** The wait for the rate limit doesn't count as time of the call, and has another limit. */
    async function attempt(): Promise<ApiResponse<unknown>> {
      const late = clock.after(maxPauseMs, () => {
        const message = `${label} was not sent: the rate limit allowed no request for ${maxPauseMs / 1_000} s; make fewer calls at once`
        ending.abort(new ApiError(message, { code: 'rate_limited', isRetryable: true }))
      })
      const send = () => {
        late.cancel()
        return timed(() => exchange(request, label, signal))
      }
      try {
        return await pacer.run(send, signal)
      } finally {
        late.cancel()
      }
    }

    /** Adds to the message if the request may have been carried out. */
    function explain(error: ApiError): ApiError {
      if (request.method === 'delete' && error.status === 404 && mayBeDone)
        error.message += '; an earlier attempt, whose answer was lost, may have deleted it'
      else if (request.method !== 'get' && isInDoubt(error)) error.message += '; the request may have been carried out'
      return error
    }

    for (let attempts = 1; ; attempts++) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof ApiError) || signal.aborted) throw error
        const delayMs = attempts <= retries && mayRepeat(error, request.method) ? delayAfter(error, attempts) : Infinity
        if (delayMs >= remainingMs) throw explain(error)
        mayBeDone ||= isInDoubt(error)
        log.warn({ call: label, error: error.code, attempt: attempts, delayMs }, 'api call retried')
        if (delayMs > 0) await timed(() => pause(delayMs, signal))
      }
    }
  }

  async function exchange(request: ApiRequest, label: string, signal: AbortSignal): Promise<ApiResponse<unknown>> {
    const key = await orAborted(readKey(), signal)
    const received = await fetchText(request, { label, key, signal })
    try {
      return toResponse(received, request.data, { now: clock.now(), key })
    } catch (error) {
      if (error instanceof ApiError && error.status === 429) pacer.pause(error.retryAfterMs ?? 1_000)
      throw error
    } finally {
      pacer.readLimits(received.headers)
    }
  }

  async function readKey(): Promise<string> {
    const key: unknown = await options.apiKey()
    // `fetch` rejects other headers, and its error might contain the key.
    if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key
    throw new InboxError('config_invalid', 'the API key is invalid: expected visible ASCII characters without spaces')
  }

  async function fetchText(
    { method, path, query, body }: ApiRequest,
    { label, key, signal }: { readonly label: string; readonly key: string; readonly signal: AbortSignal },
  ): Promise<Received> {
    try {
      const response = await options.fetch(options.baseUrl + path + query, {
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
      throw error instanceof ApiError ? error : noResponse(error, label, options.baseUrl)
    }
  }

  /** Milliseconds before the next attempt. Doubles from 500 ms to 10 s, minus up to half at random; Infinity: too long. */
  function delayAfter({ status, retryAfterMs }: ApiError, attempts: number): number {
    const askedMs = retryAfterMs ?? 0
    // The pacer waits, for all calls.
    if (status === 429) return askedMs > maxPauseMs ? Infinity : 0
    const fullMs = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempts - 1))
    return Math.max(Math.round(fullMs * (1 - clock.random() / 2)), askedMs)
  }

  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    const elapsed = Promise.withResolvers<void>()
    const timer = clock.after(ms, elapsed.resolve)
    await orAborted(elapsed.promise, signal).finally(() => timer.cancel())
  }

  return call
}

/** @throws ApiError `answer_too_large`, with the rest unread */
async function readText(response: Response, label: string): Promise<string> {
  const decoder = new TextDecoder()
  let [text, received] = ['', 0]
  for await (const part of response.body ?? []) {
    received += part.byteLength
    if (received > maxResponseBytes) {
      const message = `${label}: the answer is larger than ${maxResponseBytes} bytes`
      throw new ApiError(message, { code: 'answer_too_large', status: response.status, isRetryable: false })
    }
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}

/**
 * Reads and deletes are idempotent. POST and PATCH are repeated only if the first one was not carried out for certain:
 * rejected by the rate limit (R107), or not connected. The upstream has no idempotency keys (A27).
 */
function mayRepeat(error: ApiError, method: ApiRequest['method']): boolean {
  if (!error.isRetryable) return false
  return method === 'get' || method === 'delete' || error.status === 429 || wasNeverSent(error)
}

function noResponse(cause: unknown, label: string, baseUrl: string): ApiError {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const { code } = Object(reason) as { readonly code?: unknown }
  const isUntrusted = /CERT|VERIFY_LEAF_SIGNATURE/.test(String(code))
  const advice = isUntrusted ? ': if you trust its certificate, set its file in NODE_EXTRA_CA_CERTS' : ''
  return new ApiError(`${label}: no answer from ${new URL(baseUrl).origin} (${messageOf(reason)})${advice}`, {
    code: isUntrusted ? 'certificate_untrusted' : 'network_failed',
    isRetryable: !isUntrusted,
    cause,
  })
}

/** Resolves with `promise`, unless the signal of the call is aborted before: then it rejects with its reason. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    promise.then(resolve, reject)
  })
}
