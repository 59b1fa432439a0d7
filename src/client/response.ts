import { createExactReader, type ExactReader } from '../base/exact.ts'
import { isObject } from '../base/json-body.ts'
import { safeText } from '../base/log.ts'
import type { ApiResponse } from './api.ts'
import { ApiError, type ApiErrorOptions } from './errors.ts'
import type { ApiRequest } from './request.ts'

export interface Received {
  /** The request, for messages. */
  readonly label: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

type Json = Readonly<Record<string, unknown>>

/**
 * Converts a response for the caller (R8–R15). Errors never show `key`, even if the response repeats it.
 *
 * @throws ApiError for an unsuccessful response, and for one without the envelope
 */
export function toResponse(
  received: Received,
  data: ApiRequest['data'],
  { now, key }: { readonly now: number; readonly key: string },
): ApiResponse<unknown> {
  const { status, headers, text } = received
  const body = parse(text)
  const envelope = isObject(body) ? body : undefined
  const shown = () => parse(text.replaceAll(key, hiddenKey), hiding(key))
  if (status < 200 || status > 299 || envelope?.['success'] === false) throw toError(received, shown(), now)
  if (body === undefined) throw notJson(received)
  if (envelope?.['success'] !== true || !isExpected(envelope['data'], data)) {
    const kind = data === 'any' ? 'a value' : data === 'object' ? 'an object' : 'a list'
    throw invalid(received, `expected {"success": true, "data": …} with ${kind} in it`, { body: shown() })
  }
  let exact: ExactReader | undefined
  return {
    data: envelope['data'],
    meta: isObject(envelope['meta']) ? envelope['meta'] : {},
    status,
    requestId: headers.get('X-Request-Id'),
    body,
    exact: (path) => (exact ??= createExactReader(text))(path),
  }
}

/** Parses Retry-After, seconds or a date, to milliseconds (R107); null without one. */
function readRetryAfter(headers: Headers, now: number): number | null {
  const text = headers.get('Retry-After')?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const at = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}

/** 5xx statuses that no retry can fix. */
const permanent: readonly number[] = [501, 505]
const redirected = 'redirects are not followed, because the API key would go along; use the target as base URL'
const advice: Readonly<Record<number, string>> = {
  401: '; check the API key in the dashboard under Settings, API Keys',
  403: '; add the missing scope to the key in the dashboard under Settings, API Keys',
}

function toError({ label, status, headers, text }: Received, body: unknown, now: number): ApiError {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {}
  const isRedirect = status >= 300 && status <= 399
  const code = textOf(error['code']) ?? (isRedirect ? 'redirected' : `http_${status}`)
  const reason =
    textOf(error['message']) ?? (isRedirect ? redirected : `no reason was given (${text.length} characters)`)
  const message = `${label} was answered ${status} ${safeText(code, 60)}: ${safeText(reason, 500)}${detailsOf(error, reason)}`
  return new ApiError(message + (advice[status] ?? ''), {
    code,
    status,
    requestId: headers.get('X-Request-Id') ?? textOf(error['request_id']) ?? null,
    body,
    retryAfterMs: readRetryAfter(headers, now),
    isRetryable: status === 408 || status === 429 || (status >= 500 && !permanent.includes(status)),
  })
}

/** Problems of a rejected request that its message doesn't name. */
function detailsOf(error: Json, reason: string): string {
  const details = Array.isArray(error['details']) ? (error['details'] as readonly unknown[]) : []
  const lines = details
    .filter(isObject)
    .map(({ path, message }) => `${String(path)}: ${String(message)}`)
    .filter((line) => !reason.slice(0, 500).includes(line))
  return lines.length === 0 ? '' : safeText(` (${lines.slice(0, 5).join('; ')})`, 500)
}

/** With a JSON content type the response is truncated, and a retry may work. Otherwise another server responded. */
function notJson(received: Received): ApiError {
  const type = received.headers.get('Content-Type') ?? 'none'
  const isRetryable = /^application\/json\b/i.test(type)
  const content = received.text === '' ? 'nothing' : 'something else, or a part of it'
  const problem = isRetryable ? content : `the type ${safeText(type, 80)}: check the base URL`
  return invalid(received, `expected JSON, received ${problem}`, { isRetryable })
}

function invalid({ label, status, headers }: Received, problem: string, more: Partial<ApiErrorOptions>): ApiError {
  const requestId = headers.get('X-Request-Id')
  return new ApiError(`${label} was answered ${status}, but ${problem}`, {
    code: 'answer_invalid',
    status,
    requestId,
    isRetryable: false,
    ...more,
  })
}

function isExpected(value: unknown, data: ApiRequest['data']): boolean {
  if (data === 'any') return value !== undefined
  return data === 'object' ? isObject(value) : Array.isArray(value)
}

const hiddenKey = '[api key]'

/** JSON can escape characters, so the key is replaced in decoded values. */
function hiding(key: string) {
  return (_name: string, value: unknown): unknown =>
    typeof value === 'string' ? value.replaceAll(key, hiddenKey) : value
}

function parse(text: string, reviver?: (name: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(text, reviver) as unknown
  } catch {
    return undefined
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
