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
 * A failed call (R10, R106): the upstream rejected it, or there was no valid response. The message has the request, the
 * response and advice, never the API key.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /**
   * Error code of the upstream, or of the client: `redirected`, `rate_limited`, `timed_out`, `network_failed`,
   * `certificate_untrusted`, `answer_invalid`, `answer_too_large`, `cursor_repeated`. New codes may be added, so prefer
   * `status`.
   */
  readonly code: string
  /** HTTP status; null without a response. */
  readonly status: number | null
  /** The upstream's id of the request; null if there is none. */
  readonly requestId: string | null
  /** Parsed JSON of the response, unknown members included; undefined if it was not JSON. */
  readonly body: unknown
  /** Milliseconds to wait before a retry, as the upstream asks; null if it doesn't. */
  readonly retryAfterMs: number | null
  /** True if the same call may succeed later. */
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

/** Codes of requests that were never sent: no connection, or no room within the rate limit. */
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

/** True if the request may have been carried out: after a redirect, a 5xx except 501, or without a readable response. */
export function isInDoubt(error: ApiError): boolean {
  const { status, body } = error
  if (status === null) return !wasNeverSent(error)
  if (status >= 400) return status >= 500 && status !== 501
  return !(status < 300 && successIn(body) === false)
}

/** The member `success` of an envelope; undefined for anything else. */
function successIn(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'success' in body ? body.success : undefined
}
