import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { nearest } from '../base/edit-distance.ts'
import { explainImport } from '../base/explain-import.ts'
import { isSettingName, settingNames, type SettingName } from './settings.ts'

export interface ConfigInputs {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  /** Path of the config file. Default: `onchain-inbox.config.{ts,js,mjs}` in `cwd` if it exists. Null = none. */
  readonly configFile?: string | null
}

export type SettingOrigins = Readonly<Partial<Record<SettingName, 'environment' | 'config'>>>

/** Settings before they are parsed. */
export interface RawSettings {
  readonly values: Readonly<Partial<Record<SettingName, unknown>>>
  readonly origins: SettingOrigins
  /** False if the config file can't be loaded: a setting that is missing here may be in it. */
  readonly isComplete: boolean
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

type FileSettings = Pick<RawSettings, 'values' | 'problems' | 'isComplete'>

const fileNames = ['onchain-inbox.config.ts', 'onchain-inbox.config.js', 'onchain-inbox.config.mjs']

/** A setting and its `_FILE` variant: either one in the environment overrides both in the config file. */
export const filePairs = settingNames.flatMap((name) => {
  const file = `${name}_FILE` as const
  return isSettingName(file) ? [[name, file] as const] : []
})

/** Short names of structured settings in the config file. */
const shortNames = new Map<string, SettingName>([
  ['sources', 'INBOX_SOURCES'],
  ['sinks', 'INBOX_SINKS'],
  ['routes', 'INBOX_ROUTES'],
  ['notify', 'INBOX_NOTIFY'],
])

/** Collects settings from config file and environment. The environment wins; an empty variable counts as unset. */
export async function collectSettings(inputs: ConfigInputs): Promise<RawSettings> {
  const file = await readConfigFile(inputs)
  const warnings: string[] = []
  const fromEnv: Partial<Record<SettingName, unknown>> = {}
  for (const [name, value] of Object.entries(inputs.env)) {
    if (!name.startsWith('INBOX_') || value === undefined || value === '') continue
    if (isSettingName(name)) fromEnv[name] = value
    else warnings.push(`${name} is not a setting${nearest(name, settingNames, 'INBOX_')}; it is ignored`)
  }

  const values = { ...file.values }
  for (const pair of filePairs) {
    if (pair.some((name) => name in fromEnv)) for (const name of pair) delete values[name]
  }
  const origins = { ...originsOf(values, 'config'), ...originsOf(fromEnv, 'environment') }
  return { ...file, values: { ...values, ...fromEnv }, origins, warnings }
}

function originsOf(values: RawSettings['values'], origin: 'environment' | 'config'): SettingOrigins {
  return Object.fromEntries(Object.keys(values).map((name) => [name, origin]))
}

async function readConfigFile(inputs: ConfigInputs): Promise<FileSettings> {
  const none = { values: {}, problems: [], isComplete: true }
  if (inputs.configFile === null) return none
  const found = fileNames.filter((name) => existsSync(join(inputs.cwd, name)))
  const [path, second] = inputs.configFile === undefined ? found : [inputs.configFile]
  if (path === undefined) return none
  if (second !== undefined) return failed(`there are two config files, ${path} and ${second}: keep one`)

  const file = resolve(inputs.cwd, path)
  if (!existsSync(file)) return failed(`config file ${file} does not exist: give the path of a .ts, .js or .mjs file`)
  let loaded: { readonly default?: unknown }
  try {
    loaded = await import(pathToFileURL(file).href)
  } catch (error) {
    // The message, and for an error at run time its first frame.
    const reason = explainImport(error, file).split(/\n\s*/, 2).join(' ')
    return failed(`config file ${file} cannot be loaded: ${reason}`)
  }
  const settings = loaded.default
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    return failed(
      `config file ${file}: expected an object as default export, for example export default { INBOX_PORT: 8080 }`,
    )
  }

  const values: Partial<Record<SettingName, unknown>> = {}
  const problems: string[] = []
  for (const [member, value] of Object.entries(settings)) {
    const name = shortNames.get(member) ?? member
    if (isSettingName(name)) {
      if (value !== undefined) values[name] = value
    } else problems.push(`config file ${file}: ${name} is not a setting${nearestSetting(name)}`)
  }
  return { values, problems, isComplete: true }
}

function nearestSetting(name: string): string {
  return nearest(name, settingNames, 'INBOX_') || nearest(name, [...shortNames.keys()])
}

function failed(problem: string): FileSettings {
  return { values: {}, problems: [problem], isComplete: false }
}
