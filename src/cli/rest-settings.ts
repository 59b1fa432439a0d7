import { resolve } from 'node:path'
import type { Command } from 'commander'
import { processEnvironment } from '../config/config.ts'
import { parseSettings } from '../config/parse.ts'
import { collectSettings, type GivenSettings } from '../config/sources.ts'
import { InboxError } from '../base/errors.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { readSecretArgument } from './secret-argument.ts'

/** Options of every command that calls the REST service. */
export interface ApiOptions {
  readonly apiUrl?: string
  readonly apiKey?: string
  readonly config?: string
}

/** Gives a command the options that say where the service is. */
export function withApiOptions(command: Command): Command {
  return command
    .option('--api-url <url>', 'the REST service (default: INBOX_API_URL)')
    .option('--api-key <key>', 'its key, as @file, - or env:NAME (default: INBOX_API_KEY)')
}

const settingNames = ['INBOX_API_URL', 'INBOX_API_KEY', 'INBOX_API_KEY_FILE'] as const

/**
 * URL and key of the service, from options, environment or config file. A key on the command line is never a literal, unless the
 * service is on this machine.
 *
 * @throws InboxError `usage` or `config_invalid`, never with the key
 */
export async function readApiSettings(options: ApiOptions): Promise<{ readonly url: string; readonly key: string }> {
  const cwd = process.cwd()
  const given = await collectSettings({
    env: processEnvironment(),
    cwd,
    ...(options.config !== undefined && { configFile: options.config }),
  })
  const picked: Partial<Record<keyof GivenSettings['values'], unknown>> = {}
  for (const name of settingNames) if (name in given.values) picked[name] = given.values[name]
  const { values, problems } = parseSettings(picked)
  const all = [...given.problems, ...problems]
  if (all.length > 0) throw new InboxError('config_invalid', all.join('\n  '))

  const { INBOX_API_KEY_FILE: file, INBOX_API_KEY: text } = values
  const url = options.apiUrl ?? values.INBOX_API_URL
  if (url === undefined) throw missing('the REST service is not known', 'INBOX_API_URL, or give it by --api-url')
  if (options.apiKey !== undefined) return { url, key: await readSecretArgument(options.apiKey, { url }) }
  if (file !== undefined && text !== undefined) {
    throw new InboxError('config_invalid', 'INBOX_API_KEY and INBOX_API_KEY_FILE are both set, expected one of them')
  }
  const key = file === undefined ? text : await readSecretFile(resolve(cwd, file))
  if (key === undefined || key === '') {
    const names = 'INBOX_API_KEY or INBOX_API_KEY_FILE, or give it by --api-key'
    throw missing('the key of the REST service is not known', names)
  }
  return { url, key }
}

function missing(what: string, where: string): InboxError {
  return new InboxError('config_invalid', `${what}: set ${where}`)
}
