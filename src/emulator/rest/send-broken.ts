import type { ServerResponse } from 'node:http'

export interface WholeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends an answer that breaks off: in its JSON with its framing right, in its framing, or as a reset connection. */
export function sendBroken(
  kind: 'malformed' | 'malformed-chunk' | 'reset',
  response: ServerResponse,
  { status, headers, body }: WholeAnswer,
): void {
  // A response that waits for another one on its connection has none yet.
  const socket = response.socket ?? response.req.socket
  const half = body.slice(0, Math.floor(body.length / 2))
  switch (kind) {
    case 'malformed':
      response.writeHead(status, { ...headers, 'Content-Length': String(Buffer.byteLength(half)) }).end(half)
      return
    case 'malformed-chunk': {
      const { 'Content-Length': _, ...others } = headers
      response.writeHead(status, others)
      response.write(half)
      // Not a length in hexadecimal: nothing can be read beyond it.
      socket.end('no length\r\n')
      return
    }
    case 'reset':
      // Above TLS there is nothing to reset.
      if ('encrypted' in socket) socket.destroy()
      else socket.resetAndDestroy()
  }
}
