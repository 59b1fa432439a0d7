import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { noop, writeHandlers } from './contenders.ts'
import { fillStore } from './fill.ts'
import { startProduct } from './server-process.ts'

export type Start = Awaited<ReturnType<typeof measureStart>>

/** Measures a start on pending runs, and their execution: until it is ready, until the first results, and runs per second since it was ready. */
export async function measureStart(work: string, runs: number) {
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

export type Replayed = Awaited<ReturnType<typeof measureReplay>>

/** Measures a replay of stored events, all of them handled before, and its peak memory after a tenth of the runs and at the end. */
export async function measureReplay(work: string, events: number) {
  const file = join(work, 'replay.db')
  await fillStore(file, events, { runs: 'done' })
  const server = await startProduct({
    databaseUrl: `sqlite:${file}`,
    handlersDir: writeHandlers(join(work, 'replay'), { filled: noop }),
  })
  try {
    const startedAt = performance.now()
    const id = await server.startReplay('filled')
    const workedOff = async (share: number) => {
      for (;;) {
        const { state, runs, open_runs: open } = await server.replay(id)
        if (state !== 'running' || runs - open >= share * events) return runs
        await wait(50)
      }
    }
    await workedOff(0.1)
    const tenthMemoryMb = server.peakMemoryMb()
    const runs = await workedOff(1)
    const seconds = (performance.now() - startedAt) / 1_000
    return { runs, seconds, perSecond: runs / seconds, tenthMemoryMb, peakMemoryMb: server.peakMemoryMb() }
  } finally {
    await server.stop()
  }
}
