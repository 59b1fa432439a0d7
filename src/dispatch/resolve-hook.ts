import { realpathSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { siblingModule } from '../sibling-module.ts'

/** The package's public names, and the modules of this very program behind them. */
const publicModules: Readonly<Record<string, URL>> = {
  'onchain-inbox': siblingModule(import.meta.url, '../index'),
  'onchain-inbox/schema': siblingModule(import.meta.url, '../../schema/index'),
  'onchain-inbox/format': siblingModule(import.meta.url, './format'),
  'onchain-inbox/testing': siblingModule(import.meta.url, '../testing/index'),
}

/**
 * Lets the files of a folder import `onchain-inbox` from wherever they are, with no package.json or node_modules near, and
 * makes Node read them as ES modules whatever package.json is near. Other packages resolve from the file's own folder.
 */
export function installResolveHook(handlersDir: string | null): void {
  const folders = handlersDir === null ? [] : [handlersDir, realPath(handlersDir)]
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const ours = publicModules[specifier]
      if (ours !== undefined) return { url: ours.href, shortCircuit: true }
      const resolved = nextResolve(specifier, context)
      // Node resolves links, so a file that is linked into the folder is known by what it was asked for as.
      const isHandler = folders.some((folder) => isIn(folder, resolved.url) || isIn(folder, specifier))
      const format = isHandler ? formatOf(resolved.url) : undefined
      return format === undefined ? resolved : { ...resolved, format }
    },
  })
}

/** A folder that is not there is reported where it is read. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function isIn(folder: string, url: string): boolean {
  if (!url.startsWith('file:')) return false
  const steps = relative(folder, fileURLToPath(url)).split(sep)
  return steps[0] !== '..' && !steps.includes('node_modules')
}

function formatOf(url: string): string | undefined {
  const { pathname } = new URL(url)
  if (pathname.endsWith('.ts')) return 'module-typescript'
  if (pathname.endsWith('.js')) return 'module'
  return undefined
}
