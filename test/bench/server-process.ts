import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { DeliveryLoad, LoadResult } from './load.ts'

/** An open console: the requests of its pages, as often as the pages send them, and the live stream. */
interface Visitor {
  /** Resolves when no request is in flight. */
  leave(): Promise<void>
}

/** The requests of the events page, the busiest one, and how often it sends them. */
const polls = [
  { path: '/events?limit=200', everyMs: 5_000 },
  { path: '/activity?window=hour', everyMs: 5_000 },
  { path: '/handlers', everyMs: 10_000 },
] as const

/** Calls the admin API as an open console does. */
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

  const inFlight = [listen(), ...polls.map(poll)].map((part) =>
    part.catch((error: unknown) => {
      if (!signal.aborted) throw error
    }),
  )
  return {
    async leave() {
      ending.abort()
      await Promise.all(inFlight)
    },
  }
}

export const benchSecret = 'bench-secret-0123456789'
const adminToken = 'bench-admin-token-0123456789'

const builtCli = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))

export interface ServerProcess {
  readonly port: number
  /** Milliseconds from the start until the server listens. */
  readonly startMs: number
  /** Resident set, in MB. */
  memoryMb(): number
  peakMemoryMb(): number
  /** Processor time since the start, in seconds. */
  cpuSeconds(): number
  /** Processor time by name of the thread, in seconds. Ended threads are missing. */
  cpuByThread(): ReadonlyMap<string, number>
  stop(): Promise<void>
  /** kill -9 */
  kill(): Promise<void>
}

/** A receiver that handles what it stores. */
export interface Peer extends ServerProcess {
  /** Number of stored events or runs that are not handled. */
  openRuns(): Promise<number>
  /** Ids of stored events that are not handled. */
  openIds(): Promise<readonly string[]>
}

export interface ProductProcess extends Peer {
  /** Pauses or resumes all handlers. */
  pause(isPaused: boolean): Promise<void>
  /** Opens a console. */
  visit(): Visitor
  /** Reads a path of the admin port. */
  get(path: string): Promise<void>
}

export const startCeiling = (): Promise<ServerProcess> => startFork(new URL('./ceiling.ts', import.meta.url))

/** Starts a script of `peers/`. `at`: its store. `effects`: a file where its handler notes each event. */
export async function startPeer(
  script: string,
  { at, handles, effects }: { readonly at: string; readonly handles: boolean; readonly effects?: string | undefined },
): Promise<Peer> {
  const env = {
    BENCH_STORE: at,
    BENCH_HANDLES: String(handles),
    ...(effects !== undefined && { BENCH_EFFECTS: effects }),
  }
  const server = await startFork(script, env)
  const get = async (path: string) => (await fetch(`http://127.0.0.1:${server.port}${path}`)).json()
  return {
    ...server,
    openRuns: () => get('/open') as Promise<number>,
    openIds: () => get('/open-ids') as Promise<readonly string[]>,
  }
}

async function startFork(script: string | URL, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const startedAt = performance.now()
  const child = fork(script, { env: { ...process.env, BENCH_SECRET: benchSecret, ...env } })
  const failed = once(child, 'exit').then(() =>
    Promise.reject(new Error(`${String(script)} ended: see its output above`)),
  )
  const [{ port }] = (await Promise.race([once(child, 'message'), failed])) as [{ port: number }]
  failed.catch(() => {})
  return describe(child, port, performance.now() - startedAt)
}

/** Starts `serve` with the options of the image. `cli`: default from `dist/`. */
export async function startProduct(options: {
  readonly databaseUrl: string
  readonly handlersDir: string
  readonly cli?: string | undefined
}): Promise<ProductProcess> {
  const startedAt = performance.now()
  const nodeOptions = ['--disable-sigusr1', '--max-semi-space-size=4']
  const child = spawn(process.execPath, [...nodeOptions, options.cli ?? builtCli, 'serve', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      MALLOC_ARENA_MAX: '2',
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
    async openIds() {
      const { data } = await call<{ data: readonly { id: string; status: string }[] }>(
        '/events?limit=200&status=pending',
      )
      return data.map(({ id }) => id)
    },
    pause: async (isPaused) => void (await call(isPaused ? '/pause' : '/resume', {})),
    async get(path) {
      await (await fetch(`${adminUrl}${path}`, { headers: { authorization: `Bearer ${adminToken}` } })).arrayBuffer()
    },
    visit: () => visitConsole(`${adminUrl}/api/v1`, adminToken),
  }
}

function describe(child: ChildProcess, port: number, startMs: number): ServerProcess {
  async function end(signal: NodeJS.Signals): Promise<void> {
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  return {
    port,
    startMs,
    memoryMb: () => statusOf(child, 'VmRSS'),
    peakMemoryMb: () => statusOf(child, 'VmHWM'),
    cpuSeconds: () => cpuSecondsOf(`/proc/${child.pid}/stat`),
    cpuByThread() {
      const threads = new Map<string, number>()
      const folder = `/proc/${child.pid}/task`
      for (const id of readdirSync(folder)) {
        try {
          const name = readFileSync(`${folder}/${id}/comm`, 'utf8').trim()
          threads.set(name, (threads.get(name) ?? 0) + cpuSecondsOf(`${folder}/${id}/stat`))
        } catch {
          // The thread has ended.
        }
      }
      return threads
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}

function cpuSecondsOf(statFile: string): number {
  const fields = readFileSync(statFile, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** A line of the process's status, in MB. */
function statusOf({ pid }: ChildProcess, name: string): number {
  const [, kilobytes] = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

/** Runs one load in a process of its own. */
export async function runLoad(options: DeliveryLoad): Promise<LoadResult> {
  const child = fork(new URL('./load.ts', import.meta.url))
  child.send(options)
  const [result] = (await once(child, 'message')) as [LoadResult]
  child.kill()
  return result
}
