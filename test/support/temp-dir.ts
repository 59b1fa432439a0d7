import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempDir extends AsyncDisposable {
  readonly path: string
}

/** A folder of the test's own, removed with all in it at the end: `await using dir = await createTempDir()`. */
export async function createTempDir(): Promise<TempDir> {
  const path = await mkdtemp(join(tmpdir(), 'onchain-inbox-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
