import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export interface BuiltPage {
  readonly folder: string
}

const root = join(import.meta.dirname, '../..')

/**
 * Builds a page as `npm run build` does, by its `vite.config.ts`: once for as long as neither its files nor what they are built with
 * change, since a dozen test files need it.
 */
export async function buildPage(configFile: string): Promise<BuiltPage> {
  const folder = join(tmpdir(), `onchain-inbox-pages-${userInfo().uid}-${digestOf(dirname(configFile))}`)
  if (existsSync(folder)) return { folder }
  const own = `${folder}-${process.pid}`
  const config = ['--config', configFile, '--outDir', own, '--emptyOutDir']
  await promisify(execFile)(process.execPath, ['node_modules/vite/bin/vite.js', 'build', ...config], {
    cwd: root,
    // A test runner says that this is a test, and React would be built for development.
    env: { ...process.env, NODE_ENV: 'production' },
  })
  await rename(own, folder).catch(async (error: unknown) => {
    // Another test file was faster.
    await rm(own, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  })
  return { folder }
}

/** Of everything that a page may be built of. */
function digestOf(page: string): string {
  const files = globSync([`${page}/**/*`, 'src/web/ui/**/*', 'schema/**/*.ts', 'package-lock.json'], { cwd: root })
  const hash = createHash('sha256').update(page)
  for (const file of files.toSorted()) {
    if (/\.\w+$/.test(file)) hash.update(file).update(readFileSync(join(root, file)))
  }
  return hash.digest('hex').slice(0, 16)
}
