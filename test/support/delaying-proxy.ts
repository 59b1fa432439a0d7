import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface DelayingProxy extends AsyncDisposable {
  readonly port: number
}

/** A TCP proxy through which everything takes so long in each direction, in milliseconds. */
export async function startDelayingProxy(targetPort: number, ms: number): Promise<DelayingProxy> {
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const target = connect({ port: targetPort, host: '127.0.0.1' })
    const pairs = [
      [client, target],
      [target, client],
    ] as const
    for (const [from, to] of pairs) {
      sockets.add(from)
      from.on('data', (bytes: Buffer) => void setTimeout(() => to.writable && to.write(bytes), ms))
      from.on('close', () => void setTimeout(() => to.destroy(), ms))
      from.on('error', () => {})
    }
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    port: (listener.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}
