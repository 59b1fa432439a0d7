import { AsyncLocalStorage } from 'node:async_hooks'
import { resolve } from 'node:path'

/** The part of a process that commands use. A test gives its own, so that many commands run in one process. */
export interface Host extends Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env' | 'cwd' | 'exit'> {
  exitCode?: NodeJS.Process['exitCode']
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

const hosts = new AsyncLocalStorage<Host>()

/** The host of the command that runs. Callbacks of other hosts' streams and signals are outside of it. */
export function host(): Host {
  return hosts.getStore() ?? process
}

export function withHost<T>(given: Host, work: () => T): T {
  return hosts.run(given, work)
}

/** A path that the command was given. It stays as it is, so that messages name it as the user did, unless the host is another folder's. */
export function fromCwd(path: string): string {
  const folder = host().cwd()
  return folder === process.cwd() ? path : resolve(folder, path)
}

const longestTimeoutMs = 2 ** 31 - 1

/**
 * Keeps the process alive until SIGINT or SIGTERM, or until `sooner` settles or, if that is a number, so many seconds have
 * passed, or until nobody reads standard output any more. A second signal ends the process at once.
 */
export async function untilSignal(sooner?: Promise<void> | number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // Signals come outside of the command's own context.
  const own = host()
  const limitMs = typeof sooner === 'number' ? sooner * 1_000 : longestTimeoutMs
  const alive = setTimeout(resolve, Math.min(limitMs, longestTimeoutMs))
  const dispose = () => {
    clearTimeout(alive)
    own.off('SIGINT', stop)
    own.off('SIGTERM', stop)
    own.stdout.off('error', stop)
  }
  const stop = () => {
    dispose()
    resolve()
  }
  own.on('SIGINT', stop)
  own.on('SIGTERM', stop)
  own.stdout.on('error', stop)
  await (typeof sooner === 'object' ? Promise.race([promise, sooner]) : promise)
  dispose()
}

/** Runs `work` to its end, or until a signal as above aborts it. */
export async function runUntilSignal<T>(work: (ending: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController()
  const running = work(ending.signal)
  const over = () => {}
  await untilSignal(running.then(over, over))
  ending.abort()
  return running
}
