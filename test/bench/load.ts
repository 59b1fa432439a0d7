import { createHmac } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'

/** Signed deliveries. */
export interface DeliveryLoad {
  /** Connections are spread over them. */
  readonly ports: readonly number[]
  readonly connections: number
  readonly path: string
  readonly secret: string
  readonly events: number
  /** Makes ids unique across runs. */
  readonly idPrefix: string
  /** Number of wallets, which take turns: order is kept per wallet. */
  readonly keys: number
}

export interface LoadResult {
  readonly seconds: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Number of responses other than 200. */
  readonly refused: number
}

/** Signs a delivery with 400 to 600 bytes of body. */
export function toDelivery(options: DeliveryLoad, index: number): { readonly id: string; readonly request: Buffer } {
  const number = String(index).padStart(10, '0')
  const id = `evt_${options.idPrefix}${number}`
  const wallet = `0x${createHmac('sha256', 'wallet')
    .update(String(index % options.keys))
    .digest('hex')
    .slice(0, 40)}`
  const body = JSON.stringify({
    id,
    type: 'wallet.large_trade',
    created_at: '2026-01-01T00:00:00.000Z',
    data: {
      wallet_address: wallet,
      network: 'ethereum',
      trade_type: 'buy',
      token_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      token_symbol: 'BENCH',
      amount_usd: 12_345.67 + index,
      tx_hash: `0x${'ab'.repeat(32)}`,
      note: 'x'.repeat(20 + (index % 160)),
    },
  })
  const signature = createHmac('sha256', options.secret).update(body).digest('hex')
  const request = Buffer.from(
    `POST ${options.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nX-Service-Signature: ${signature}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  return { id, request }
}

/**
 * Sends on keep-alive connections, each with one request in flight. Requests are made before the clock starts, so that
 * the generator takes as little of the machine as it can.
 */
async function run(options: DeliveryLoad): Promise<LoadResult> {
  const requests = Array.from({ length: options.events }, (_, index) => toDelivery(options, index).request)
  const { ports, connections } = options
  const sockets = await Promise.all(Array.from({ length: connections }, (_, n) => open(ports[n % ports.length] ?? 0)))
  const histogram = createHistogram()
  let next = 0
  let answered = 0
  let refused = 0
  const { promise: finished, resolve: finish, reject } = Promise.withResolvers<void>()

  const startedAt = process.hrtime.bigint()
  for (const socket of sockets) {
    let sentAt = 0n
    const send = () => {
      const request = requests[next++]
      if (request === undefined) return
      sentAt = process.hrtime.bigint()
      socket.write(request)
    }
    socket.on('data', (chunk: Buffer) => {
      // A response fits in one packet, so each chunk is one response.
      if (chunk.toString('latin1', 9, 12) !== '200') refused++
      histogram.record(process.hrtime.bigint() - sentAt)
      if (++answered === requests.length) finish()
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
    seconds,
    perSecond: requests.length / seconds,
    p50Ms: histogram.percentile(50) / 1e6,
    p99Ms: histogram.percentile(99) / 1e6,
    maxMs: histogram.max / 1e6,
    refused,
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

// The generator is a process of its own: it takes its options as a message and answers with the result.
process.once('message', (options: DeliveryLoad) => {
  run(options).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    },
  )
})
