import type { Readable } from 'node:stream'
import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../clock.ts'
import { InboxError, messageOf } from '../errors.ts'
import type { Inbox } from '../inbox/port.ts'
import type { Logger } from '../log.ts'
import { HandlerThread } from './handler-thread.ts'
import type { Secret } from '../signature/keys.ts'
import type { HandlerSources } from './sources.ts'
import { runnerTiming, type HandlerInfo, type RunnerTiming, type SettledCount } from './runner-protocol.ts'

export interface RunnerOptions {
  readonly inbox: Pick<Inbox, 'settle' | 'release' | 'reap' | 'stats'>
  readonly openWorkPort: () => Promise<MessagePort>
  readonly sources: HandlerSources
  /** What bundled sinks sign with, at present. Without it they have nothing to sign with. */
  readonly secrets?: () => readonly Secret[]
  readonly concurrency: number
  readonly logLevel: string
  readonly prettyLog: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly onSettled: (counts: readonly SettledCount[]) => void
  /** Takes what the handlers of a thread print; by default it goes to the standard output of this process. */
  readonly onOutput?: ((output: Readable) => void) | undefined
  /** Called once for each thread that was lost. */
  readonly onReplaced: (reason: string) => void
  /** Default: `runnerTiming`. */
  readonly timing?: Partial<RunnerTiming>
}

/** Threads that finish their runs beside the one that took over. Each may run as much at once as that one. */
const maxDraining = 2

export interface Runner {
  readonly handlers: readonly HandlerInfo[]
  /** From now on so many runs of a handler may run at once; null: as it says itself. */
  setConcurrency(handler: string, concurrency: number | null): void
  /** To be called when the secrets have changed. */
  refreshSecrets(): void
  /** Lets runs in flight finish for `graceMs` milliseconds, aborts them, gives back the rest, ends the threads. Idempotent. */
  stop(graceMs: number): Promise<void>
}

/**
 * Starts the thread that runs the handlers and keeps one running: replaced when it exits, dies, or blocks for longer than its
 * handlers may take. What was in flight then comes back as suspects, which a second thread tries one at a time, so that only
 * the guilty run is charged again while all other work goes on.
 */
export async function startRunner(options: RunnerOptions): Promise<Runner> {
  const { inbox, clock, log } = options
  const timing = { ...runnerTiming, ...options.timing }
  const threads = new Set<HandlerThread>()
  /** Oldest first. */
  const draining: HandlerThread[] = []
  let handlers: readonly HandlerInfo[] = []
  let started = 0
  let stopping: Promise<void> | undefined
  let suspectsWanted = false
  let atSuspects = false

  const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))

  async function startThread(role: 'all' | 'suspects'): Promise<HandlerThread> {
    const workPort = await options.openWorkPort()
    if (stopping !== undefined) {
      workPort.close()
      throw new InboxError('shutting_down', 'the runner is stopping')
    }
    const { sources, concurrency, logLevel, prettyLog, onSettled, onOutput } = options
    const suspects = role === 'suspects'
    const owner = `${role}-${++started}`
    const secrets = options.secrets?.() ?? []
    const data = { sources, secrets, concurrency, owner, suspects, logLevel, prettyLog, workPort }
    const thread = new HandlerThread({ inbox, data, timing, clock, log, onSettled, onOutput })
    threads.add(thread)
    try {
      handlers = await thread.ready
      return thread
    } catch (error) {
      await thread.kill()
      threads.delete(thread)
      throw error
    }
  }

  /** What a thread leaves behind when it has ended may be suspects. */
  async function leave(thread: HandlerThread, ended: Promise<void>): Promise<void> {
    await ended
    threads.delete(thread)
    await thread.emptied
    void workOffSuspects()
  }

  async function keepRunning(first: HandlerThread): Promise<void> {
    for (let thread: HandlerThread | undefined = first; thread !== undefined; thread = await startAgain()) {
      const { kind, reason } = await thread.spent
      if (stopping !== undefined) return
      tellReplaced(reason)
      // Not waited for: a thread inside a blocking system call ends only after it.
      void leave(thread, kind === 'stuck' ? drain(thread) : thread.kill())
    }
  }

  /** Lets the other runs of a stuck thread finish, but for no more such threads at once than a few. */
  async function drain(thread: HandlerThread): Promise<void> {
    draining.push(thread)
    if (draining.length > maxDraining) void draining[0]?.stop(0)
    await thread.stop(thread.longestTimeoutMs)
    draining.splice(draining.indexOf(thread), 1)
  }

  async function startAgain(): Promise<HandlerThread | undefined> {
    let delayMs = timing.restartDelayMs
    for (;;) {
      await wait(delayMs)
      if (stopping !== undefined) return undefined
      try {
        return await startThread('all')
      } catch (error) {
        delayMs = Math.min(2 * delayMs, timing.longestRestartDelayMs)
        log.error({ error: messageOf(error) }, 'the thread of the handlers cannot be started; trying again')
      }
    }
  }

  /** Keeps a thread for suspects as long as there are any. One call is at work, the others only make it look again. */
  async function workOffSuspects(): Promise<void> {
    suspectsWanted = true
    if (atSuspects) return
    atSuspects = true
    while (suspectsWanted && stopping === undefined) {
      suspectsWanted = false
      if (await hasSuspects()) {
        suspectsWanted = true
        await runSuspects()
      }
    }
    atSuspects = false
  }

  async function hasSuspects(): Promise<boolean> {
    const names = new Set(handlers.map((handler) => handler.name))
    const stats = await inbox.stats().catch(() => undefined)
    return stats?.handlers.some((row) => row.suspect > 0 && names.has(row.handler)) ?? true
  }

  async function runSuspects(): Promise<void> {
    try {
      const thread = await startThread('suspects')
      const { kind, reason } = await thread.spent
      if (stopping !== undefined) return
      if (kind !== 'idle') tellReplaced(reason)
      await leave(thread, kind === 'broken' ? thread.kill() : thread.stop(0))
    } catch (error) {
      if (stopping !== undefined) return
      log.error({ error: messageOf(error) }, 'the thread for suspects cannot be started; trying again')
      await wait(timing.longestRestartDelayMs)
    }
  }

  function tellReplaced(reason: string): void {
    log.error({ reason }, 'the thread of the handlers is replaced')
    options.onReplaced(reason)
  }

  async function stop(graceMs: number): Promise<void> {
    await Promise.all([...threads].map((thread) => thread.stop(graceMs)))
  }

  void keepRunning(await startThread('all'))
  void workOffSuspects()
  return {
    get handlers() {
      return handlers
    },
    setConcurrency(handler, concurrency) {
      for (const thread of threads) thread.setConcurrency(handler, concurrency)
    },
    refreshSecrets() {
      for (const thread of threads) thread.useSecrets(options.secrets?.() ?? [])
    },
    stop: (graceMs) => (stopping ??= stop(graceMs)),
  }
}
