import { findPackageJSON } from 'node:module'

/**
 * Whether the packages that a sink needs are there, without loading them. Throws the Error of `loadPeer` about the first that is
 * missing.
 */
export function requirePeers(sink: string, names: readonly string[]): void {
  for (const name of names) {
    try {
      if (findPackageJSON(name, import.meta.url) === undefined) throw missing(sink, name)
    } catch (error) {
      throw isMissing(error, name) ? missing(sink, name, error) : error
    }
  }
}

/**
 * Loads the package that one kind of sink needs, when that is first used. Throws an Error that says what to install where it is
 * missing.
 */
export async function loadPeer<T>(sink: string, name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (!isMissing(error, name)) throw error
    throw missing(sink, name, error)
  }
}

function missing(sink: string, name: string, cause?: unknown): Error {
  const message = `the sink ${sink} needs the package ${name}, which is not installed: npm install ${name}`
  return new Error(message, cause === undefined ? undefined : { cause })
}

function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes(name)
  )
}
