import { readFileSync } from 'node:fs'
import { ask, startPostgres } from '../../support/postgres.ts'

export type BenchPostgres = Awaited<ReturnType<typeof startBenchPostgres>>

/** A server as durable as in production. It has room, so that no checkpoint falls into a round, and it counts calls of functions. */
export async function startBenchPostgres() {
  const server = await startPostgres({
    settings: {
      fsync: 'on',
      shared_buffers: '1GB',
      max_wal_size: '16GB',
      checkpoint_timeout: '1h',
      track_functions: 'pl',
    },
  })
  let databases = 0
  return {
    ...server,
    /** Creates an empty database and returns its URL. */
    createBenchDatabase: () => server.createDatabase(`bench_${++databases}`),
    /** Drops all databases, so that no vacuum of them runs into the next measurement. */
    async dropBenchDatabases() {
      const url = await server.createDatabase(`bench_${++databases}`)
      for (let n = 1; n < databases; n++) await ask(url, `DROP DATABASE IF EXISTS bench_${n} WITH (FORCE)`)
    },
    /** Processor seconds of all its processes so far. */
    cpuSeconds: () => cpuSecondsOf(server.pid()),
  }
}

const ticksPerSecond = 100

/** Processor time of a process, its ended children and its living children (on Linux). */
function cpuSecondsOf(pid: number): number {
  const [own, system, ended, endedSystem] = ticksOf(pid)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  const ticks = children
    .map(ticksOf)
    .reduce((sum, [user, kernel]) => sum + user + kernel, own + system + ended + endedSystem)
  return ticks / ticksPerSecond
}

/** User and system time of a process, and of its ended children. Zero for a process that has ended. */
function ticksOf(pid: number): [number, number, number, number] {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    return fields.split(' ').slice(11, 15).map(Number) as [number, number, number, number]
  } catch {
    return [0, 0, 0, 0]
  }
}
