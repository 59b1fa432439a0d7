import type { IncomingMessage } from 'node:http'
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

/** Reads the exact bytes of a body. Else it gives the code to answer with; null if the client went away before its end. */
export function readBody(
  request: IncomingMessage,
  { limitBytes, length, pressure }: BodyOptions,
): Promise<Buffer | AnswerCode | null> {
  const { promise, resolve } = Promise.withResolvers<Buffer | AnswerCode | null>()
  const room = pressure.enterBody(() => finish('overloaded'))
  const chunks: Buffer[] = []
  let bytes = 0

  function onData(chunk: Buffer): void {
    bytes += chunk.length
    chunks.push(chunk)
    room.received(chunk.length)
    if (bytes > limitBytes) finish('body_too_large')
    else if (chunks.length > pieces.free + bytes / pieces.bytesEach) finish('bad_request')
  }
  function onEnd(): void {
    if (length !== undefined && bytes !== length) finish('bad_request')
    else finish(chunks.length > 1 ? Buffer.concat(chunks, bytes) : (chunks[0] ?? Buffer.alloc(0)))
  }
  const onClose = () => finish(null)

  function finish(result: Buffer | AnswerCode | null): void {
    request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
    room.leave()
    resolve(result)
  }

  // Closed early, it also emits an error, perhaps after `finish`.
  request.on('error', () => {})
  if (request.destroyed) onClose()
  else request.on('data', onData).on('end', onEnd).on('close', onClose)
  return promise
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
