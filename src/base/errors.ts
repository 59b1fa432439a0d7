/**
 * All error codes.
 *
 * `status` is the HTTP status if the error reaches a client. `exitCode` is the exit code of a command: 1 = a person
 * must fix something; 75 = retrying later can help.
 */
export const errorCatalogue = {
  // responses of the webhook endpoint and the admin API
  bad_request: { status: 400, exitCode: 1 },
  unauthorized: { status: 401, exitCode: 1 },
  signature_invalid: { status: 401, exitCode: 1 },
  forbidden: { status: 403, exitCode: 1 },
  not_found: { status: 404, exitCode: 1 },
  method_not_allowed: { status: 405, exitCode: 1 },
  already_running: { status: 409, exitCode: 75 },
  body_too_large: { status: 413, exitCode: 1 },
  media_type_unsupported: { status: 415, exitCode: 1 },
  content_encoding_unsupported: { status: 415, exitCode: 1 },
  rate_limited: { status: 429, exitCode: 75 },
  body_already_read: { status: 500, exitCode: 1 },
  internal: { status: 500, exitCode: 1 },
  overloaded: { status: 503, exitCode: 75 },
  not_committed_in_time: { status: 503, exitCode: 75 },
  keys_unavailable: { status: 503, exitCode: 75 },
  shutting_down: { status: 503, exitCode: 75 },
  store_full: { status: 503, exitCode: 75 },
  store_unavailable: { status: 503, exitCode: 75 },
  // start-up and commands
  config_invalid: { status: 500, exitCode: 1 },
  usage: { status: 400, exitCode: 1 },
  handler_invalid: { status: 500, exitCode: 1 },
  handler_duplicate: { status: 500, exitCode: 1 },
  port_unavailable: { status: 500, exitCode: 1 },
  database_in_use: { status: 503, exitCode: 75 },
  database_newer: { status: 500, exitCode: 1 },
  database_older: { status: 500, exitCode: 1 },
  database_corrupt: { status: 500, exitCode: 1 },
  not_durable: { status: 500, exitCode: 1 },
  admin_unreachable: { status: 503, exitCode: 75 },
  emulator_unreachable: { status: 503, exitCode: 75 },
  receiver_unreachable: { status: 503, exitCode: 75 },
  api_not_configured: { status: 409, exitCode: 1 },
  api_refused: { status: 502, exitCode: 1 },
  api_unavailable: { status: 503, exitCode: 75 },
  // handlers
  handler_stuck: { status: 500, exitCode: 75 },
  handler_failed: { status: 500, exitCode: 1 },
  handler_terminal: { status: 500, exitCode: 1 },
  handler_retryable: { status: 500, exitCode: 75 },
  handler_timeout: { status: 500, exitCode: 75 },
  handler_crashed: { status: 500, exitCode: 1 },
} as const satisfies Record<string, { status: number; exitCode: 1 | 75 }>

export type ErrorCode = keyof typeof errorCatalogue

/** The only error class of this package: a stable `code`, a message with advice, and data in `details`. */
export class InboxError extends Error {
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(withoutUserinfo(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'InboxError'
    this.code = code
    this.details = options.details ?? {}
  }

  get status(): number {
    return errorCatalogue[this.code].status
  }

  get exitCode(): 1 | 75 {
    return errorCatalogue[this.code].exitCode
  }
}

/** Throw this in a handler if the event can never succeed. The run becomes a dead letter without further attempts. */
export class TerminalError extends InboxError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('handler_terminal', message, options)
    this.name = 'TerminalError'
  }
}

/** Throw this in a handler to retry after at least `retryAfterMs` milliseconds. Default: the delay of the retry policy. */
export class RetryableError extends InboxError {
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super('handler_retryable', message, options)
    this.name = 'RetryableError'
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Message of any thrown value, never empty. Removes user names and passwords from URLs. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return withoutUserinfo(thrown.message) || thrown.name
  if (typeof thrown === 'string' && thrown !== '') return withoutUserinfo(thrown)
  return `a thrown ${thrown === null ? 'null' : typeof thrown}`
}

/** Code of an error, such as ENOENT or an SQLSTATE; empty if there is none. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''
}

/** Removes user names and passwords from the URLs in a text. */
export function withoutUserinfo(text: string): string {
  return text.replaceAll(/:\/\/[^\s/?#"<>`]*@/g, '://')
}
