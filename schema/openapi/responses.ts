import type { JsonObject } from '../json-schema.ts'
import { exampleOf } from '../rest/components.ts'
import { metas } from '../rest/envelope.ts'
import { errorCodes, type ErrorCode } from '../rest/error.ts'
import { exampleIds } from '../rest/examples.ts'
import { successStatus, type Operation } from '../rest/operations.ts'

const header = (name: string) => ({ $ref: `#/components/headers/${name}` })
const rateHeaders = {
  'X-RateLimit-Limit': header('RateLimit'),
  'X-RateLimit-Remaining': header('RateRemaining'),
  'X-RateLimit-Reset': header('RateReset'),
  'X-Request-Id': header('RequestId'),
  Deprecation: header('Deprecation'),
  Sunset: header('Sunset'),
}

const text = { type: 'string', minLength: 1 }
const natural = (minimum: number) => ({ type: 'integer', minimum })

/** Response headers; the first three are on every response (R117–R119). */
export const headers: JsonObject = {
  RateLimit: required('Maximum requests per minute of the plan.', natural(1), 60),
  RateRemaining: required('Remaining requests in this window.', natural(0), 42, 'A54', 'A55'),
  RateReset: required(
    'End of this window: Unix time in seconds. Then the quota is full again.',
    natural(0),
    1769868240,
    'A54',
  ),
  RequestId: required('Identifier of the request; errors carry it too.', text, exampleIds.request, 'A53'),
  Deprecation: {
    description: 'Start of the deprecation of this version: `@` and Unix time in seconds. Absent unless deprecated.',
    schema: { type: 'string', pattern: '^@\\d+$' },
    example: '@1769817600',
    'x-assumption': ['A62'],
  },
  Sunset: {
    description: 'End of a deprecated version, as an HTTP date.',
    schema: text,
    example: 'Thu, 30 Jul 2026 00:00:00 GMT',
    'x-assumption': ['A62'],
  },
  RetryAfter: required('Seconds to wait before the next request.', natural(1), 12, 'A56'),
  Challenge: required(
    'How to authenticate: `Bearer`, with the error, if any.',
    { type: 'string', pattern: '^Bearer' },
    'Bearer error="invalid_token"',
    'A28',
  ),
  Allow: required('Methods of the path.', text, 'GET', 'A3'),
}

function required(description: string, schema: object, example: unknown, ...assumptions: readonly string[]) {
  const marks = assumptions.length > 0 && { 'x-assumption': assumptions }
  return { description, required: true, schema, example, ...marks }
}

const headersOf: { readonly [C in ErrorCode]?: JsonObject } = {
  invalid_api_key: { 'WWW-Authenticate': header('Challenge') },
  method_not_allowed: { Allow: header('Allow') },
  rate_limited: { 'Retry-After': header('RetryAfter') },
  network_unavailable: { 'Retry-After': header('RetryAfter') },
}

/** All error responses by name (R106, A53). */
export function failures(): JsonObject {
  const codes = Object.keys(errorCodes) as ErrorCode[]
  return Object.fromEntries(codes.map((code) => [toFailureName(code), toFailure(code)]))
}

function toFailure(code: ErrorCode): JsonObject {
  const { meaning, example: message, assumptions } = errorCodes[code]
  const error = { code, message, request_id: exampleIds.request }
  const example = { success: false, error, meta: exampleOf(metas.plain) }
  return {
    description: `${meaning} Code \`${code}\`.`,
    headers: { ...rateHeaders, ...headersOf[code] },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' }, example } },
    'x-assumption': [...assumptions, 'A53'].toSorted(byNumber),
  }
}

function byNumber(a: string, b: string): number {
  return Number(a.slice(1)) - Number(b.slice(1))
}

/** References to failures by status. */
export function toFailureRefs(codes: readonly ErrorCode[]): JsonObject {
  return Object.fromEntries(
    codes.map((code) => [errorCodes[code].status, { $ref: `#/components/responses/${toFailureName(code)}` }]),
  )
}

/** The successful response of an operation. `schema` describes the whole response. */
export function toSuccess(operation: Operation, schema: JsonObject): JsonObject {
  const { data, meta, example } = operation
  const isCreated = successStatus(operation) === 201
  const body = {
    success: true,
    data: example?.data ?? exampleOf(data),
    meta: { ...Object(exampleOf(metas[meta])), ...example?.meta },
  }
  return {
    description: isCreated ? 'Created.' : 'Success.',
    headers: rateHeaders,
    content: { 'application/json': { schema, example: body } },
    ...(isCreated && { 'x-assumption': ['A19'] }),
  }
}

function toFailureName(code: ErrorCode): string {
  return toPascalCase(code.split('_'))
}

export function toPascalCase(words: readonly string[]): string {
  return words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join('')
}
