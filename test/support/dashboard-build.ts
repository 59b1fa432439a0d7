import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTempDir } from './temp-dir.ts'

export interface BuiltDashboard extends AsyncDisposable {
  readonly folder: string
}

const root = join(import.meta.dirname, '../..')

/** Builds the dashboard as `npm run build` does, into a folder of the test's own. */
export async function buildDashboard(): Promise<BuiltDashboard> {
  const dir = await createTempDir()
  const config = ['--config', 'src/emulator/dashboard/vite.config.ts', '--outDir', dir.path, '--emptyOutDir']
  await promisify(execFile)(process.execPath, ['node_modules/vite/bin/vite.js', 'build', ...config], {
    cwd: root,
    // A test runner says that this is a test, and React would be built for development.
    env: { ...process.env, NODE_ENV: 'production' },
  })
  return { folder: dir.path, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() }
}
