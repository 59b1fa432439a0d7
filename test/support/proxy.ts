import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

const terminatedFields = 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'
/** The message with which PostgreSQL ends a connection. */
export const terminatedMessage = Buffer.from(
  `E\0\0\0${String.fromCharCode(4 + terminatedFields.length)}${terminatedFields}`,
)

/** A TCP proxy in front of a local port. `change`: changes what the server sends, chunk by chunk. */
export async function startProxy(targetPort: number, { change = (chunk: Buffer) => chunk } = {}) {
  const pairs = new Set<readonly [Socket, Socket]>()
  let isStalled = false
  let connections = 0
  const destroyAll = () => {
    for (const socket of [...pairs].flat()) socket.destroy()
    pairs.clear()
  }

  const listener = createServer((client) => {
    connections++
    const target = connect({ port: targetPort, host: '127.0.0.1' })
    const pair = [client, target] as const
    pairs.add(pair)
    for (const [from, to] of [pair, [target, client] as const]) {
      from.on('data', (chunk: Buffer) => to.writable && to.write(from === target ? change(chunk) : chunk))
      from.on('error', () => {})
      from.on('close', () => !isStalled && to.destroy())
      if (isStalled) from.pause()
    }
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')

  return {
    port: (listener.address() as AddressInfo).port,
    /** Connections to the proxy so far. */
    get connections() {
      return connections
    },
    /** From now on no byte passes in either direction, and no connection closes, as in a broken network. */
    stall() {
      isStalled = true
      for (const socket of [...pairs].flat()) socket.pause()
    },
    /** Ends the stalled connections. New ones pass. */
    resume() {
      isStalled = false
      destroyAll()
    },
    async [Symbol.asyncDispose]() {
      destroyAll()
      listener.close()
      await once(listener, 'close')
    },
  }
}
