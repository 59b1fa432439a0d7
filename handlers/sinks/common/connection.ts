import { findPackageJSON } from 'node:module'

export interface Connection<T> {
  /**
   * Calls `work` with the open connection, or opens one. Concurrent calls share the connection. If `signal` aborts, closes
   * the connection and rejects immediately. `work` calls `closeBroken` to close a broken connection; a newer one stays
   * open.
   */
  use<R>(signal: AbortSignal, work: (opened: T, closeBroken: () => Promise<void>) => Promise<R>): Promise<R>
  /** Returns the open connection, or opens one. */
  get(): Promise<T>
  /** Closes the open connection. The next call opens a new one. */
  forget(): Promise<void>
}

export interface ConnectionOptions<T> {
  readonly open: () => Promise<T>
  readonly close: (opened: T) => void | Promise<void>
}

/** A connection that opens on first use, and again after it was closed. */
export function createConnection<T>({ open, close }: ConnectionOptions<T>): Connection<T> {
  let current: Promise<T> | undefined

  function get(): Promise<T> {
    if (current !== undefined) return current
    const opening = open()
    current = opening
    opening.catch(() => {
      if (current === opening) current = undefined
    })
    return opening
  }

  async function forget(old: Promise<T> | undefined): Promise<void> {
    if (current !== old) return
    current = undefined
    // Ignores errors: the connection may have failed to open, or may be broken.
    await old?.then(close).catch(() => {})
  }

  return {
    async use(signal, work) {
      signal.throwIfAborted()
      const opening = get()
      const aborted = Promise.withResolvers<never>()
      const onAbort = () => {
        aborted.reject(signal.reason)
        void forget(opening)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      const result = opening.then((opened) => {
        signal.throwIfAborted()
        return work(opened, () => forget(opening))
      })
      try {
        return await Promise.race([aborted.promise, result])
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
    get,
    forget: () => forget(current),
  }
}

/** Throws an Error about the first missing package, with the command that installs it. Doesn't load the packages. */
export function requirePeers(sink: string, names: readonly string[]): void {
  for (const name of names) {
    if (hasPackage(name)) continue
    throw new Error(`the sink ${sink} needs the package ${name}, which is not installed: npm install ${name}`)
  }
}

function hasPackage(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return false
    throw error
  }
}
