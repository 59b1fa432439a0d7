import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface StallingProxy extends AsyncDisposable {
  readonly port: number
  /** How many were made to it so far. */
  readonly connections: number
  /** From now on no byte comes through in either direction, and no connection is closed, as behind a network that lost its way. */
  stall(): void
  /** What was held back is lost with its connections; new ones come through. */
  resume(): void
}

/** A TCP proxy that can stand still while its connections look alive. */
export async function startStallingProxy(targetPort: number): Promise<StallingProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let isStalled = false
  let connections = 0

  const listener = createServer((client) => {
    connections++
    const server = connect({ port: targetPort, host: '127.0.0.1' })
    const pair = [client, server] as const
    pairs.add(pair)
    const end = () => {
      client.destroy()
      server.destroy()
      pairs.delete(pair)
    }
    for (const socket of pair) socket.on('error', end).on('close', () => isStalled || end())
    client.pipe(server)
    server.pipe(client)
    if (isStalled) hold(pair)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')

  function hold([client, server]: readonly [Socket, Socket]): void {
    client.unpipe(server).pause()
    server.unpipe(client).pause()
  }

  return {
    port: (listener.address() as AddressInfo).port,
    get connections() {
      return connections
    },
    stall() {
      isStalled = true
      for (const pair of pairs) hold(pair)
    },
    resume() {
      isStalled = false
      for (const [client, server] of pairs) {
        client.destroy()
        server.destroy()
      }
      pairs.clear()
    },
    async [Symbol.asyncDispose]() {
      for (const [client, server] of pairs) {
        client.destroy()
        server.destroy()
      }
      listener.close()
      await once(listener, 'close')
    },
  }
}
