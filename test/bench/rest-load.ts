import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'

/** The load generator for reads, a process of its own: each connection asks again as soon as it has its answer. */
export interface RestLoadOptions {
  readonly port: number
  readonly connections: number
  readonly requests: number
  readonly apiKey: string
  /** Asked in turn. */
  readonly paths: readonly string[]
}

export interface RestLoadResult {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers other than 200. */
  readonly refused: number
  /** Mean size of a body. */
  readonly bodyBytes: number
}

const headEnd = Buffer.from('\r\n\r\n')

async function run(options: RestLoadOptions): Promise<RestLoadResult> {
  const wanted = options.paths.map((path) =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${options.apiKey}\r\n\r\n`),
  )
  const histogram = createHistogram()
  const sockets = await Promise.all(Array.from({ length: options.connections }, () => open(options.port)))
  const { promise: finished, resolve: finish, reject } = Promise.withResolvers<void>()
  let next = 0
  let answered = 0
  let refused = 0
  let bodyBytes = 0

  const startedAt = process.hrtime.bigint()
  for (const socket of sockets) {
    let sentAt = 0n
    let received: Buffer = Buffer.alloc(0)
    const send = () => {
      const request = next < options.requests ? wanted[next % wanted.length] : undefined
      next++
      if (request === undefined) return
      sentAt = process.hrtime.bigint()
      socket.write(request)
    }
    socket.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const end = received.indexOf(headEnd)
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1])
      if (received.length < end + headEnd.length + length) return
      if (received.toString('latin1', 9, 12) !== '200') refused++
      bodyBytes += length / options.requests
      received = Buffer.alloc(0)
      histogram.record(process.hrtime.bigint() - sentAt)
      if (++answered === options.requests) finish()
      else send()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection')))
    send()
  }
  await finished
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  for (const socket of sockets) {
    socket.removeAllListeners('close')
    socket.destroy()
  }
  return {
    perSecond: options.requests / seconds,
    p50Ms: histogram.percentile(50) / 1e6,
    p99Ms: histogram.percentile(99) / 1e6,
    refused,
    bodyBytes: Math.round(bodyBytes),
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

process.once('message', (options: RestLoadOptions) => {
  run(options).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    },
  )
})
