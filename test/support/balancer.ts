import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Balancer extends AsyncDisposable {
  readonly url: string
  /** Ends all connections to a port, also those that are being opened, as a balancer does that has found its target dead. */
  cut(port: number): void
}

/**
 * A small TCP balancer: each connection goes to the next of the targets that takes one. `targets` is asked for each connection and
 * gives the ports that are up as far as is known.
 */
export async function startBalancer(targets: () => readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>()
  const ports = new WeakMap<Socket, number>()
  let turn = 0

  /** Tries one after the other; a client that nobody takes is cut off, as by a real one without health checks. */
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
