import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTempDir } from './temp-dir.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Build extends AsyncDisposable {
  readonly version: string
  /** What a `Sidecar` is to start in place of the program of this repository. */
  readonly command: readonly string[]
}

/** The same program in a folder of its own, under another version. */
export async function createBuild(version: string): Promise<Build> {
  const dir = await createTempDir()
  for (const name of ['src', 'schema', 'handlers'])
    await cp(join(root, name), join(dir.path, name), { recursive: true })
  for (const name of ['node_modules', 'dist']) await symlink(join(root, name), join(dir.path, name))
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as object
  await writeFile(join(dir.path, 'package.json'), JSON.stringify({ ...manifest, version }))
  return {
    version,
    command: [process.execPath, join(dir.path, 'src', 'cli.ts'), 'serve'],
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}
