import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { safeText } from '../base/log.ts'

const excerptBytes = 1_024
/** How long the beginning of the body is waited for. */
const excerptMs = 50
/** What of a body is read so that the connection may be used again; one that is larger or slower costs its connection. */
const [mostBytes, longestMs] = [65_536, 1_000]

/**
 * Reads the answer to a request. Calls `onExcerpt` once, with the beginning of its body as safe text: when there is enough of
 * it, when it ends, or 50 ms of wall time later. A body that breaks off changes nothing; one that never ends is cut off.
 */
export function readAnswer(
  request: ClientRequest,
  response: IncomingMessage,
  wall: Clock,
  onExcerpt: (excerpt: string) => void,
): void {
  const beginning: Buffer[] = []
  let received = 0

  let tell: (() => void) | undefined = () => {
    tell = undefined
    patience.cancel()
    onExcerpt(toExcerpt(Buffer.concat(beginning).subarray(0, excerptBytes)))
    beginning.length = 0
  }
  const patience = wall.after(excerptMs, () => tell?.())
  const end = wall.after(longestMs, () => request.destroy())

  response.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (tell !== undefined) beginning.push(chunk)
    if (received >= excerptBytes) tell?.()
    if (received > mostBytes) request.destroy()
  })
  response.on('end', () => {
    tell?.()
    // What is still to be sent is of no use to a receiver that has answered.
    if (!request.writableFinished) request.destroy()
  })
  response.on('error', () => request.destroy())
  response.on('close', () => tell?.())
  request.on('close', () => {
    end.cancel()
    tell?.()
  })
}

/** A character that was cut in two is left out. */
function toExcerpt(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const text = new TextDecoder().decode(bytes, { stream: true })
  return safeText(text, excerptBytes - 1)
}
