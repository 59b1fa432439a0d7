import type { Request, Response } from 'express'
import { InboxError } from '../base/errors.ts'
import { readBody } from '../base/http/request.ts'

const bodyLimitBytes = 1024 * 1024
const retryAfterSeconds = '5'

export function sendJson(response: Response, value: unknown, status = 200): void {
  const body = JSON.stringify(value)
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

/** Answers with an error: `{"error":{"code","message"}}`. */
export function sendError(response: Response, error: InboxError): void {
  if (error.status === 401) response.set('WWW-Authenticate', 'Bearer')
  if (error.status === 503) response.set('Retry-After', retryAfterSeconds)
  // The rest of the body is not read.
  if (error.status === 413) response.set('Connection', 'close')
  sendJson(response, { error: { code: error.code, message: error.message } }, error.status)
}

/** True if the request has a body. */
function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * The JSON body of a request, at most 1 MiB; undefined if the route takes none. Other content types are always rejected,
 * because web pages of other origins can send them without a preflight.
 */
export async function readJsonBody(request: Request, response: Response, isTaken = true): Promise<unknown> {
  if (!isTaken && !hasBody(request)) return undefined
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = request.headers
  if (type.split(';')[0]?.trim().toLowerCase() !== 'application/json') {
    throw new InboxError('media_type_unsupported', 'expected a body with Content-Type: application/json')
  }
  if (!isTaken) return undefined
  if (encoding.toLowerCase() !== 'identity') {
    throw new InboxError('content_encoding_unsupported', 'send the body without Content-Encoding')
  }
  const body = await readBody(request, response, bodyLimitBytes).catch((error: unknown) => {
    throw new InboxError('bad_request', 'the body could not be read', { cause: error })
  })
  if (body === null) throw new InboxError('body_too_large', `the body is larger than ${bodyLimitBytes} bytes`)
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch (error) {
    throw new InboxError('bad_request', 'the body is not JSON', { cause: error })
  }
}
