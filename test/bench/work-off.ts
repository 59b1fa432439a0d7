import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { noop, writeHandlers } from './contenders.ts'
import { fillStore } from './fill.ts'
import { startProduct } from './server-process.ts'

export interface Start {
  /** Pending runs at the start. */
  readonly runs: number
  /** Milliseconds until the server was ready. */
  readonly readyMs: number
  /** Milliseconds until the first runs were done. */
  readonly firstVerdictsMs: number
  /** Runs per second after the server was ready. */
  readonly perSecond: number
  readonly peakMemoryMb: number
}

/** Measures a start on pending runs, and their execution. */
export async function measureStart(work: string, runs: number): Promise<Start> {
  const file = join(work, 'backlog.db')
  await fillStore(file, runs, { runs: 'open' })
  const startedAt = performance.now()
  const handlersDir = writeHandlers(join(work, 'backlog'), { filled: noop })
  const server = await startProduct({ databaseUrl: `sqlite:${file}`, handlersDir })
  try {
    const openBelow = async (count: number) => {
      while ((await server.openRuns()) >= count) await wait(50)
      return performance.now() - startedAt
    }
    const firstVerdictsMs = await openBelow(runs)
    const doneMs = await openBelow(1)
    const perSecond = (runs * 1_000) / (doneMs - server.startMs)
    return { runs, readyMs: server.startMs, firstVerdictsMs, perSecond, peakMemoryMb: server.peakMemoryMb() }
  } finally {
    await server.stop()
  }
}
