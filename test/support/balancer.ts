import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Balancer extends AsyncDisposable {
  readonly url: string
  /** Ends all connections to a port, like a balancer whose health check fails. */
  cut(port: number): void
}

/** A TCP balancer: each connection goes to the next target that accepts it. `targets`: returns the ports of healthy targets. */
export async function startBalancer(targets: () => readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>()
  const ports = new WeakMap<Socket, number>()
  let turn = 0

  /** Tries the targets in turn. Ends the client if none accepts. */
  function forward(client: Socket, wanted: readonly number[]): void {
    const [port, ...others] = wanted.filter((candidate) => targets().includes(candidate))
    if (port === undefined || client.destroyed) return void client.destroy()
    const server = connect({ port, host: '127.0.0.1' })
    sockets.add(server)
    ports.set(server, port)
    let isConnected = false
    server.on('connect', () => {
      isConnected = true
      client.on('close', () => server.destroy())
      client.pipe(server).pipe(client)
    })
    server.on('error', () => {})
    server.on('close', (hasFailed) => {
      sockets.delete(server)
      if (hasFailed && !isConnected) forward(client, others)
      else client.destroy()
    })
  }

  const listener = createServer((client) => {
    sockets.add(client)
    client.on('error', () => client.destroy()).on('close', () => sockets.delete(client))
    const all = targets()
    const first = turn++ % Math.max(1, all.length)
    forward(client, [...all.slice(first), ...all.slice(0, first)])
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/webhooks`,
    cut(port) {
      for (const socket of sockets) if (ports.get(socket) === port) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}
