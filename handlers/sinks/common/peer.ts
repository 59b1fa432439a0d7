/**
 * Loads the package that one kind of sink needs, when that is first used. Throws an Error that says what to install where it is
 * missing.
 */
export async function loadPeer<T>(sink: string, name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (!isMissing(error, name)) throw error
    throw new Error(`the sink ${sink} needs the package ${name}, which is not installed: npm install ${name}`, {
      cause: error,
    })
  }
}

function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes(name)
  )
}
