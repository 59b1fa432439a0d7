import type { ServerResponse } from 'node:http'
import { InboxError } from '../../base/errors.ts'
import { KeyTaken, LimitReached } from '../accounts/port.ts'
import { FaultRefused } from '../faults/port.ts'
import { RestError, type Problem } from '../rest/error.ts'
import { WorldRefusal } from '../world/port.ts'

/** What a control request is refused with; in the envelope of the REST service. */
export class ControlError extends Error {
  override name = 'ControlError'
  readonly status: number
  readonly code: string
  readonly details: readonly Problem[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    message: string,
    options: { cause?: unknown; details?: readonly Problem[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.status = status
    this.code = code
    this.details = options.details
    this.headers = options.headers ?? {}
  }
}

/** What is answered for anything that was thrown; null for what must not be shown. */
export function toControlError(thrown: unknown): ControlError | null {
  if (thrown instanceof ControlError) return thrown
  if (thrown instanceof RestError) {
    const { status, code, message, details, headers } = thrown
    return new ControlError(status, code, message, { cause: thrown, headers, ...(details && { details }) })
  }
  if (thrown instanceof WorldRefusal)
    return new ControlError(409, 'refused_by_world', thrown.message, { cause: thrown })
  if (thrown instanceof LimitReached || thrown instanceof FaultRefused)
    return new ControlError(409, 'limit_reached', thrown.message, { cause: thrown })
  if (thrown instanceof KeyTaken) return new ControlError(409, 'conflict', thrown.message, { cause: thrown })
  if (thrown instanceof InboxError && thrown.code === 'bad_request') {
    return new ControlError(409, 'conflict', thrown.message, { cause: thrown })
  }
  return null
}

/** About an answer. */
export interface AnswerMeta {
  readonly timestamp: string
  readonly latency_ms: number
}

export function sendData(response: ServerResponse, status: number, data: unknown, meta: AnswerMeta): void {
  send(response, status, { success: true, data, meta }, {})
}

export function sendError(response: ServerResponse, error: ControlError, meta: AnswerMeta): void {
  const { status, code, message, details, headers } = error
  // What is left of a body is not read.
  const connection = status === 413 ? { Connection: 'close' } : {}
  send(response, status, { success: false, error: { code, message, details }, meta }, { ...headers, ...connection })
}

function send(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>>,
): void {
  if (response.headersSent || response.destroyed) return
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  })
  response.end(body)
}
