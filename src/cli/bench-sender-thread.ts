import { createHmac } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { parentPort, workerData } from 'node:worker_threads'

/** What `bench` lets its sender do. */
export interface SenderOptions {
  readonly port: number
  readonly path: string
  readonly secret: string
  /** Each sends the next event as soon as it has the answer to the last. */
  readonly connections: number
  /** Sent before anything is measured. */
  readonly warmUpMs: number
  readonly measuredMs: number
}

export interface Sent {
  /** Events acknowledged by 200 in the time that was measured. */
  readonly accepted: number
  /** Answers other than that. */
  readonly refused: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Events acknowledged from the first to the last. */
  readonly acceptedInAll: number
}

export type SenderMessage = { readonly connected: true } | { readonly sent: Sent } | { readonly failed: string }

/** So many wallets in turn: what order is kept by. */
const wallets = 1_000
const headEnd = '\r\n\r\n'

/** A signed request with an event that there was not before: about 450 bytes of body. */
function makeRequest({ path, secret }: SenderOptions, index: number): string {
  const wallet = `0x${(index % wallets).toString(16).padStart(40, '0')}`
  const body =
    `{"id": "evt_bench${String(index).padStart(12, '0')}", "type": "wallet.large_trade", "created_at": "${new Date().toISOString()}", ` +
    `"data": {"wallet_address": "${wallet}", "network": "ethereum", "trade_type": "buy", ` +
    `"token_address": "0x${'5a'.repeat(20)}", "token_symbol": "BENCH", "amount_usd": ${index}.50, "tx_hash": "0x${'ab'.repeat(32)}"}}`
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nX-Service-Signature: ${signature}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}${headEnd}${body}`
  )
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

async function send(options: SenderOptions, onConnected: () => void): Promise<Sent> {
  const sockets = await Promise.all(Array.from({ length: options.connections }, () => open(options.port)))
  onConnected()
  const { promise: broken, reject } = Promise.withResolvers<never>()
  const histogram = createHistogram()
  let [next, accepted, refused, acceptedInAll] = [0, 0, 0, 0]
  let [isMeasured, isOver] = [false, false]

  async function work(socket: Socket): Promise<void> {
    while (!isOver) {
      const request = makeRequest(options, next++)
      const answered = new Promise<Buffer>((resolve) => socket.once('data', resolve))
      const sentAt = process.hrtime.bigint()
      socket.write(request)
      // One request at a time on a connection, and an answer fits one packet.
      const answer = await Promise.race([answered, broken])
      const isAccepted = answer.subarray(9, 12).toString('latin1') === '200'
      if (isAccepted) acceptedInAll++
      if (!isMeasured || isOver) continue
      histogram.record(process.hrtime.bigint() - sentAt)
      if (isAccepted) accepted++
      else refused++
    }
  }

  for (const socket of sockets) {
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('a connection was closed')))
  }
  const all = Promise.all(sockets.map(work))
  await Promise.race([after(options.warmUpMs), all])
  isMeasured = true
  const startedAt = performance.now()
  await Promise.race([after(options.measuredMs), all])
  isOver = true
  const seconds = (performance.now() - startedAt) / 1_000
  await all
  for (const socket of sockets) socket.removeAllListeners('close').destroy()
  const inMs = (nanoseconds: number) => nanoseconds / 1e6
  return {
    accepted,
    refused,
    seconds,
    acceptedInAll,
    p50Ms: inMs(histogram.percentile(50)),
    p99Ms: inMs(histogram.percentile(99)),
    maxMs: accepted + refused === 0 ? 0 : inMs(histogram.max),
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

const tell = (message: SenderMessage) => parentPort?.postMessage(message)
send(workerData as SenderOptions, () => tell({ connected: true })).then(
  (sent) => tell({ sent }),
  (error: unknown) => tell({ failed: error instanceof Error ? error.message : String(error) }),
)
