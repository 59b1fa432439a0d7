import type { Command } from 'commander'
import { parseSettings, withFiles } from '../config/parse.ts'
import type { SettingName, SettingValues } from '../config/settings.ts'
import { collectSettings, type ConfigInputs } from '../config/collect.ts'
import type { DatabaseSetting } from '../config/values.ts'
import { InboxError } from '../base/errors.ts'
import { fromCwd, host } from './host.ts'
import { readSecretArgument } from './secret-argument.ts'

export interface ConfigOption {
  readonly config?: string
}

export function withConfigOption(command: Command): Command {
  return command.option('--config <file>', 'config file (default: onchain-inbox.config.{ts,js,mjs} in this folder)')
}

export function configInputs({ config }: ConfigOption): ConfigInputs {
  return { env: host().env, cwd: host().cwd(), ...(config !== undefined && { configFile: config }) }
}

/**
 * Reads some settings. Others may be missing or invalid.
 *
 * @throws InboxError `config_invalid`
 */
export async function readSettings<Name extends SettingName>(
  names: readonly Name[],
  options: ConfigOption,
): Promise<Pick<SettingValues, Name>> {
  const inputs = configInputs(options)
  const collected = await withFiles(await collectSettings(inputs), inputs.cwd, names)
  const { values, problems } = parseSettings(
    Object.fromEntries(names.flatMap((name) => (name in collected.values ? [[name, collected.values[name]]] : []))),
  )
  const all = [...collected.problems, ...problems]
  if (all.length > 0) throw new InboxError('config_invalid', all.join('\n  '))
  return values
}

/** Reads INBOX_DATABASE_URL, a file with its absolute path. */
export async function readDatabaseSetting(options: ConfigOption): Promise<DatabaseSetting> {
  const { INBOX_DATABASE_URL: database } = await readSettings(['INBOX_DATABASE_URL'], options)
  return database.kind === 'sqlite' ? { kind: 'sqlite', file: fromCwd(database.file) } : database
}

/** Options of commands that call the REST service. */
export interface ApiOptions extends ConfigOption {
  readonly apiUrl?: string
  readonly apiKey?: string
}

/** Adds `--api-url` and `--api-key`. */
export function withApiOptions(command: Command): Command {
  return command
    .option('--api-url <url>', 'URL of the REST service (default: INBOX_API_URL)')
    .option('--api-key <key>', 'API key: @file, - or env:NAME (default: INBOX_API_KEY)')
}

/**
 * Reads URL and key of the service from options, environment or config file. A literal key on the command line is allowed only for
 * this machine.
 *
 * @throws InboxError `usage` or `config_invalid`, never with the key
 */
export async function readApiSettings(options: ApiOptions): Promise<{ readonly url: string; readonly key: string }> {
  const url = options.apiUrl ?? (await readSettings(['INBOX_API_URL'], options)).INBOX_API_URL
  if (url === undefined) throw missing('the URL of the REST service is missing', 'INBOX_API_URL or --api-url')
  if (options.apiKey !== undefined) return { url, key: await readSecretArgument(options.apiKey, { url }) }
  const { INBOX_API_KEY: key } = await readSettings(['INBOX_API_KEY'], options)
  if (key === undefined) {
    const names = 'INBOX_API_KEY, INBOX_API_KEY_FILE or --api-key'
    throw missing('the key of the REST service is missing', names)
  }
  return { url, key }
}

function missing(problem: string, names: string): InboxError {
  return new InboxError('config_invalid', `${problem}: set ${names}`)
}
