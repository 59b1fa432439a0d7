import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { renderTable } from '../../src/cli/table.ts'
import { writeHandlers } from './contenders.ts'
import { startProduct, type ProductProcess } from './server-process.ts'

/** Memory of `serve` at rest. */
export interface Rest {
  readonly name: string
  readonly startMs: number
  /** Resident set in MB, at the start and at the end. */
  readonly startMb: number
  readonly restMb: number
}

const handler = `import { defineHandler } from 'onchain-inbox'
export default defineHandler({ type: 'wallet.large_trade', run: async ({ id }: { readonly id: string }) => void id })
`

const health = [['/healthz', 10_000]] as const

/** Starts `serve` in three ways, waits, and measures. A thread for queries ends three minutes after the start. */
export async function measureRest(work: string, seconds: number): Promise<readonly Rest[]> {
  const none = writeHandlers(join(work, 'none'), {})
  const one = writeHandlers(join(work, 'one'), { 'handler.ts': handler })
  const cases = [
    { name: 'no handlers', handlersDir: none, ask: [] },
    { name: 'one TypeScript handler, /healthz every 10 s', handlersDir: one, ask: health },
    { name: 'and /metrics every 15 s', handlersDir: one, ask: [...health, ['/metrics', 15_000]] },
  ] as const
  const servers: ProductProcess[] = []
  try {
    const started = []
    for (const [index, { name, handlersDir, ask }] of cases.entries()) {
      const server = await startProduct({ databaseUrl: `sqlite:${join(work, `rest-${index}.db`)}`, handlersDir })
      servers.push(server)
      const timers = ask.map(([path, everyMs]) => setInterval(() => void server.get(path), everyMs))
      started.push({ name, server, timers, startMs: server.startMs, startMb: server.memoryMb() })
    }
    await sleep(seconds * 1_000)
    return started.map(({ name, server, timers, startMs, startMb }) => {
      for (const timer of timers) clearInterval(timer)
      return { name, startMs, startMb, restMb: server.memoryMb() }
    })
  } finally {
    for (const server of servers) await server.stop()
  }
}

export function renderRest(results: readonly Rest[]): string {
  const rows = results.map(({ name, startMs, startMb, restMb }) => {
    return [name, `${startMs.toFixed(0)} ms`, `${startMb.toFixed(0)} MB`, `${restMb.toFixed(0)} MB`]
  })
  return renderTable(['serve at rest', 'ready after', 'memory when ready', 'at rest'], rows)
}
