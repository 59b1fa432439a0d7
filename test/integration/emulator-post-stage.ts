import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { tlsPair } from '../fixtures/tls.ts'

/** The data of one connection. */
export interface RawConnectionSeen {
  readonly socket: Socket
  /** All bytes so far. */
  readonly bytes: () => Buffer
  /** The same in the pieces received. */
  readonly pieces: readonly Buffer[]
  /** `end`: in order. */
  readonly ended: Promise<'end' | 'reset'>
}

/** A TCP or TLS server on a free loopback port. `onData` is called with each piece. */
export async function createRawReceiver(
  onData: (connection: RawConnectionSeen) => void,
  { tls = false }: { tls?: boolean } = {},
) {
  const connections: RawConnectionSeen[] = []
  const accept = (socket: Socket) => {
    const pieces: Buffer[] = []
    const ended = new Promise<'end' | 'reset'>((resolve) => {
      socket.on('end', () => resolve('end'))
      socket.on('error', () => resolve('reset'))
    })
    const connection = { socket, pieces, ended, bytes: () => Buffer.concat(pieces) }
    connections.push(connection)
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece)
      onData(connection)
    })
  }
  const server = tls ? createTlsServer(tlsPair, accept) : createServer(accept)
  // TLS handshakes whose connection is gone.
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`${tls ? 'https' : 'http'}://127.0.0.1:${port}/webhooks`),
    connections: connections as readonly RawConnectionSeen[],
    async [Symbol.asyncDispose]() {
      server.close()
      for (const { socket } of connections) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** Head and body of a received request. */
export function splitRequest(bytes: Buffer): { readonly head: string; readonly body: Buffer } {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return { head: bytes.toString('latin1'), body: Buffer.alloc(0) }
  return { head: bytes.subarray(0, end).toString('latin1'), body: bytes.subarray(end + 4) }
}
