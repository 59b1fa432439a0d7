import type { Command } from 'commander'
import { loadConfig, type Config } from '../config/config.ts'
import type { ConfiguredSource } from '../config/sources.ts'
import { findHandlerWarnings } from '../config/sinks/config-warnings.ts'
import { InboxError } from '../base/errors.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { locationsOf } from '../dispatch/handler-locations.ts'
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
  const config = await loadConfig(configInputs(options))
  let failure: InboxError | undefined
  const handlers = await checkHandlers(locationsOf(config)).catch((error: unknown) => {
    if (!(error instanceof InboxError)) throw error
    failure = error
    return null
  })
  const warnings = [...config.warnings, ...(handlers === null ? [] : findConfigWarnings(config, handlers))]
  const values = Object.fromEntries(config.settings.map(({ name, value }) => [name, value]))
  const sinks = config.sinks.map(({ name, description }) => ({ name, description }))
  const sources = config.sources.map(describeSource)
  printResult({ config: values, sources, sinks, handlers, warnings }, options, () =>
    [
      renderSettings(config),
      ...(handlers === null ? [] : [renderHandlers(handlers)]),
      ...warnings.map((warning) => `warning: ${warning}`),
    ].join('\n\n'),
  )
  if (failure !== undefined) throw failure
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
function findConfigWarnings({ handlersDir: dir, webhookSecrets }: Config, handlers: readonly HandlerInfo[]): string[] {
  if (handlers.length === 0) return [`no handlers${dir === null ? '' : ` in ${dir}`}: events are only stored`]
  return findHandlerWarnings(handlers, webhookSecrets !== null)
}
