import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { LoadOptions, LoadResult } from './load.ts'

/** Somebody who has the console open: what its pages ask for, as often as they do, and the live stream. */
interface Visitor {
  /** Resolves when nothing of it is under way any more. */
  leave(): Promise<void>
}

/** What is asked for again and again, and how often: the page of events is the busiest, and stands for all that are open. */
const polls = [
  { path: '/events?limit=200', everyMs: 5_000 },
  { path: '/activity?window=hour', everyMs: 5_000 },
  { path: '/handlers', everyMs: 10_000 },
] as const

/** Visits the console of a product, by its API. */
function visitConsole(api: string, token: string): Visitor {
  const ending = new AbortController()
  const { signal } = ending
  const headers = { authorization: `Bearer ${token}` }
  const open = (path: string) => fetch(`${api}${path}`, { headers, signal })

  async function listen(): Promise<void> {
    const { body } = await open('/stream?kinds=events,overview,changed')
    for await (const _part of body ?? []);
  }

  async function poll({ path, everyMs }: (typeof polls)[number]): Promise<void> {
    while (!signal.aborted) {
      await (await open(path)).arrayBuffer()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  const underWay = [listen(), ...polls.map(poll)].map((part) =>
    part.catch((error: unknown) => {
      if (!signal.aborted) throw error
    }),
  )
  return {
    async leave() {
      ending.abort()
      await Promise.all(underWay)
    },
  }
}

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
  stop(): Promise<void>
}

export interface ProductProcess extends ServerProcess {
  /** Runs that are not finished. */
  openRuns(): Promise<number>
  /** Hands out no more runs, or hands them out again. */
  pause(isPaused: boolean): Promise<void>
  /** Starts a replay of everything for one handler; gives its number. */
  startReplay(handler: string): Promise<number>
  /** Has somebody look at its console from now on. */
  visit(): Visitor
  replay(id: number): Promise<{ readonly state: string; readonly runs: number; readonly open_runs: number }>
}

export async function startCeiling(): Promise<ServerProcess> {
  const startedAt = performance.now()
  const child = fork(new URL('./ceiling.ts', import.meta.url), { env: { ...process.env, BENCH_SECRET: benchSecret } })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return describe(child, port, performance.now() - startedAt)
}

/** The product as it is shipped: `dist/`, its own process. */
export async function startProduct(options: {
  readonly databaseUrl: string
  readonly handlersDir: string
}): Promise<ProductProcess> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [cli, 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      INBOX_SECRETS: `bench:${benchSecret}`,
      INBOX_ADMIN_TOKEN: adminToken,
      INBOX_PORT: '0',
      INBOX_ADMIN_PORT: '0',
      INBOX_DATABASE_URL: options.databaseUrl,
      INBOX_HANDLERS: options.handlersDir,
    },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const entry = JSON.parse(line) as { msg: string; url: string; adminUrl: string }
    if (entry.msg !== 'listening') continue
    child.stdout.resume()
    const server = describe(child, Number(new URL(entry.url).port), performance.now() - startedAt)
    return { ...server, ...createAdminCalls(entry.adminUrl) }
  }
  throw new Error('the product ended before it was ready: see its output above')
}

function createAdminCalls(adminUrl: string): Omit<ProductProcess, keyof ServerProcess> {
  async function call<T>(path: string, body?: unknown): Promise<T> {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${adminUrl}/api/v1${path}`, { headers, ...post })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }

  return {
    async openRuns() {
      const { data } = await call<{ data: readonly Record<string, number>[] }>('/handlers')
      const open = ['waiting', 'ready', 'suspect', 'running']
      return data.reduce((sum, handler) => sum + open.reduce((part, state) => part + (handler[state] ?? 0), 0), 0)
    },
    pause: async (isPaused) => void (await call(isPaused ? '/pause' : '/resume', {})),
    visit: () => visitConsole(`${adminUrl}/api/v1`, adminToken),
    startReplay: async (handler) => (await call<{ id: number }>('/replays', { handler })).id,
    replay: (id) => call(`/replays/${id}`),
  }
}

function describe(child: ChildProcess, port: number, startMs: number): ServerProcess {
  return {
    port,
    startMs,
    peakMemoryMb: () => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    cpuSeconds: () => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      return (Number(fields[11]) + Number(fields[12])) / 100
    },
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
