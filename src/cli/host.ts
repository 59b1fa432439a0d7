import { maxTimerMs } from '../base/clock.ts'
import { AsyncLocalStorage } from 'node:async_hooks'
import { basename, join, relative, resolve, sep } from 'node:path'

/** The part of a process that commands use. Tests pass their own, to run many commands in one process. */
export interface Host extends Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env' | 'cwd' | 'exit'> {
  exitCode?: NodeJS.Process['exitCode']
  /** The second item is the script of the program. */
  readonly argv?: readonly string[]
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

const hosts = new AsyncLocalStorage<Host>()

/** The host of the running command. Not available in callbacks of streams and signals, which run outside its context. */
export function host(): Host {
  return hosts.getStore() ?? process
}

export function withHost<T>(current: Host, work: () => T): T {
  return hosts.run(current, work)
}

/** Resolves a path argument. It stays unchanged, so that messages show it as typed, unless the host has another folder. */
export function fromCwd(path: string): string {
  const folder = host().cwd()
  return folder === process.cwd() ? path : resolve(folder, path)
}

const programName = 'onchain-inbox'

/** A command of this program that works as printed, from this folder. */
export function commandLine(words: string): string {
  return `${programCommand(host().argv?.[1] ?? programName, host().cwd())} ${words}`
}

/**
 * The command that runs this program again from `cwd`: its name if it is installed, otherwise `node <script>`. In a clone it is npx, which
 * finds the clone's Node where the user's own is too old.
 */
export function programCommand(script: string, cwd: string): string {
  if (basename(script) === programName)
    return script.includes(`${sep}node_modules${sep}`) ? `npx ${programName}` : programName
  const steps = relative(cwd, script)
  if (steps === join('dist', 'src', 'cli.js')) return `npx ${programName}`
  const file = steps.startsWith('..') ? script : steps
  return `node ${/^[\w./\\:-]+$/.test(file) ? file : `'${file}'`}`
}

/**
 * Keeps the process alive until SIGINT, SIGTERM or an error of standard output, or until `limit` settles (a promise) or passes
 * (seconds). A second signal ends the process at once.
 */
export async function untilSignal(limit?: Promise<void> | number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // Signal listeners run outside the command's context.
  const current = host()
  const limitMs = typeof limit === 'number' ? limit * 1_000 : maxTimerMs
  const alive = setTimeout(resolve, Math.min(limitMs, maxTimerMs))
  const dispose = () => {
    clearTimeout(alive)
    current.off('SIGINT', stop)
    current.off('SIGTERM', stop)
    current.stdout.off('error', stop)
  }
  const stop = () => {
    dispose()
    resolve()
  }
  current.on('SIGINT', stop)
  current.on('SIGTERM', stop)
  current.stdout.on('error', stop)
  await (typeof limit === 'object' ? Promise.race([promise, limit]) : promise)
  dispose()
}

/** Runs `work`, and aborts it as in `untilSignal`. */
export async function runUntilSignal<T>(work: (ending: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController()
  const running = work(ending.signal)
  const ignore = () => {}
  await untilSignal(running.then(ignore, ignore))
  ending.abort()
  return running
}
