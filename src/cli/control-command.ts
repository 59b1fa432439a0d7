import type { Command } from 'commander'
import { demoCredentials } from '../base/demo-credentials.ts'
import { InboxError } from '../base/errors.ts'
import { isLoopbackUrl } from '../base/loopback.ts'
import { createControlClient, emulatorOrigin, type ControlClient } from './control-client.ts'
import { host } from './host.ts'
import { printNote, withOutputOptions, type OutputOptions } from './output.ts'
import { readSecretArgument } from './secret-argument.ts'

/** Options of every command that works on a running emulator. */
export interface ControlOptions extends OutputOptions {
  readonly emulator?: string
  readonly token?: string
}

const defaultUrl = 'http://127.0.0.1:8090'

/** Gives a command the options of commands on a running emulator, and examples in its help. */
export function asControlCommand(command: Command, examples: readonly string[]): Command {
  return withOutputOptions(withControlOptions(command), 'print one JSON object per line').addHelpText(
    'after',
    `\nExamples:\n${examples.map((example) => `  $ onchain-inbox ${example}\n`).join('')}`,
  )
}

/** The two that say which emulator it is, and open it. */
export function withControlOptions(command: Command): Command {
  return command
    .option('--emulator <url>', `where the emulator listens (default: ${defaultUrl})`)
    .option(
      '--token <token>',
      'its control token: @file, - for standard input, or env:NAME (default: EMULATOR_CONTROL_TOKEN, else the published one of ' +
        'the seed demo)',
    )
}

/** Opens the emulator that the options name. Throws `usage` if its URL is none, or there is no token for it. */
export async function openControl({ emulator = defaultUrl, token }: ControlOptions): Promise<ControlClient> {
  const url = emulatorOrigin(emulator)
  if (token !== undefined) return createControlClient({ url, onWait, token: await readSecretArgument(token, { url }) })
  const known = host().env['EMULATOR_CONTROL_TOKEN']
  if (known !== undefined && known !== '') return createControlClient({ url, onWait, token: known })
  if (isLoopbackUrl(url)) return createControlClient({ url, onWait, token: demoCredentials.controlToken })
  throw new InboxError(
    'usage',
    'expected the control token of the emulator: set EMULATOR_CONTROL_TOKEN, or give --token',
  )
}

function onWait(): void {
  if (host().stderr.isTTY) printNote('the emulator is still making its world: waiting for it, for 30 seconds at most')
}

/** Opens the emulator for `work`, which gives the exit code (default: 0). */
export async function withControl(
  options: ControlOptions,
  work: (client: ControlClient) => Promise<number | void>,
): Promise<void> {
  host().exitCode = (await work(await openControl(options))) ?? 0
}
