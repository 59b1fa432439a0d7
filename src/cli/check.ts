import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve, dirname, join, relative, sep } from 'node:path'
import type { Command } from 'commander'
import { eventTypes } from '../../schema/index.ts'
import { internalEventTypes } from '../../schema/internal.ts'
import { loadConfig } from '../config/config.ts'
import { describeConfig } from '../config/described.ts'
import { parseSettings } from '../config/parse.ts'
import { collectSettings, type ConfigSources } from '../config/sources.ts'
import { sourcesOf, type HandlerSources } from '../dispatch/sources.ts'
import { InboxError } from '../base/errors.ts'
import { host } from './host.ts'
import { printResult, renderTable, withOutputOptions, type OutputOptions } from './output.ts'
import { configSources, withConfigOption, type ConfigOption } from './settings.ts'
import { checkHandlers } from '../dispatch/check-handlers.ts'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { compilerSettings } from './init/project.ts'

/** A handler as the check lists it. */
interface CheckedHandler {
  readonly name: string
  readonly types: readonly string[]
  readonly file: string
}

interface CheckFlags extends OutputOptions, ConfigOption {
  readonly types?: boolean
  readonly force?: boolean
}

/** `onchain-inbox check`: checks configuration and handlers without starting anything, and prints what would be used. */
export function addCheckCommand(program: Command): void {
  const check = program
    .command('check')
    .description('check the configuration and the handlers, and print them without secrets')
    .option(
      '--types',
      'instead, write a tsconfig.json beside the handlers, by which editors find the types of onchain-inbox',
    )
    .option('--force', 'with --types: also in the place of a tsconfig.json of your own')
    .addHelpText('after', '\nExamples:\n  $ onchain-inbox check\n  $ onchain-inbox check --types')
  withOutputOptions(withConfigOption(check), 'print one JSON object').action(async (flags: CheckFlags) => {
    await (flags.types === true ? writeTypes(flags) : run(flags))
  })
}

async function run(flags: CheckFlags): Promise<void> {
  if (flags.force === true) throw new InboxError('usage', '--force goes with --types')
  const sources = configSources(flags)
  // Handlers are checked even where the settings cannot be used, so that one look is enough.
  const problems: InboxError[] = []
  const config = await orNull(loadConfig(sources), problems)
  const found = config === null ? await findHandlersAlone(sources) : sourcesOf(config)
  const checked = found === null ? null : await orNull(checkHandlers(found), problems)
  // With settings that cannot be used there is more than the folder, but nobody knows what.
  const handlers = config === null && checked?.length === 0 ? null : checked

  const rows = config && describeConfig(config)
  const warnings = [
    ...(config?.warnings ?? []),
    ...(handlers === null ? [] : findConfigWarnings(found?.handlersDir ?? null, handlers)),
  ]
  if (rows !== null || handlers !== null) {
    printResult({ config: rows && Object.fromEntries(rows), handlers, warnings }, flags, () =>
      [
        ...(rows === null ? [] : [renderTable(['setting', 'value'], rows)]),
        ...(handlers === null ? [] : [renderHandlers(handlers)]),
        ...warnings.map((warning) => `warning: ${warning}`),
      ].join('\n\n'),
    )
  }
  const [first, ...others] = problems
  if (first === undefined) return
  const messages = [first.message, ...others.map(({ code, message }) => `${code}: ${message}`)]
  throw new InboxError(first.code, messages.join('\n'), { cause: first })
}

/** For this only the folder of the handlers matters; it need not be there yet. */
async function writeTypes(flags: CheckFlags): Promise<void> {
  const handlersDir = (await findHandlersDir(configSources(flags)))?.handlersDir ?? null
  if (handlersDir === null) {
    const message = 'it is not known where the handlers are: name their folder in INBOX_HANDLERS'
    throw new InboxError('config_invalid', message)
  }
  host().stderr.write(`the types of ${handlersDir} go to ${typesFileOf(handlersDir)}\n`)
  printResult(writeTypesFile(handlersDir, { isForced: flags.force ?? false }), flags, ({ file, result }) =>
    result === 'kept' ? `${file} is there already, as it should be` : `wrote ${file}`,
  )
}

async function orNull<T>(work: Promise<T>, problems: InboxError[]): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    problems.push(error)
    return null
  }
}

interface FoundHandlers {
  readonly handlersDir: string
  /** Whether it has to be there. */
  readonly isNeeded: boolean
}

/** What handlers can be checked where other settings cannot be used. */
async function findHandlersAlone(sources: ConfigSources): Promise<HandlerSources | null> {
  const found = await findHandlersDir(sources)
  if (found === null) return null
  const { handlersDir, isNeeded } = found
  return isNeeded || existsSync(handlersDir) ? { handlersDir } : null
}

/** The folder of the handlers where other settings cannot be used; null if it is not known either. */
async function findHandlersDir(sources: ConfigSources): Promise<FoundHandlers | null> {
  const given = await collectSettings(sources)
  const { INBOX_HANDLERS, INBOX_SINKS, INBOX_FORWARD_URL } = given.values
  // A config file that cannot be used may have named it.
  if (INBOX_HANDLERS === undefined && given.problems.length > 0) return null
  const { values, problems } = parseSettings({ INBOX_HANDLERS })
  if (problems.length > 0) return null
  return {
    handlersDir: resolve(sources.cwd, values.INBOX_HANDLERS),
    // Beside sinks there need be none, unless somebody asked for it.
    isNeeded: INBOX_HANDLERS !== undefined || (INBOX_SINKS ?? INBOX_FORWARD_URL) === undefined,
  }
}

function renderHandlers(handlers: readonly CheckedHandler[]): string {
  const rows = handlers.map(({ name, types, file }) => [name, types.join(', '), file])
  return rows.length === 0 ? 'no handlers' : renderTable(['handler', 'event types', 'file'], rows)
}

/** What is allowed, but looks like a mistake. */
function findConfigWarnings(dir: string | null, handlers: readonly CheckedHandler[]): string[] {
  if (handlers.length === 0)
    return [
      `there are no handlers${dir === null ? '' : ` in ${dir}`}: events are stored, and nothing is done with them`,
    ]
  return handlers.flatMap(({ name, types }) =>
    types
      .filter((type) => !isDocumented(type))
      .map((type) => `handler ${name} takes ${type}, and no documented event has this type: is it mistyped?`),
  )
}

function isDocumented(pattern: string): boolean {
  if (pattern === '*') return true
  return [...eventTypes, ...internalEventTypes].some((type) =>
    pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern,
  )
}

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
