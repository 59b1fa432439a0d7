import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

export interface Attack {
  readonly port: number
  readonly connections: number
}

let connected = 0
const { port, connections } = workerData as Attack

/** Announces a body of 1 MiB or 64 KiB, sends at most a few bytes of it, and reconnects when closed. */
function open(index: number): void {
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' })
  const length = index % 2 === 0 ? 1024 * 1024 : 64 * 1024
  socket.write(
    `POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${'a'.repeat((index % 3) * 300)}`,
  )
  socket.resume()
  socket.once('connect', () => {
    if (++connected === connections) parentPort?.postMessage('connected')
  })
  socket.on('error', () => {})
  socket.on('close', () => open(index))
}

for (let index = 0; index < connections; index++) open(index)
