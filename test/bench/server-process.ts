import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { LoadOptions, LoadResult } from './load.ts'

export const benchSecret = 'bench-secret-0123456789'
const adminToken = 'bench-admin-token-0123456789'

const cli = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))

export interface ServerProcess {
  readonly port: number
  /** Milliseconds from its start until it was ready for requests. */
  readonly startMs: number
  /** Highest resident set so far, in MB. */
  peakMemoryMb(): number
  /** Processor time so far, in seconds. */
  cpuSeconds(): number
  /** Runs that are not finished, as its admin API tells. */
  openRuns(): Promise<number>
  stop(): Promise<void>
}

export async function startCeiling(): Promise<ServerProcess> {
  const startedAt = performance.now()
  const child = fork(new URL('./ceiling.ts', import.meta.url), { env: { ...process.env, BENCH_SECRET: benchSecret } })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return describe(child, port, performance.now() - startedAt, async () => 0)
}

/** The product as it is shipped: `dist/`, its own process, its own database file. */
export async function startProduct(options: {
  readonly file: string
  readonly handlersDir: string
}): Promise<ServerProcess> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [cli, 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      INBOX_SECRETS: `bench:${benchSecret}`,
      INBOX_ADMIN_TOKEN: adminToken,
      INBOX_PORT: '0',
      INBOX_ADMIN_PORT: '0',
      INBOX_DATABASE_URL: `sqlite:${options.file}`,
      INBOX_HANDLERS: options.handlersDir,
    },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const entry = JSON.parse(line) as { msg: string; url: string; adminUrl: string }
    if (entry.msg !== 'listening') continue
    child.stdout.resume()
    return describe(child, Number(new URL(entry.url).port), performance.now() - startedAt, () =>
      openRuns(entry.adminUrl),
    )
  }
  throw new Error('the product ended before it was ready: see its output above')
}

async function openRuns(adminUrl: string): Promise<number> {
  const response = await fetch(`${adminUrl}/api/v1/handlers`, { headers: { authorization: `Bearer ${adminToken}` } })
  const { data } = (await response.json()) as { data: readonly Record<string, number>[] }
  const open = ['waiting', 'ready', 'suspect', 'running']
  return data.reduce((sum, handler) => sum + open.reduce((part, state) => part + (handler[state] ?? 0), 0), 0)
}

function describe(
  child: ChildProcess,
  port: number,
  startMs: number,
  countOpenRuns: () => Promise<number>,
): ServerProcess {
  return {
    port,
    startMs,
    peakMemoryMb: () => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    cpuSeconds: () => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      return (Number(fields[11]) + Number(fields[12])) / 100
    },
    openRuns: countOpenRuns,
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** One measured burst from the load generator's own process. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const child = fork(new URL('./load.ts', import.meta.url))
  child.send(options)
  const [result] = (await once(child, 'message')) as [LoadResult]
  child.kill()
  return result
}
