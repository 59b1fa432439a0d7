import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { InboxError } from '../base/errors.ts'
import { compilerSettings } from './init/project.ts'

export interface TypesFile {
  readonly file: string
  /** `kept`: it is there already as it should be. */
  readonly result: 'written' | 'kept'
}

/** By this line a file of ours is known: it is written anew where the program has moved. */
const mark =
  '// Written by `onchain-inbox check --types`, so that editors find the types of handlers; it may write it anew.'

/** Where the file goes that editors read: beside the folder of the handlers, so that what is beside it has types, too. */
export function typesFileOf(handlersDir: string): string {
  return join(dirname(handlersDir), 'tsconfig.json')
}

/**
 * Writes a tsconfig.json by which editors resolve `onchain-inbox` where no node_modules is near. That of `init` does where the package
 * is installed beside it, and is replaced elsewhere.
 *
 * @throws InboxError `usage` if there is one of the user's own, unless `isForced`; `config_invalid` if it cannot be written
 */
export function writeTypesFile(handlersDir: string, { isForced }: { readonly isForced: boolean }): TypesFile {
  const file = typesFileOf(handlersDir)
  const settings = settingsFor(dirname(file))
  const text = `${mark}\n${JSON.stringify(settings, null, 2)}\n`
  const present = existsSync(file) ? readFileSync(file, 'utf8') : null
  const isOfInit = present === compilerSettings
  if (present === text || (isOfInit && isInstalledNear(file))) return { file, result: 'kept' }
  if (present !== null && !isOfInit && !present.startsWith(mark) && !isForced) {
    const { paths } = settings.compilerOptions
    throw new InboxError(
      'usage',
      `${file} is your own, and was left as it is: add these "paths" to its "compilerOptions", or have it replaced by ` +
        `--force:\n${JSON.stringify({ paths }, null, 2)}`,
    )
  }
  try {
    writeFileSync(file, text)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new InboxError('config_invalid', `${file} cannot be written (${reason}): let this user write there`, {
      cause: error,
    })
  }
  return { file, result: 'written' }
}

/** Whether a file there finds the package in a node_modules of its own folder, or of one above it. */
function isInstalledNear(file: string): boolean {
  const folders = createRequire(file).resolve.paths('onchain-inbox') ?? []
  return folders.some((folder) => existsSync(join(folder, 'onchain-inbox', 'package.json')))
}

/** As Node reads handlers: types are erased, nothing is compiled. Paths start at `folder`. */
function settingsFor(folder: string) {
  const at = (path: string) => {
    const steps = relative(folder, path).split(sep).join('/')
    return steps.startsWith('.') ? steps : `./${steps}`
  }
  const nodeTypes = findNodeTypes()
  return {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable', 'esnext.iterator', 'dom', 'dom.iterable'],
      // Handlers are ES modules, whatever package.json is near.
      module: 'preserve',
      strict: true,
      noEmit: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      ...(nodeTypes === null ? { types: [] } : { types: ['node'], typeRoots: [at(nodeTypes)] }),
      paths: Object.fromEntries(publicTypes().map(([name, path]) => [name, [at(path)]])),
    },
  }
}

/** The public names of the package, as its exports map has them, and where the types of each are: absolute. */
function publicTypes(): readonly (readonly [name: string, path: string])[] {
  const isBuilt = import.meta.url.endsWith('.js')
  const root = fileURLToPath(new URL(isBuilt ? '../../..' : '../..', import.meta.url))
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.entries(exports).flatMap(([name, target]) => {
    if (typeof target === 'string') return []
    const types = isBuilt ? target.types : target.types.replace(/^\.\/dist\/(.*)\.d\.ts$/, './$1.ts')
    return [[join('onchain-inbox', name).split(sep).join('/'), join(root, types)] as const]
  })
}

/** The folder with Node's own types, where somebody has installed them beside this program. */
function findNodeTypes(): string | null {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve('@types/node/package.json')))
  } catch {
    return null
  }
}
