import type { Command } from 'commander'
import { describeConfig, loadConfig, processEnvironment } from '../config.ts'
import { printError, printResult, renderTable, type OutputOptions } from './output.ts'

/** A handler as the check lists it. */
export interface CheckedHandler {
  readonly name: string
  readonly types: readonly string[]
  readonly file: string
}

export interface CheckCommandOptions {
  /** Loads the handlers of a folder without running them; throws what is wrong with them. */
  readonly checkHandlers: (dir: string) => Promise<readonly CheckedHandler[]>
}

interface CheckFlags extends OutputOptions {
  readonly config?: string
}

/** `onchain-inbox check`: checks configuration and handlers without starting anything, and prints what would be used. */
export function addCheckCommand(program: Command, options: CheckCommandOptions): void {
  program
    .command('check')
    .description('check the configuration and the handlers, and print them without secrets')
    .option('--config <file>', 'the config file (default: onchain-inbox.config.{ts,js,mjs} in this folder, if there)')
    .option('--json', 'print one JSON object')
    .action(async (flags: CheckFlags) => {
      try {
        await run(flags, options)
      } catch (error) {
        process.exitCode = printError(error, flags)
      }
    })
}

async function run(flags: CheckFlags, { checkHandlers }: CheckCommandOptions): Promise<void> {
  const config = await loadConfig({
    env: processEnvironment(),
    cwd: process.cwd(),
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
  })
  const handlers = await checkHandlers(config.handlersDir)
  const rows = describeConfig(config)
  const { warnings } = config

  printResult({ config: Object.fromEntries(rows), handlers, warnings }, flags, () => {
    const handlerRows = handlers.map(({ name, types, file }) => [name, types.join(', '), file])
    return [
      renderTable(['setting', 'value'], rows),
      handlers.length === 0 ? 'no handlers' : renderTable(['handler', 'event types', 'file'], handlerRows),
      ...warnings.map((warning) => `warning: ${warning}`),
    ].join('\n\n')
  })
}
