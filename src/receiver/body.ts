import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { InboxError } from '../errors.ts'
import type { AnswerCode } from './answer.ts'

export interface BodyOptions {
  readonly limitBytes: number
  /** As its Content-Length says. */
  readonly length: number | undefined
}

// A piece costs some 450 bytes of memory beside its content until the body is complete. A network's pieces are far larger.
const pieces = { free: 128, bytesEach: 256 }

/** Reads the exact bytes of a body. Rejects with what `bodyError` understands. */
export function readBody(request: IncomingMessage, { limitBytes, length }: BodyOptions): Promise<Buffer> {
  const reading = getRawBody(request, { limit: limitBytes, ...(length !== undefined && { length }) })
  if (length === undefined || length > pieces.free) limitPieces(request)
  return reading
}

/**
 * What came of a body before it reached us: `unread`; its exact bytes, where a parser kept them as `body` (`express.raw()`) or as
 * `rawBody` (the `verify` hook of the other parsers); `lost`, where only what a parser made of them is left.
 */
export function bodyReadBefore(request: IncomingMessage): Buffer | 'unread' | 'lost' {
  if (!request.readableDidRead) return 'unread'
  const { rawBody, body } = request as { readonly rawBody?: unknown; readonly body?: unknown }
  if (Buffer.isBuffer(rawBody)) return rawBody
  return Buffer.isBuffer(body) ? body : 'lost'
}

/** Ends the reading of a body that comes in pieces too small for its size. */
function limitPieces(request: IncomingMessage): void {
  // raw-body may have let go of the request already: then nobody else would hear the error below.
  request.on('error', () => {})
  let count = 0
  let bytes = 0
  request.on('data', function onData(chunk: Buffer) {
    bytes += chunk.length
    if (++count <= pieces.free + bytes / pieces.bytesEach) return
    request.off('data', onData)
    // Makes raw-body let go of what it holds; destroying the request would take the answer away with the connection.
    request.emit('error', new InboxError('bad_request', 'the body comes in too many pieces'))
  })
}

/** Which answer an error of reading gets; null if there is nobody to answer. */
export function bodyError(error: unknown): AnswerCode | null {
  if (error instanceof InboxError) return 'bad_request'
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return 'body_too_large'
  if (type === 'request.size.invalid') return 'bad_request'
  return null
}
