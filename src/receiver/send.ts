import type { ServerResponse } from 'node:http'
import type { Answer } from './answer.ts'

/** Sends an answer; `close`: nothing more is to come on its connection. */
export function send(response: ServerResponse, answer: Answer, close: boolean): void {
  if (response.headersSent || response.destroyed) return
  const headers: Record<string, string | number> = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(answer.body),
    ...answer.headers,
  }
  const isLast = close || answer.close
  if (isLast) headers['Connection'] = 'close'
  response.writeHead(answer.status, headers)
  if (isLast && !response.req.complete) closeLate(response, answer.body)
  else response.end(answer.body)
}

const lateClose = { afterMs: 2_000, discardBytes: 4 * 1024 * 1024 }

/**
 * Answers and says that nothing follows, but closes only when the client has, or after a while. Closing at once, with bytes
 * of the body on their way, would reset the connection, and the client could lose the answer. What still comes is thrown
 * away, and from some amount on not even read.
 */
function closeLate(response: ServerResponse, body: string): void {
  const { req: request } = response
  const close = () => {
    clearTimeout(timer)
    request.socket.destroySoon()
  }
  const timer = setTimeout(close, lateClose.afterMs)
  timer.unref()
  let discarded = 0
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length
    if (discarded > lateClose.discardBytes) request.pause()
  })
  request.once('end', close)
  request.once('close', close)

  // Complete by its Content-Length. Ending the response would make Node close at once.
  response.write(body)
  request.socket.end()
  request.resume()
}
