export interface ApiErrorOptions {
  readonly code: string
  readonly status?: number | null
  readonly requestId?: string | null
  readonly body?: unknown
  readonly retryAfterMs?: number | null
  readonly isRetryable: boolean
  readonly cause?: unknown
}

/**
 * A failed call (R10, R106): the service rejected it, or, as a subclass, there was no valid answer. The message has the request, the
 * answer and advice, never the API key.
 */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  /** What went wrong, for programs: the service's own code, or one of the client's. More may come: rather go by `status`. */
  readonly code: string
  /** Of the answer; null if there was none. */
  readonly status: number | null
  /** The service's id of the request. */
  readonly requestId: string | null
  /** The JSON of the answer, unknown members included; undefined if it was none. */
  readonly body: unknown
  /** Milliseconds that the service asks to wait. */
  readonly retryAfterMs: number | null
  /** Whether the same call may succeed later. */
  readonly isRetryable: boolean

  constructor(message: string, options: ApiErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = options.code
    this.status = options.status ?? null
    this.requestId = options.requestId ?? null
    this.body = options.body
    this.retryAfterMs = options.retryAfterMs ?? null
    this.isRetryable = options.isRetryable
  }
}

/** No answer came, or it broke off: `network_failed`, or `certificate_untrusted`, which no retry can fix. */
export class ApiNetworkError extends ApiError {
  override readonly name = 'ApiNetworkError'
}

/** The time of the call was over: `timed_out`. */
export class ApiTimeoutError extends ApiError {
  override readonly name = 'ApiTimeoutError'
}

/**
 * The answer is not valid: `answer_invalid` (not JSON, or without the envelope), `answer_too_large`, `cursor_repeated`.
 */
export class ApiProtocolError extends ApiError {
  override readonly name = 'ApiProtocolError'
}

/** Codes of requests that never left: no connection was made, or the call gave up its wait for the rate limit. */
const neverSent: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'certificate_untrusted',
  'rate_limited',
])

export function wasNeverSent(error: Error): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (neverSent.has((at as { readonly code?: unknown }).code)) return true
  return false
}

/**
 * True if the request may have been carried out, though nothing says so: after a 5xx but 501, a redirect, no answer, or an answer
 * that can't be read.
 */
export function isInDoubt(error: ApiError): boolean {
  const { status, body } = error
  if (status === null) return !wasNeverSent(error)
  if (status >= 400) return status >= 500 && status !== 501
  return !(status < 300 && successIn(body) === false)
}

/** The member `success` of an envelope; undefined for anything else. */
export function successIn(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'success' in body ? body.success : undefined
}
