import { Command, CommanderError } from 'commander'
import { InboxError } from '../base/errors.ts'
import { printError } from './output.ts'

/**
 * A program without commands yet. Those that are added to it report a wrong call as every other error, and what stands behind
 * the name of a command is of that command alone.
 */
export function createProgram(): Command {
  return new Command('onchain-inbox')
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({ outputError: () => {} })
}

/** Runs the command that this process was called with. */
export async function runProgram(program: Command): Promise<void> {
  // Unheard, a failed write would end the process, and with it a sidecar whose log nobody reads any more.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  try {
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = isMistake(error) ? printError(toUsageError(error), { json: asksForJson() }) : error.exitCode
  }
}

/** Help and version are thrown too, after they were printed. */
function isMistake({ code }: CommanderError): boolean {
  return code !== 'commander.help' && code !== 'commander.helpDisplayed' && code !== 'commander.version'
}

/** A URL that is not valid is not shown: it may hold a password. */
function toUsageError({ message }: CommanderError): InboxError {
  const shown = message.replace(/^error: /, '').replace(/(<url>' argument) '.*' (is invalid)/s, '$1 $2')
  return new InboxError('usage', `${shown} (--help shows what is possible)`)
}

/** The options were not understood, so this one is looked for among the arguments as they are. */
function asksForJson(): boolean {
  return process.argv.includes('--json')
}
