import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { renderTable } from '../../src/cli/table.ts'
import { writeHandlers } from './contenders.ts'
import { toDelivery } from './load.ts'
import { benchSecret, startProduct, type ProductProcess } from './server-process.ts'

/** Memory of `serve` with few or no deliveries. */
export interface Rest {
  readonly name: string
  readonly startMs: number
  /** Resident set in MB: when it is ready, and means of a tenth of the time before a sixth of it and before the end. */
  readonly startMb: number
  readonly sixthMb: number
  readonly restMb: number
}

const handler = `import { defineHandler } from 'onchain-inbox'
export default defineHandler({ type: 'wallet.large_trade', run: async ({ id }: { readonly id: string }) => void id })
`

const health = [['/healthz', 10_000]] as const
const metrics = ['/metrics', 15_000] as const

/** Starts `serve` in four ways, waits, and measures. A thread for queries ends three minutes after the start. */
export async function measureRest(work: string, seconds: number, cli?: string): Promise<readonly Rest[]> {
  const none = writeHandlers(join(work, 'none'), {})
  const one = writeHandlers(join(work, 'one'), { 'handler.ts': handler })
  const cases = [
    { name: 'no handlers', handlersDir: none, ask: [], perSecond: 0 },
    { name: 'one TypeScript handler, /healthz every 10 s', handlersDir: one, ask: health, perSecond: 0 },
    { name: 'and /metrics every 15 s', handlersDir: one, ask: [...health, metrics], perSecond: 0 },
    { name: 'and 20 events/s', handlersDir: one, ask: [...health, metrics], perSecond: 20 },
  ] as const
  await using opened = new AsyncDisposableStack()
  const started = []
  for (const [index, { name, handlersDir, ask, perSecond }] of cases.entries()) {
    const server = await startProduct({ databaseUrl: `sqlite:${join(work, `rest-${index}.db`)}`, handlersDir, cli })
    opened.defer(() => server.stop())
    for (const [path, everyMs] of ask) {
      const timer = setInterval(() => void server.get(path), everyMs)
      opened.defer(() => clearInterval(timer))
    }
    const acknowledged =
      perSecond === 0 ? () => 0 : opened.adopt(send(server, perSecond), ({ stop }) => stop()).acknowledged
    started.push({ name, server, perSecond, acknowledged, startMb: server.memoryMb(), samples: [] as number[] })
  }
  for (let second = 0; second < seconds; second++) {
    await sleep(1_000)
    for (const { server, samples } of started) samples.push(server.memoryMb())
  }
  return started.map(({ name, server, perSecond, acknowledged, startMb, samples }) => {
    if (acknowledged() < 0.8 * perSecond * seconds) throw new Error(`${name}: only ${acknowledged()} were acknowledged`)
    const meanBefore = (share: number) => {
      const part = samples.slice(Math.floor((share - 0.1) * seconds), Math.ceil(share * seconds))
      return part.reduce((sum, mb) => sum + mb, 0) / part.length
    }
    return { name, startMs: server.startMs, startMb, sixthMb: meanBefore(1 / 6), restMb: meanBefore(1) }
  })
}

/** Sends events on one connection. */
function send({ port }: ProductProcess, perSecond: number) {
  const socket = connect({ host: '127.0.0.1', port })
  let acknowledged = 0
  socket.on('data', (chunk) => (acknowledged += chunk.toString('latin1').split('HTTP/1.1 200').length - 1))
  socket.on('error', () => {})
  const load = { ports: [port], path: '/webhooks', secret: benchSecret, connections: 1, events: 0, keys: 500 }
  let sent = 0
  const timer = setInterval(
    () => socket.write(toDelivery({ ...load, idPrefix: 'rest-' }, sent++).request),
    1_000 / perSecond,
  )
  return {
    acknowledged: () => acknowledged,
    stop: () => {
      clearInterval(timer)
      socket.destroy()
    },
  }
}

export function renderRest(results: readonly Rest[]): string {
  const rows = results.map(({ name, startMs, startMb, sixthMb, restMb }) => {
    const memory = [startMb, sixthMb, restMb].map((mb) => `${mb.toFixed(0)} MB`)
    return [name, `${startMs.toFixed(0)} ms`, ...memory]
  })
  return renderTable(['serve', 'ready after', 'memory when ready', 'after a sixth of the time', 'at the end'], rows)
}
