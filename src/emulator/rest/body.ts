import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from '../../base/http/request.ts'
import { safeText } from '../../base/log.ts'
import { RestError } from './error.ts'

const limitBytes = 64 * 1024
const mediaType = 'application/json'

/**
 * Reads the JSON object in a request body (R50): `application/json` in UTF-8, at most 64 KiB. The last of duplicate
 * members counts. Throws a `RestError` that names the expectation.
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Readonly<Record<string, unknown>>> {
  checkMediaType(request)
  const value = parseJson(await readBytes(request, response))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new RestError('invalid_request', `the body is ${kindOf(value)}, expected a JSON object`)
}

function checkMediaType(request: IncomingMessage): void {
  const all = request.headersDistinct['content-type'] ?? []
  // Two headers are joined, so that they are rejected rather than guessed at.
  const contentType = all.length === 0 ? undefined : all.join(', ')
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((part) => part.startsWith('charset='))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  if (type !== mediaType || !isUtf8) {
    const received = contentType === undefined ? 'it is missing' : `got "${safeText(contentType, 80)}"`
    throw new RestError(
      'unsupported_media_type',
      `expected a JSON body in UTF-8 with the header "Content-Type: ${mediaType}"; ${received}`,
    )
  }
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new RestError('unsupported_media_type', 'expected a body without Content-Encoding; send it uncompressed')
  }
}

async function readBytes(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  const body = await readBody(request, response, limitBytes).catch((error: unknown) => {
    throw new RestError('invalid_request', 'the body arrived incomplete; send it again', { cause: error })
  })
  if (body !== null) return body
  throw new RestError('payload_too_large', `the body is too large, expected at most ${limitBytes} bytes`)
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new RestError('invalid_request', 'the body is empty, expected a JSON object')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const format = error instanceof SyntaxError ? 'JSON' : 'UTF-8'
    throw new RestError('invalid_request', `the body is not well-formed ${format}, expected a JSON object`, {
      cause: error,
    })
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}
