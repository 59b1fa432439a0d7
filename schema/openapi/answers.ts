import { exampleMeta, exampleOf } from '../rest/components.ts'
import { errorCodes, type ErrorCode } from '../rest/error.ts'
import { errorMessages, exampleIds, operationExamples } from '../rest/examples.ts'
import type { JsonObject } from '../json-schema.ts'
import type { Operation } from '../rest/operations.ts'

const header = (name: string) => ({ $ref: `#/components/headers/${name}` })
const rateHeaders = {
  'X-RateLimit-Limit': header('RateLimit'),
  'X-RateLimit-Remaining': header('RateRemaining'),
  'X-RateLimit-Reset': header('RateReset'),
  'X-Request-Id': header('RequestId'),
  Deprecation: header('Deprecation'),
  Sunset: header('Sunset'),
}

/** The headers of answers: the first three on every answer (R117–R119). */
export const headers: JsonObject = {
  RateLimit: {
    description: 'Most requests per minute that the plan allows.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 60,
  },
  RateRemaining: {
    description: 'Requests that remain in this window.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 42,
    'x-assumption': ['A54', 'A55'],
  },
  RateReset: {
    description: 'When this window ends: Unix time in seconds. The quota is full after it.',
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
    description: 'Since when this version is deprecated, as `@` and Unix time in seconds; absent while it is not.',
    schema: { type: 'string', pattern: '^@\\d+$' },
    example: '@1769817600',
    'x-assumption': ['A62'],
  },
  Sunset: {
    description: 'When a deprecated version goes out of service, as an HTTP date.',
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
    description: 'How to authenticate: `Bearer`, with what was wrong.',
    required: true,
    schema: { type: 'string', pattern: '^Bearer' },
    example: 'Bearer error="invalid_token"',
    'x-assumption': ['A28'],
  },
  Allow: {
    description: 'The methods that the path has.',
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

/** Every answer that is a failure, by name (R106, A53). */
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

/** The failures by status, as an operation refers to them. */
export function toFailureRefs(codes: readonly ErrorCode[]): JsonObject {
  return Object.fromEntries(
    codes.map((code) => [errorCodes[code].status, { $ref: `#/components/responses/${toFailureName(code)}` }]),
  )
}

/** The answer of an operation that succeeds. `schema` is that of the whole answer. */
export function toSuccess(operation: Operation, schema: JsonObject): JsonObject {
  const own = operationExamples[operation.id]
  const example = {
    success: true,
    data: own?.data ?? exampleOf(operation.data),
    meta: { ...exampleMeta(operation.meta), ...own?.meta },
  }
  const isCreated = operation.status === 201
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
