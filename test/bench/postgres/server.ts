import { readFileSync, readdirSync } from 'node:fs'
import { startPostgres, type TestPostgres } from '../../support/postgres.ts'

export interface BenchPostgres extends TestPostgres {
  /** Processor time of all its processes so far, in seconds. */
  cpuSeconds(): number
}

/**
 * A server that keeps what it has committed, as one in production does, and has room: no checkpoint falls into one round and not into
 * another. It counts its calls of functions.
 */
export async function startBenchPostgres(): Promise<BenchPostgres> {
  const server = await startPostgres({
    settings: {
      fsync: 'on',
      shared_buffers: '1GB',
      max_wal_size: '16GB',
      checkpoint_timeout: '1h',
      track_functions: 'pl',
    },
  })
  return { ...server, cpuSeconds: () => cpuSecondsOf(server.pid()) }
}

const ticksPerSecond = 100

/** Those that have ended count with the one that started them. */
function cpuSecondsOf(pid: number): number {
  const processes = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readTimes(name) ?? []) : []))
  const ticks = processes.reduce((sum, { id, parent, own, ended }) => {
    return id === pid ? sum + own + ended : parent === pid ? sum + own : sum
  }, 0)
  return ticks / ticksPerSecond
}

function readTimes(id: string) {
  let line: string
  try {
    line = readFileSync(`/proc/${id}/stat`, 'utf8')
  } catch {
    // It has ended meanwhile.
    return undefined
  }
  const fields = (line.split(') ')[1] ?? '').split(' ').map(Number)
  const [, parent = 0] = fields
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11)
  return { id: Number(id), parent, own: user + system, ended: endedUser + endedSystem }
}
