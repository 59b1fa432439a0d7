import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'

/** A TCP server for a test. `behave` is called for each connection with its index. */
export async function startSocketServer(behave: (socket: Socket, index: number) => void = () => {}) {
  const sockets: Socket[] = []
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    behave(socket, sockets.push(socket) - 1)
    server.emit('taken')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/`,
    sockets,
    /** Waits for `count` connections. */
    async taken(count: number) {
      while (sockets.length < count) await once(server, 'taken')
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}
