import { InboxError, messageOf } from '../../base/errors.ts'

/** What became of a POST that did not succeed. */
export interface Verdict {
  /** Whether it is certain that nothing was registered. */
  readonly isRefused: boolean
  /** Whether the same may succeed later, with nobody's help. */
  readonly canRetry: boolean
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | null
  readonly status: number | null
  readonly requestId: string | null
  readonly reason: string
}

/** The client's own. */
const untrusted = 'certificate_untrusted'

/** With these no connection came about, so nothing was sent. */
const neverSent: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  untrusted,
  // Waited for its turn until it gave up.
  'rate_limited',
])

const mostCauses = 10

/**
 * Reads an error of the client. Refused is what the service answered with a status of 4xx, with 501, or with a failure in its
 * envelope, and what was never sent. All else may have been done: a 5xx, no answer, an answer that is none. `secret` is kept out of
 * the reason.
 */
export function verdictOf(thrown: unknown, secret: string): Verdict {
  const reason = messageOf(thrown).replaceAll(secret, '(the secret)')
  // Arguments or a key that cannot be sent.
  if (thrown instanceof InboxError) return { ...nothingCame, isRefused: true, canRetry: false, reason }
  const { status = null, requestId = null, retryAfterMs = null, body, code } = fieldsOf(thrown)
  const wasSent = !causesOf(thrown).some((cause) => neverSent.has(cause.code))
  const isRefused = status === null ? !wasSent : status < 300 ? saysFailure(body) : saysNo(status)
  const canRetry = isRefused && code !== untrusted && (status === null || status === 429)
  return { isRefused, canRetry, retryAfterMs, status, requestId, reason }
}

const nothingCame = { retryAfterMs: null, status: null, requestId: null } as const

interface ErrorFields {
  readonly status?: number | null
  readonly requestId?: string | null
  readonly retryAfterMs?: number | null
  readonly body?: unknown
  readonly code?: unknown
}

function fieldsOf(thrown: unknown): ErrorFields {
  return typeof thrown === 'object' && thrown !== null ? thrown : {}
}

/** The error, what caused it, and so on. */
function causesOf(thrown: unknown): readonly ErrorFields[] {
  const causes: ErrorFields[] = []
  for (let at = thrown; at instanceof Error && causes.length < mostCauses; at = at.cause) {
    causes.push(fieldsOf(at))
    if (at instanceof AggregateError) causes.push(...at.errors.map(fieldsOf))
  }
  return causes
}

/** Redirects aside: where they lead to, something may have been done. */
function saysNo(status: number): boolean {
  return (status >= 400 && status < 500) || status === 501
}

function saysFailure(body: unknown): boolean {
  return successIn(body) === false
}

function successIn(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'success' in body ? body.success : undefined
}

/**
 * The JSON of an answer of success that has not the form that the client knows: the service shows no answer to this POST, so its
 * `data` may be anything (R8, A8). Undefined for all else.
 */
export function acceptanceIn(thrown: unknown): unknown {
  const { status = null, body } = fieldsOf(thrown)
  return status !== null && status >= 200 && status < 300 && successIn(body) === true ? body : undefined
}
