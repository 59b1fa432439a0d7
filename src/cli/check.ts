import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig, type Config } from '../config/config.ts'
import type { ConfiguredSource } from '../config/sources.ts'
import { findHandlerWarnings } from '../config/sinks/config-warnings.ts'
import { parseSettings } from '../config/parse.ts'
import { collectSettings, type ConfigInputs } from '../config/collect.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { locationsOf, type HandlerLocations } from '../dispatch/handler-locations.ts'
import { InboxError } from '../base/errors.ts'
import { printResult, withOutputOptions, type OutputOptions } from './output.ts'
import { renderTable } from './table.ts'
import { configInputs, withConfigOption, type ConfigOption } from './settings.ts'
import { checkHandlers } from '../dispatch/check-handlers.ts'

type CheckOptions = OutputOptions & ConfigOption

/** `onchain-inbox check`: validates settings and handlers without starting anything, and prints them. */
export function addCheckCommand(program: Command): void {
  const check = program
    .command('check')
    .description('Check settings and handlers, and print them without secrets')
    .addHelpText('after', '\nExample:\n  $ onchain-inbox check')
  withOutputOptions(withConfigOption(check), 'print one JSON object').action(run)
}

async function run(options: CheckOptions): Promise<void> {
  const inputs = configInputs(options)
  // Checks handlers even if settings are invalid, so one run shows all problems.
  const problems: InboxError[] = []
  const config = await orNull(loadConfig(inputs), problems)
  const locations = config === null ? await findHandlersAlone(inputs) : locationsOf(config)
  const checked = locations === null ? null : await orNull(checkHandlers(locations), problems)
  // Invalid settings may name handlers that are not in the folder, so no handlers here doesn't mean none at all.
  const handlers = config === null && checked?.length === 0 ? null : checked

  const warnings = [
    ...(config?.warnings ?? []),
    ...(handlers === null ? [] : findConfigWarnings(locations?.handlersDir ?? null, handlers)),
  ]
  if (config !== null || handlers !== null) {
    const values = config && Object.fromEntries(config.settings.map(({ name, value }) => [name, value]))
    const sinks = config && config.sinks.map(({ name, description }) => ({ name, description }))
    const sources = config && config.sources.map(describeSource)
    printResult({ config: values, sources, sinks, handlers, warnings }, options, () =>
      [
        ...(config === null ? [] : [renderSettings(config)]),
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
export async function findHandlersAlone(inputs: ConfigInputs): Promise<HandlerLocations | null> {
  const settings = await collectSettings(inputs)
  const handlersDir = findHandlersDir(settings, inputs.cwd)
  const { INBOX_HANDLERS, INBOX_SINKS, INBOX_FORWARD_URL } = settings.values
  // With sinks the folder is optional, unless it is set.
  const isNeeded = INBOX_HANDLERS !== undefined || (INBOX_SINKS ?? INBOX_FORWARD_URL) === undefined
  return handlersDir !== null && (isNeeded || existsSync(handlersDir)) ? { handlersDir } : null
}

/** The handlers folder; null if an invalid setting or config file may name it. */
function findHandlersDir(settings: Awaited<ReturnType<typeof collectSettings>>, cwd: string): string | null {
  const { INBOX_HANDLERS } = settings.values
  if (INBOX_HANDLERS === undefined && settings.problems.length > 0) return null
  const { values, problems } = parseSettings({ INBOX_HANDLERS })
  return problems.length > 0 ? null : resolve(cwd, values.INBOX_HANDLERS)
}

function renderSettings({ settings, sources, sinks }: Config): string {
  const rows = settings.map(({ name, value, origin }) => [name, value, origin])
  const ofSources = sources.map(describeSource).map(({ name, path, provider, secrets }) => {
    return [name, path, provider ?? 'own rules', secrets?.join(', ') ?? 'fetched keys']
  })
  return [
    renderTable(['setting', 'value', 'origin'], rows),
    ...(ofSources.length === 0 ? [] : [renderTable(['source', 'path', 'provider', 'secrets'], ofSources)]),
    ...(sinks.length === 0
      ? []
      : [
          renderTable(
            ['sink', 'description'],
            sinks.map(({ name, description }) => [name, description]),
          ),
        ]),
  ].join('\n\n')
}

/** `secrets`: their labels; null: public keys are fetched. */
function describeSource({ settings, secrets }: ConfiguredSource) {
  const { name, path, provider, keyEndpoint } = settings
  return { name, path, provider, secrets: keyEndpoint === null ? secrets.secrets.map(({ label }) => label) : null }
}

function renderHandlers(handlers: readonly HandlerInfo[]): string {
  const rows = handlers.map(({ name, types, sources, file }) => {
    return [name, `${types.join(', ')}${sources ? ` of ${sources.join(', ')}` : ''}`, file]
  })
  return rows.length === 0 ? 'no handlers' : renderTable(['handler', 'event types', 'file'], rows)
}

/** Config warnings: allowed, but probably a mistake. */
function findConfigWarnings(dir: string | null, handlers: readonly HandlerInfo[]): string[] {
  if (handlers.length === 0) return [`no handlers${dir === null ? '' : ` in ${dir}`}: events are only stored`]
  return findHandlerWarnings(handlers)
}
