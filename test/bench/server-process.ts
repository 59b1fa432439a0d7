import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { DeliveryLoad, LoadResult } from './load.ts'

/** The requests of the events page, the busiest one, and how often it sends them. */
const polls = [
  { path: '/events?limit=200', everyMs: 5_000 },
  { path: '/activity?window=hour', everyMs: 5_000 },
  { path: '/handlers', everyMs: 10_000 },
] as const

/** Calls the admin API as an open console does: the requests of its pages, as often as the pages send them, and the live stream. */
function visitConsole(api: string, token: string) {
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

  const inFlight = [listen(), ...polls.map(poll)].map((part) =>
    part.catch((error: unknown) => {
      if (!signal.aborted) throw error
    }),
  )
  return {
    /** Resolves when no request is in flight. */
    async leave() {
      ending.abort()
      await Promise.all(inFlight)
    },
  }
}

export const benchSecret = 'bench-secret-0123456789'
const adminToken = 'bench-admin-token-0123456789'

const cli = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))

export type ServerProcess = ReturnType<typeof describe>
export type ProductProcess = Awaited<ReturnType<typeof startProduct>>

export async function startCeiling() {
  const startedAt = performance.now()
  const child = fork(new URL('./ceiling.ts', import.meta.url), { env: { ...process.env, BENCH_SECRET: benchSecret } })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return describe(child, port, performance.now() - startedAt)
}

/** Starts `serve` from `dist/`, as it is shipped. */
export async function startProduct(options: { readonly databaseUrl: string; readonly handlersDir: string }) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [cli, 'serve', '--json'], {
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
  throw new Error('serve exited before it listened: see its output above')
}

function createAdminCalls(adminUrl: string) {
  async function call<T>(path: string, body?: unknown): Promise<T> {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${adminUrl}/api/v1${path}`, { headers, ...post })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }

  return {
    /** Number of runs that are not final. */
    async openRuns() {
      const { data } = await call<{ data: readonly Record<string, number>[] }>('/handlers')
      const open = ['waiting', 'ready', 'suspect', 'running']
      return data.reduce((sum, handler) => sum + open.reduce((part, state) => part + (handler[state] ?? 0), 0), 0)
    },
    /** Pauses or resumes all handlers. */
    pause: async (isPaused: boolean) => void (await call(isPaused ? '/pause' : '/resume', {})),
    /** Opens a console. */
    visit: () => visitConsole(`${adminUrl}/api/v1`, adminToken),
    /** Replays all events for one handler; returns the id of the replay. */
    startReplay: async (handler: string) => (await call<{ id: number }>('/replays', { handler })).id,
    replay: (id: number) =>
      call<{ readonly state: string; readonly runs: number; readonly open_runs: number }>(`/replays/${id}`),
  }
}

function describe(child: ChildProcess, port: number, startMs: number) {
  return {
    port,
    /** Milliseconds from the start until the server listens. */
    startMs,
    /** Peak resident set, in MB. */
    peakMemoryMb: () => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    /** Processor time since the start, in seconds. */
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

/** Runs one load in a process of its own. */
export async function runLoad(options: DeliveryLoad): Promise<LoadResult> {
  const child = fork(new URL('./load.ts', import.meta.url))
  child.send(options)
  const [result] = (await once(child, 'message')) as [LoadResult]
  child.kill()
  return result
}
