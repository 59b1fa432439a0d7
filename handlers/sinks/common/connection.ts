import { findPackageJSON } from 'node:module'

export interface Connection<T> {
  /**
   * Does `work` with the one that is open, or else a new one; those who ask at once share it. When `signal` aborts it rejects with its
   * reason at once, whatever `work` waits for, and this connection is forgotten: who does not answer in time is not heard any more.
   * `lost`: it is of no use any more; another that was opened meanwhile stays.
   */
  use<R>(signal: AbortSignal, work: (opened: T, lost: () => Promise<void>) => Promise<R>): Promise<R>
  /** The one that is open, or else a new one; those who ask at once share it. */
  get(): Promise<T>
  /** What is open is of no use any more: the next one who asks gets a new one. */
  forget(): Promise<void>
}

export interface ConnectionOptions<T> {
  readonly open: () => Promise<T>
  readonly close: (opened: T) => void | Promise<void>
}

/** A connection that is opened when it is first needed, and anew after it was lost. */
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
    // One that could not be opened, or is broken, has nothing left to close.
    await old?.then(close).catch(() => {})
  }

  return {
    async use(signal, work) {
      signal.throwIfAborted()
      const own = get()
      const aborted = Promise.withResolvers<never>()
      const leave = () => {
        aborted.reject(signal.reason)
        void forget(own)
      }
      signal.addEventListener('abort', leave, { once: true })
      const worked = own.then((opened) => {
        signal.throwIfAborted()
        return work(opened, () => forget(own))
      })
      try {
        return await Promise.race([aborted.promise, worked])
      } finally {
        signal.removeEventListener('abort', leave)
      }
    },
    get,
    forget: () => forget(current),
  }
}

/**
 * Whether the packages that a sink needs are there, without loading them. Throws an Error about the first that is missing: it says
 * what to install.
 */
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
