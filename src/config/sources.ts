import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { nearest } from '../base/edit-distance.ts'
import { messageOf } from '../base/errors.ts'
import { isSettingName, settingNames, type SettingName } from './settings.ts'

export interface ConfigSources {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  /** Path of the config file; without it `onchain-inbox.config.{ts,js,mjs}` in `cwd`, if there is one. Null: none is read. */
  readonly configFile?: string | null
}

/** Where settings were set: in the environment, or in the config file. */
export type SettingOrigins = Readonly<Partial<Record<SettingName, 'environment' | 'config'>>>

/** What was set, before it is parsed, and what there is to say about it. */
export interface GivenSettings {
  readonly values: Readonly<Partial<Record<SettingName, unknown>>>
  /** Where each of them was set. */
  readonly origins: SettingOrigins
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

const fileNames = ['onchain-inbox.config.ts', 'onchain-inbox.config.js', 'onchain-inbox.config.mjs']

/** A setting and the file that holds its value: naming either in the environment overrules both in the config file. */
const pairs = settingNames.flatMap((name) => {
  const file = `${name}_FILE`
  return isSettingName(file) ? [[name, file] as const] : []
})

/** What is more than a line goes by a short name in the config file. */
const shortNames = new Map<string, SettingName>([
  ['sinks', 'INBOX_SINKS'],
  ['routes', 'INBOX_ROUTES'],
  ['subscribe', 'INBOX_SUBSCRIBE'],
  ['notify', 'INBOX_NOTIFY'],
])

/** Collects settings from the config file and the environment; the environment wins, an empty variable is not set. */
export async function collectSettings(sources: ConfigSources): Promise<GivenSettings> {
  const file = await readConfigFile(sources)
  const warnings: string[] = []
  const fromEnv: Partial<Record<SettingName, unknown>> = {}
  for (const [name, value] of Object.entries(sources.env)) {
    if (!name.startsWith('INBOX_') || value === undefined || value === '') continue
    if (isSettingName(name)) fromEnv[name] = value
    else warnings.push(`${name} is not a setting${nearest(name, settingNames, 'INBOX_')}; it is ignored`)
  }

  const values = { ...file.values }
  for (const pair of pairs) {
    if (pair.some((name) => name in fromEnv)) for (const name of pair) delete values[name]
  }
  const origins = { ...originsOf(values, 'config'), ...originsOf(fromEnv, 'environment') }
  return { values: { ...values, ...fromEnv }, origins, problems: file.problems, warnings }
}

function originsOf(values: GivenSettings['values'], origin: 'environment' | 'config'): SettingOrigins {
  return Object.fromEntries(Object.keys(values).map((name) => [name, origin]))
}

async function readConfigFile(sources: ConfigSources): Promise<Pick<GivenSettings, 'values' | 'problems'>> {
  if (sources.configFile === null) return { values: {}, problems: [] }
  const found = fileNames.filter((name) => existsSync(join(sources.cwd, name)))
  const [path, second] = sources.configFile === undefined ? found : [sources.configFile]
  if (path === undefined) return { values: {}, problems: [] }
  if (second !== undefined) return failed(`there are both ${path} and ${second}: keep one`)

  const file = resolve(sources.cwd, path)
  if (!existsSync(file)) return failed(`config file ${file} does not exist: give the path of a .ts, .js or .mjs file`)
  let loaded: { readonly default?: unknown }
  try {
    loaded = await import(pathToFileURL(file).href)
  } catch (error) {
    return failed(`config file ${file} cannot be loaded: ${messageOf(error)}`)
  }
  const settings = loaded.default
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    return failed(
      `config file ${file}: expected an object as default export, for example export default { INBOX_PORT: 8080 }`,
    )
  }

  const values: Partial<Record<SettingName, unknown>> = {}
  const problems: string[] = []
  for (const [given, value] of Object.entries(settings)) {
    const name = shortNames.get(given) ?? given
    if (isSettingName(name)) {
      if (value !== undefined) values[name] = value
    } else problems.push(`config file ${file}: ${name} is not a setting${nearest(name, settingNames, 'INBOX_')}`)
  }
  return { values, problems }
}

function failed(problem: string): Pick<GivenSettings, 'values' | 'problems'> {
  return { values: {}, problems: [problem] }
}
