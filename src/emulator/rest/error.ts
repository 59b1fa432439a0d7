import { errorCodes, type ErrorCode } from '../../../schema/rest/error.ts'

/** One place of a request that is not as expected. */
export interface Problem {
  /** The name of a parameter, or the path of a member of the body. */
  readonly path: string
  /** What was expected there, and what came. */
  readonly message: string
}

export interface RestErrorOptions {
  readonly details?: readonly Problem[]
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** What a request is refused with (A53): the message says what was expected, what came and what to do. */
export class RestError extends Error {
  override name = 'RestError'
  readonly code: ErrorCode
  readonly details: readonly Problem[] | undefined
  /** Beside those that every response has. */
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, message: string, { details, headers = {}, cause }: RestErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.details = details
    this.headers = headers
  }

  get status(): number {
    return errorCodes[this.code].status
  }
}

/** `invalid_request` that names each place that is not as expected. */
export function invalidRequest(problems: readonly Problem[]): RestError {
  const message = problems.map((problem) => `${problem.path}: ${problem.message}`).join('; ')
  return new RestError('invalid_request', message, { details: problems })
}
