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

/** The absolute path of a file that the command was given. */
export function fromCwd(path: string): string {
  return resolve(host().cwd(), path)
}
