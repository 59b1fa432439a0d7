import { realpathSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { siblingModule } from '../base/sibling-module.ts'

/** Public names of the package, and the modules of this program that implement them. */
const publicModules: Readonly<Record<string, URL>> = {
  'onchain-inbox': siblingModule(import.meta.url, '../index'),
  'onchain-inbox/schema': siblingModule(import.meta.url, '../../schema/index'),
  'onchain-inbox/format': siblingModule(import.meta.url, './format'),
  'onchain-inbox/testing': siblingModule(import.meta.url, '../app/testing/index'),
  'onchain-inbox/client': siblingModule(import.meta.url, '../client/index'),
}

/** Called with each user file that is imported. */
export type OnImport = (file: string) => void

/**
 * Lets the files of a folder import `onchain-inbox` without a package.json or node_modules nearby. Makes Node read them
 * as ES modules, even against package.json. Other packages resolve from the file's folder. `onImport` is called with
 * each imported file before it is read, missing files included, packages excluded.
 */
export function installResolveHook(handlersDir: string | null, onImport: OnImport = () => {}): void {
  const folders = handlersDir === null ? [] : [handlersDir, realPath(handlersDir)]
  /** URLs of the folder's files and their imports. */
  const userFiles = new Set<string>()
  const noteUserFile = (url: string) => {
    if (!url.startsWith('file:') || url.includes('/node_modules/') || userFiles.has(url)) return
    userFiles.add(url)
    onImport(fileURLToPath(url))
  }

  registerHooks({
    resolve(specifier, context, nextResolve) {
      const publicModule = publicModules[specifier]
      if (publicModule !== undefined) return { url: publicModule.href, shortCircuit: true }
      const isImported = context.parentURL !== undefined && userFiles.has(context.parentURL)
      if (isImported && isRelative(specifier)) noteUserFile(new URL(specifier, context.parentURL).href)
      const resolved = nextResolve(specifier, context)
      // Node resolves symbolic links, so a file linked into the folder is recognized by its specifier.
      const isHandler = folders.some((folder) => isIn(folder, resolved.url) || isIn(folder, specifier))
      if (isHandler || isImported) noteUserFile(resolved.url)
      const format = isHandler ? formatOf(resolved.url) : undefined
      return format === undefined ? resolved : { ...resolved, format }
    },
  })
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith('./') || specifier.startsWith('../')
}

/** A missing folder is reported when it is read. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function isIn(folder: string, url: string): boolean {
  if (!url.startsWith('file:')) return false
  const segments = relative(folder, fileURLToPath(url)).split(sep)
  return segments[0] !== '..' && !segments.includes('node_modules')
}

function formatOf(url: string): string | undefined {
  const { pathname } = new URL(url)
  if (pathname.endsWith('.ts')) return 'module-typescript'
  if (pathname.endsWith('.js')) return 'module'
  return undefined
}
