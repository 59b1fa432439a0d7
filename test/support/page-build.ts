import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTempDir } from './temp-dir.ts'

export interface BuiltPage extends AsyncDisposable {
  readonly folder: string
}

const root = join(import.meta.dirname, '../..')

/** Builds a page as `npm run build` does, by its `vite.config.ts`, into a folder of the test's own. */
export async function buildPage(configFile: string): Promise<BuiltPage> {
  const dir = await createTempDir()
  const config = ['--config', configFile, '--outDir', dir.path, '--emptyOutDir']
  await promisify(execFile)(process.execPath, ['node_modules/vite/bin/vite.js', 'build', ...config], {
    cwd: root,
    // A test runner says that this is a test, and React would be built for development.
    env: { ...process.env, NODE_ENV: 'production' },
  })
  return { folder: dir.path, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() }
}
