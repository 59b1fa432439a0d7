import { type ErrorCode, errorCodes } from '../../../schema/rest/error.ts'
import type { z } from 'zod'
import { safeText } from '../../base/log.ts'

/** A parameter or member of a request that is invalid. */
export interface Problem {
  /** Parameter name, or path of a body member. */
  readonly path: string
  /** The expectation and the received value. */
  readonly message: string
}

export interface ErrorOptions {
  readonly details?: readonly Problem[] | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** Error response of a request (A53). The message names the expectation, the received value and the fix. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: number
  readonly code: string
  readonly details: readonly Problem[] | undefined
  /** Extra response headers. */
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, { details, headers = {}, cause }: ErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    this.details = details
    this.headers = headers
  }
}

/** An error with a documented code. */
export class RestError extends HttpError {
  declare readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(errorCodes[code].status, code, message, options)
  }
}

/** `invalid_request` that names each invalid parameter and member. */
export function invalidRequest(problems: readonly Problem[]): RestError {
  const message = problems.map((problem) => `${problem.path}: ${problem.message}`).join('; ')
  return new RestError('invalid_request', message, { details: problems })
}

const maxShownLength = 80

/** Part of a request. */
export type RequestPart = 'path' | 'query' | 'body'

/** Names the broken rule and the received value of each problem. Possible secrets are shown by length only. */
export function toInvalidRequest(error: z.ZodError, received: unknown, part: RequestPart): RestError {
  return invalidRequest(problemsOf(error, received, part))
}

/** Lists the problems without duplicates. */
export function problemsOf(error: z.ZodError, received: unknown, part: RequestPart): readonly Problem[] {
  const problems = error.issues.map((issue) => toProblem(issue, received, part))
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()]
}

function toProblem(issue: z.core.$ZodIssue, received: unknown, part: RequestPart): Problem {
  const path = issue.path.map(String).join('.')
  if (path === '') return { path: part, message: expectedBy(issue) }
  return { path, message: `${expectedBy(issue)}; ${receivedAt(issue.path, received)}` }
}

/** The expectation of a schema, for people. */
export function expectedBy(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith('expected')) return issue.message
  if (issue.code === 'invalid_value') {
    const values = issue.values.map(String)
    return `expected ${values.length === 1 ? '' : 'one of '}${values.join(', ')}`
  }
  if (issue.code === 'invalid_type') return `expected ${typeNames[issue.expected] ?? `a ${issue.expected}`}`
  if (issue.code === 'too_small') {
    return `expected ${sizeOf(issue.origin, issue.inclusive === false ? 'above' : 'at least', issue.minimum)}`
  }
  if (issue.code === 'too_big') {
    return `expected ${sizeOf(issue.origin, issue.inclusive === false ? 'below' : 'at most', issue.maximum)}`
  }
  if (issue.code === 'unrecognized_keys') {
    return `unknown: ${issue.keys.map((key) => safeText(key, maxShownLength)).join(', ')}; check the spelling`
  }
  return issue.code === 'invalid_format' && issue.format === 'date'
    ? 'expected a day such as 2026-01-31'
    : issue.message
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  array: 'a list',
  object: 'an object (name: value)',
  record: 'an object (name: value)',
  boolean: 'true or false',
}

function sizeOf(origin: string, relation: string, bound: unknown): string {
  const amount = `${relation} ${String(bound)}`
  if (origin === 'string') return `text of ${amount} character${bound === 1 ? '' : 's'}`
  if (origin === 'array') return `${amount} item${bound === 1 ? '' : 's'}`
  const number = origin === 'int' ? 'a whole number' : 'a number'
  return relation.startsWith('at ') ? `${number} of ${amount}` : `${number} ${amount}`
}

function receivedAt(path: readonly PropertyKey[], received: unknown): string {
  const value = valueAt(path, received)
  if (value === undefined) return 'it is missing'
  if (Array.isArray(value)) return `got a list of ${value.length}`
  if (value === null) return 'got null'
  if (typeof value === 'object') return 'got an object'
  if (path.some((name) => isSecretMember(String(name), value))) {
    if (typeof value !== 'string') return `got a ${typeof value}`
    const { length } = Array.from(value)
    return length === 1 ? 'got 1 character' : `got ${length} characters`
  }
  // JSON would write null for NaN and Infinity.
  const text = typeof value === 'number' ? value.toString() : JSON.stringify(value)
  return `got ${safeText(text, maxShownLength)}`
}

const secretName = /secret|key|token|auth|passw/i
/** Documented names that look like secrets but contain addresses, symbols or numbers. */
const harmlessNames = new Set(['token', 'token_address', 'token_in', 'token_out', 'token_symbol', 'total_tokens_held'])
const address = /^(?:0x[\da-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/

/** True if a member's name marks it as secret. Documented names are not, unless the value of `token` is no address. */
function isSecretMember(name: string, value: unknown): boolean {
  if (!secretName.test(name)) return false
  return !harmlessNames.has(name) || (name === 'token' && typeof value === 'string' && !address.test(value))
}

/** Path of a request target for logs and the journal. API keys in it are hidden (R68). */
export function shownPath(target: string): string {
  const [path = ''] = target.split('?')
  return path.replace(/\b(?:sk|whsec|ctl)_[\w-]{16,}/g, '[hidden]')
}

/** The value at a path; undefined if there is none. */
function valueAt(path: readonly PropertyKey[], received: unknown): unknown {
  return path.reduce<unknown>((parent, key) => memberOf(parent, key), received)
}

function memberOf(parent: unknown, key: PropertyKey): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined
  return (parent as Readonly<Record<PropertyKey, unknown>>)[key]
}
