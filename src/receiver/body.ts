import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import type { AnswerCode } from './answer.ts'
import type { Pressure } from './pressure.ts'

export interface BodyOptions {
  readonly limitBytes: number
  /** The Content-Length; undefined if there is none. */
  readonly length: number | undefined
  readonly pressure: Pick<Pressure, 'enterBody'>
}

// A piece costs some 450 bytes of memory beside its content until the body is complete. A network's pieces are far larger.
const pieces = { free: 128, bytesEach: 256 }

/** Makes raw-body let go of a body. One for all: under attack the stack of each would cost more than the rest. */
const stopped = new Error('the body is not read to its end')

/** Reads the exact bytes of a body. Else it gives the code to answer with; null if the client went away before its end. */
export async function readBody(
  request: IncomingMessage,
  { limitBytes, length, pressure }: BodyOptions,
): Promise<Buffer | AnswerCode | null> {
  let code: AnswerCode | null = null
  let count = 0
  let bytes = 0
  const room = pressure.enterBody(() => stop('overloaded'))

  function stop(why: AnswerCode): void {
    code = why
    request.off('data', onData)
    request.emit('error', stopped)
  }
  function onData(chunk: Buffer): void {
    bytes += chunk.length
    room.received(chunk.length)
    if (++count > pieces.free + bytes / pieces.bytesEach) stop('bad_request')
  }

  // raw-body may have let go of the request already: then nobody else would hear an error.
  request.on('error', () => {}).on('data', onData)
  try {
    return await getRawBody(request, { limit: limitBytes, ...(length !== undefined && { length }) })
  } catch (error) {
    return code ?? codeOf(error)
  } finally {
    request.off('data', onData)
    room.leave()
  }
}

/** Null if the client went away. */
function codeOf(error: unknown): AnswerCode | null {
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return 'body_too_large'
  return type === 'request.size.invalid' ? 'bad_request' : null
}

/**
 * What came of a body before it reached us: `unread`; its exact bytes, where a parser kept them as `body` (`express.raw()`) or as
 * `rawBody` (the `verify` hook of the other parsers); `lost`, where only what a parser made of them is left.
 */
export function bodyReadBefore(request: IncomingMessage): Buffer | 'unread' | 'lost' {
  if (!request.readableDidRead && request.readableEncoding === null) return 'unread'
  const { rawBody, body } = request as { readonly rawBody?: unknown; readonly body?: unknown }
  if (Buffer.isBuffer(rawBody)) return rawBody
  return Buffer.isBuffer(body) ? body : 'lost'
}
