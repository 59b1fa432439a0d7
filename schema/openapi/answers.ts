import { exampleMeta, exampleOf } from '../rest/components.ts'
import { errorCodes, type ErrorCode } from '../rest/error.ts'
import { errorMessages, exampleIds, operationExamples } from '../rest/examples.ts'
import type { JsonObject } from '../json-schema.ts'
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

/** Response headers; the first three are on every response (R117–R119). */
export const headers: JsonObject = {
  RateLimit: {
    description: 'Maximum requests per minute of the plan.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 60,
  },
  RateRemaining: {
    description: 'Remaining requests in this window.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 42,
    'x-assumption': ['A54', 'A55'],
  },
  RateReset: {
    description: 'End of this window: Unix time in seconds. Then the quota is full again.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 1769868240,
    'x-assumption': ['A54'],
  },
  RequestId: {
    description: 'Identifier of the request; errors carry it too.',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: exampleIds.request,
    'x-assumption': ['A53'],
  },
  Deprecation: {
    description: 'Start of the deprecation of this version: `@` and Unix time in seconds. Absent unless deprecated.',
    schema: { type: 'string', pattern: '^@\\d+$' },
    example: '@1769817600',
    'x-assumption': ['A62'],
  },
  Sunset: {
    description: 'End of a deprecated version, as an HTTP date.',
    schema: { type: 'string', minLength: 1 },
    example: 'Thu, 30 Jul 2026 00:00:00 GMT',
    'x-assumption': ['A62'],
  },
  RetryAfter: {
    description: 'Seconds to wait before the next request.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 12,
    'x-assumption': ['A56'],
  },
  Challenge: {
    description: 'How to authenticate: `Bearer`, with the error, if any.',
    required: true,
    schema: { type: 'string', pattern: '^Bearer' },
    example: 'Bearer error="invalid_token"',
    'x-assumption': ['A28'],
  },
  Allow: {
    description: 'Methods of the path.',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: 'GET',
    'x-assumption': ['A3'],
  },
}

const ownHeaders: { readonly [C in ErrorCode]?: JsonObject } = {
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
  const example = {
    success: false,
    error: { code, message: errorMessages[code], request_id: exampleIds.request },
    meta: exampleMeta('plain'),
  }
  return {
    description: `${errorCodes[code].meaning} Code \`${code}\`.`,
    headers: { ...rateHeaders, ...ownHeaders[code] },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' }, example } },
    'x-assumption': errorCodes[code].assumptions,
  }
}

/** References to failures by status. */
export function toFailureRefs(codes: readonly ErrorCode[]): JsonObject {
  return Object.fromEntries(
    codes.map((code) => [errorCodes[code].status, { $ref: `#/components/responses/${toFailureName(code)}` }]),
  )
}

/** The successful response of an operation. `schema` describes the whole response. */
export function toSuccess(operation: Operation, schema: JsonObject): JsonObject {
  const own = operationExamples[operation.id]
  const example = {
    success: true,
    data: own?.data ?? exampleOf(operation.data),
    meta: { ...exampleMeta(operation.meta), ...own?.meta },
  }
  const isCreated = successStatus(operation) === 201
  return {
    description: isCreated ? 'Created.' : 'Success.',
    headers: rateHeaders,
    content: { 'application/json': { schema, example } },
    ...(isCreated && { 'x-assumption': ['A19'] }),
  }
}

function toFailureName(code: ErrorCode): string {
  return code
    .split('_')
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('')
}
