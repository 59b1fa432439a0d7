import { type ErrorCode, errorCodes } from '../../../schema/rest/error.ts'
import type { z } from 'zod'
import { safeText } from '../../base/log.ts'
import { isSecretMember } from './journal.ts'

/** One place of a request that is not as expected. */
export interface Problem {
  /** The name of a parameter, or the path of a member of the body. */
  readonly path: string
  /** What was expected there, and what came. */
  readonly message: string
}

export interface ErrorOptions {
  readonly details?: readonly Problem[] | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** What a request is refused with (A53): the message says what was expected, what came and what to do. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: number
  readonly code: string
  readonly details: readonly Problem[] | undefined
  /** Beside those that every response has. */
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, { details, headers = {}, cause }: ErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    this.details = details
    this.headers = headers
  }
}

/** One with a code that the REST service documents. */
export class RestError extends HttpError {
  declare readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(errorCodes[code].status, code, message, options)
  }
}

/** `invalid_request` that names each place that is not as expected. */
export function invalidRequest(problems: readonly Problem[]): RestError {
  const message = problems.map((problem) => `${problem.path}: ${problem.message}`).join('; ')
  return new RestError('invalid_request', message, { details: problems })
}

const longestShown = 80

/** Where a value came from that was checked as a whole. */
export type Place = 'path' | 'query' | 'body'

/** Names for each place the broken rule and the received value. Of a possible secret only the length is shown. */
export function toInvalidRequest(error: z.ZodError, given: unknown, place: Place): RestError {
  return invalidRequest(problemsOf(error, given, place))
}

/** The same, place by place. */
export function problemsOf(error: z.ZodError, given: unknown, place: Place): readonly Problem[] {
  const problems = error.issues.map((issue) => toProblem(issue, given, place))
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()]
}

function toProblem(issue: z.core.$ZodIssue, given: unknown, place: Place): Problem {
  const path = issue.path.map(String).join('.')
  if (path === '') return { path: place, message: expectedBy(issue) }
  return { path, message: `${expectedBy(issue)}; ${receivedAt(issue.path, given)}` }
}

function expectedBy(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `expected one of ${issue.values.map(String).join(', ')}`
  if (issue.message.startsWith('expected')) return issue.message
  if (issue.code === 'unrecognized_keys') {
    return `expected nothing that is called ${issue.keys.map((key) => safeText(key, longestShown)).join(', ')}; check the spelling`
  }
  if (issue.code === 'invalid_type') return `expected ${nameOf(issue.expected)}`
  return issue.message
}

function nameOf(type: string): string {
  if (type === 'int') return 'a whole number'
  return type === 'array' || type === 'object' ? `an ${type}` : `a ${type}`
}

function receivedAt(path: readonly PropertyKey[], given: unknown): string {
  const value = path.reduce<unknown>((parent, key) => memberOf(parent, key), given)
  if (value === undefined) return 'it is missing'
  if (Array.isArray(value)) return `got an array of ${value.length}`
  if (value === null) return 'got null'
  if (typeof value === 'object') return 'got an object'
  if (path.some((name) => isSecretMember(String(name), value))) {
    if (typeof value !== 'string') return `got a ${typeof value}`
    const { length } = Array.from(value)
    return length === 1 ? 'got 1 character' : `got ${length} characters`
  }
  // JSON would write null for a number that is none.
  const text = typeof value === 'number' ? value.toString() : JSON.stringify(value)
  return `got ${safeText(text, longestShown)}`
}

function memberOf(parent: unknown, key: PropertyKey): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined
  return (parent as Readonly<Record<PropertyKey, unknown>>)[key]
}
