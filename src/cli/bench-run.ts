import { chmod, mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { randomBytes } from 'node:crypto'
import { startApp, type App } from '../app.ts'
import { systemClock } from '../clock.ts'
import { loadConfig } from '../config.ts'
import { judgeFileSystem } from '../doctor/file-system.ts'
import { measureSync } from '../doctor/sync-speed.ts'
import { InboxError, messageOf } from '../errors.ts'
import { silentLogger } from '../log.ts'
import { siblingModule } from '../sibling-module.ts'
import type { SenderMessage, SenderOptions, Sent } from './bench-sender-thread.ts'

export interface BenchOptions {
  /** A folder of its own is made in it, and removed again. */
  readonly dir: string
  readonly seconds: number
  readonly connections: number
  /** From 0 to 1, with what is being done. */
  readonly onProgress: (done: number, text: string) => void
  /** Ends it early; it throws then, and leaves nothing. */
  readonly signal: AbortSignal
}

/** What one machine does in one run. Rates are per second, times in milliseconds. */
export interface BenchResult {
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly node: string
    readonly file_system: string
  }
  readonly seconds: number
  readonly connections: number
  readonly accepted: number
  readonly accepted_per_second: number
  /** Deliveries that were answered otherwise than by 200. */
  readonly refused: number
  readonly acknowledged_ms: { readonly p50: number; readonly p99: number; readonly max: number }
  /** All that was accepted, by the time from the first delivery until the last run was stored as done. */
  readonly handled: number
  readonly handled_per_second: number
  /** One durable write of 4 KiB, before the run. */
  readonly fsync_ms: { readonly median: number; readonly worst: number }
}

const warmUpMs = 500
const pollMs = 20
const noHandler = `export default { type: '*', run() {} }\n`

/**
 * Starts a sidecar of its own, with its own database and a handler that does nothing, and sends it as many events as it takes, from
 * another thread. Leaves nothing behind, however it ends.
 *
 * @throws InboxError `usage` if nothing can be written to the folder, `internal` if a part of it failed
 */
export async function runBench(options: BenchOptions): Promise<BenchResult> {
  await using opened = new AsyncDisposableStack()
  const folder = await makeFolder(options.dir)
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const fsync = measureSync(folder)
  const secret = randomBytes(24).toString('hex')
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  const abort = () => ended.reject(new InboxError('usage', 'it was ended before it was done'))
  // One that came before this is found by the races below.
  if (options.signal.aborted) abort()
  options.signal.addEventListener('abort', abort, { once: true })
  const app = await start(folder, secret, ended.reject)
  opened.defer(() => app.stop())

  const sender = sendFrom({
    port: Number(new URL(app.url).port),
    path: new URL(app.url).pathname,
    secret,
    connections: options.connections,
    warmUpMs,
    measuredMs: options.seconds * 1_000,
  })
  opened.defer(() => sender.end())
  using progress = showTime(options)
  const sent = await Promise.race([sender.sent, ended.promise])
  progress.show(1, 'waiting for the last handlers')
  const handled = await Promise.race([untilHandled(app, sent.acceptedInAll), ended.promise])
  const wholeSeconds = (performance.now() - sender.startedAt()) / 1_000
  return {
    machine: {
      cpu: cpus()[0]?.model.trim() ?? 'unknown',
      cores: availableParallelism(),
      node: process.versions.node,
      file_system: judgeFileSystem((await statfs(folder)).type, options.dir).found,
    },
    seconds: sent.seconds,
    connections: options.connections,
    accepted: sent.accepted,
    accepted_per_second: sent.accepted / sent.seconds,
    refused: sent.refused,
    acknowledged_ms: { p50: sent.p50Ms, p99: sent.p99Ms, max: sent.maxMs },
    handled,
    handled_per_second: handled / wholeSeconds,
    fsync_ms: { median: fsync.medianMs, worst: fsync.worstMs },
  }
}

async function makeFolder(dir: string): Promise<string> {
  try {
    const folder = await mkdtemp(join(dir, 'onchain-inbox-bench-'))
    await chmod(folder, 0o700)
    await mkdir(join(folder, 'handlers'))
    await writeFile(join(folder, 'handlers', 'nothing.mjs'), noHandler)
    return folder
  } catch (error) {
    throw new InboxError(
      'usage',
      `nothing can be written to ${dir} (${messageOf(error)}): name another folder by --dir`,
      {
        cause: error,
      },
    )
  }
}

async function start(folder: string, secret: string, onFailure: (error: Error) => void): Promise<App> {
  const config = await loadConfig({
    env: {
      INBOX_SECRETS: `bench:${secret}`,
      INBOX_PORT: '0',
      INBOX_ADMIN_PORT: '0',
      INBOX_DATABASE_URL: `sqlite:${join(folder, 'inbox.db')}`,
      INBOX_HANDLERS: join(folder, 'handlers'),
      INBOX_LOG_LEVEL: 'silent',
      INBOX_MAX_CONNECTIONS: '100000',
      INBOX_SHUTDOWN_MS: '2000',
    },
    cwd: folder,
    configFile: null,
  })
  return startApp({ config, log: silentLogger, clock: systemClock, prettyLog: false, onFailure })
}

interface Sender {
  readonly sent: Promise<Sent>
  /** When its first event was sent. */
  startedAt(): number
  end(): Promise<void>
}

function sendFrom(workerData: SenderOptions): Sender {
  const worker = new Worker(siblingModule(import.meta.url, './bench-sender-thread'), { workerData })
  const { promise, resolve, reject } = Promise.withResolvers<Sent>()
  promise.catch(() => {})
  let startedAt = performance.now()
  const refuse = (reason: string) => reject(new InboxError('internal', `events could not be sent: ${reason}`))
  worker.on('message', (message: SenderMessage) => {
    if ('connected' in message) startedAt = performance.now()
    if ('sent' in message) resolve(message.sent)
    if ('failed' in message) refuse(message.failed)
  })
  worker.on('error', (error) => refuse(messageOf(error)))
  worker.on('exit', (code) => refuse(`its thread ended with code ${code}`))
  return {
    sent: promise,
    startedAt: () => startedAt,
    end: async () => void (await worker.terminate()),
  }
}

function showTime({ seconds, onProgress }: BenchOptions) {
  const startedAt = performance.now()
  const wholeMs = warmUpMs + seconds * 1_000
  const show = () => onProgress(Math.min(1, (performance.now() - startedAt) / wholeMs), 'sending')
  const timer = setInterval(show, 200)
  return {
    show(done: number, text: string) {
      clearInterval(timer)
      onProgress(done, text)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** Waits until no run is open any more, and gives how many events were handled. */
async function untilHandled({ inbox }: App, accepted: number): Promise<number> {
  for (;;) {
    const { handlers } = await inbox.stats()
    const open = handlers.reduce((sum, row) => sum + row.waiting + row.ready + row.suspect + row.running, 0)
    const dead = handlers.reduce((sum, row) => sum + row.dead + row.held, 0)
    if (open === 0) return accepted - dead
    await wait(pollMs)
  }
}
