import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { BenchPostgres } from './server.ts'

/** Accepts events in parallel processes without HTTP: a burst, after a shorter warm-up. `serverMicros`: processor time of the server per event. */
export async function measureAccepts(
  postgres: BenchPostgres,
  { replicas, events, batch }: { readonly replicas: number; readonly events: number; readonly batch: number },
): Promise<{ readonly perSecond: number; readonly serverMicros: number }> {
  const url = await postgres.createBenchDatabase()
  const children = Array.from({ length: replicas }, () =>
    fork(new URL('./accept-process.ts', import.meta.url), { env: { ...process.env, BENCH_DATABASE: url } }),
  )
  try {
    await Promise.all(children.map((child) => once(child, 'message')))
    const share = Math.ceil(events / replicas)
    let from = 0
    const accept = async (count: number) => {
      const answers = children.map((child) => once(child, 'message') as Promise<[{ seconds: number }]>)
      for (const child of children) {
        child.send({ events: count, batch, from })
        from += count
      }
      const seconds = (await Promise.all(answers)).map(([answer]) => answer.seconds)
      return (count * replicas) / Math.max(...seconds)
    }
    await accept(Math.ceil(share / 4))
    const before = postgres.cpuSeconds()
    const perSecond = await accept(share)
    return { perSecond, serverMicros: ((postgres.cpuSeconds() - before) * 1e6) / (share * replicas) }
  } finally {
    const ended = Promise.all(children.map((child) => once(child, 'exit')))
    for (const child of children) child.disconnect()
    await ended
  }
}
