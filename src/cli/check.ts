import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve, dirname, join, relative, sep } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../config/config.ts'
import { findHandlerWarnings } from '../config/sinks/config-warnings.ts'
import { describeConfig } from '../config/described.ts'
import { parseSettings } from '../config/parse.ts'
import { collectSettings, type ConfigSources } from '../config/sources.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { sourcesOf, type HandlerSources } from '../dispatch/sources.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { printResult, withOutputOptions, type OutputOptions } from './output.ts'
import { renderTable } from './table.ts'
import { configSources, withConfigOption, type ConfigOption } from './settings.ts'
import { checkHandlers } from '../dispatch/check-handlers.ts'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { compilerSettings } from './init/project.ts'

interface CheckFlags extends OutputOptions, ConfigOption {
  readonly types?: boolean
  readonly force?: boolean
}

/** `onchain-inbox check`: validates settings and handlers without starting anything, and prints them. */
export function addCheckCommand(program: Command): void {
  const check = program
    .command('check')
    .description('Check settings and handlers, and print them without secrets')
    .option('--types', 'instead, write a tsconfig.json so that editors find the types of onchain-inbox')
    .option('--force', 'with --types: replace your own tsconfig.json')
    .addHelpText('after', '\nExamples:\n  $ onchain-inbox check\n  $ onchain-inbox check --types')
  withOutputOptions(withConfigOption(check), 'print one JSON object').action(async (flags: CheckFlags) => {
    await (flags.types === true ? writeTypes(flags) : run(flags))
  })
}

async function run(flags: CheckFlags): Promise<void> {
  if (flags.force === true) throw new InboxError('usage', '--force goes with --types')
  const sources = configSources(flags)
  // Checks handlers even if settings are invalid, so one run shows all problems.
  const problems: InboxError[] = []
  const config = await orNull(loadConfig(sources), problems)
  const found = config === null ? await findHandlersAlone(sources) : sourcesOf(config)
  const checked = found === null ? null : await orNull(checkHandlers(found), problems)
  // Invalid settings may name handlers that are not in the folder, so no handlers here doesn't mean none at all.
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

/** Needs only the handlers folder, which need not exist yet. */
async function writeTypes(flags: CheckFlags): Promise<void> {
  const sources = configSources(flags)
  const handlersDir = findHandlersDir(await collectSettings(sources), sources.cwd)
  if (handlersDir === null) {
    const message = 'the handlers folder is unknown: set INBOX_HANDLERS'
    throw new InboxError('config_invalid', message)
  }
  const file = writeTypesFile(handlersDir, flags.force ?? false)
  printResult({ file, result: 'written' }, flags, () => `wrote ${file}`)
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

/** Handlers to check when other settings are invalid; null if their folder is unknown or may be missing. */
export async function findHandlersAlone(sources: ConfigSources): Promise<HandlerSources | null> {
  const given = await collectSettings(sources)
  const handlersDir = findHandlersDir(given, sources.cwd)
  const { INBOX_HANDLERS, INBOX_SINKS, INBOX_FORWARD_URL } = given.values
  // With sinks the folder is optional, unless it is set.
  const isNeeded = INBOX_HANDLERS !== undefined || (INBOX_SINKS ?? INBOX_FORWARD_URL) === undefined
  return handlersDir !== null && (isNeeded || existsSync(handlersDir)) ? { handlersDir } : null
}

/** Null if an invalid setting or config file may name it. */
function findHandlersDir(given: Awaited<ReturnType<typeof collectSettings>>, cwd: string): string | null {
  const { INBOX_HANDLERS } = given.values
  if (INBOX_HANDLERS === undefined && given.problems.length > 0) return null
  const { values, problems } = parseSettings({ INBOX_HANDLERS })
  return problems.length > 0 ? null : resolve(cwd, values.INBOX_HANDLERS)
}

function renderHandlers(handlers: readonly HandlerInfo[]): string {
  const rows = handlers.map(({ name, types, file }) => [name, types.join(', '), file])
  return rows.length === 0 ? 'no handlers' : renderTable(['handler', 'event types', 'file'], rows)
}

/** Config warnings: allowed, but probably a mistake. */
function findConfigWarnings(dir: string | null, handlers: readonly HandlerInfo[]): string[] {
  if (handlers.length === 0) return [`no handlers${dir === null ? '' : ` in ${dir}`}: events are only stored`]
  return findHandlerWarnings(handlers)
}

/** First line of a generated file, which later runs may replace. */
const mark =
  '// Written by `onchain-inbox check --types` so that editors find the types of handlers. Later runs may replace it.'

/**
 * Writes a tsconfig.json that lets editors resolve `onchain-inbox` without a node_modules folder nearby. It is next to the handlers
 * folder, so that files there get types too.
 *
 * @throws InboxError `usage` if the user wrote the file, unless `isForced`; `config_invalid` if it can't be written
 */
function writeTypesFile(handlersDir: string, isForced: boolean): string {
  const folder = dirname(handlersDir)
  const file = join(folder, 'tsconfig.json')
  const compilerOptions = compilerOptionsFor(folder)
  if (existsSync(file) && !readFileSync(file, 'utf8').startsWith(mark) && !isForced) {
    const { paths } = compilerOptions
    throw new InboxError(
      'usage',
      `${file} is your own and was left unchanged: add these "paths" to its "compilerOptions", or replace it with ` +
        `--force:\n${JSON.stringify({ paths }, null, 2)}`,
    )
  }
  try {
    writeFileSync(file, `${mark}\n${JSON.stringify({ compilerOptions }, null, 2)}\n`)
  } catch (error) {
    const message = `${file} can't be written (${messageOf(error)}): give this user write access`
    throw new InboxError('config_invalid', message, { cause: error })
  }
  return file
}

/** Compiler options for handlers, which Node runs with types erased. Paths are relative to `folder`. */
function compilerOptionsFor(folder: string) {
  const at = (path: string) => {
    const steps = relative(folder, path).split(sep).join('/')
    return steps.startsWith('.') ? steps : `./${steps}`
  }
  const nodeTypes = findNodeTypes()
  const { compilerOptions } = JSON.parse(compilerSettings) as { readonly compilerOptions: object }
  return {
    ...compilerOptions,
    // Handlers are ES modules, also under a package.json without `type`.
    module: 'preserve',
    ...(nodeTypes === null ? { types: [] } : { typeRoots: [at(nodeTypes)] }),
    paths: Object.fromEntries(publicTypes().map(([name, path]) => [name, [at(path)]])),
  }
}

/** Public names in the exports map, with the absolute path of their types. */
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

/** The `@types` folder with Node's types if it is installed with this program; else null. */
function findNodeTypes(): string | null {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve('@types/node/package.json')))
  } catch {
    return null
  }
}
