import { describeDatabase } from '../base/database-url.ts'
import type { Config } from './config.ts'
import type { SecretsOrigin } from './credentials.ts'
import { isSettingName, settingNames, settings, type SettingName } from './settings.ts'
import type { ConfiguredSource } from './sources.ts'
import { describeBytes } from './values.ts'

/** A row of `describeConfig` and its origin. */
export interface DescribedSetting {
  readonly name: string
  /** Text for people. For a secret: set or not, and labels. */
  readonly value: string
  /** `file`: read from the file that an INBOX_*_FILE setting names. */
  readonly origin: 'default' | 'environment' | 'file' | 'config'
  readonly secret: boolean
  /** The settings that the row combines: `INBOX_HOST`, `INBOX_PORT`, `INBOX_PATH`. */
  readonly variables: readonly SettingName[]
  /** Their defaults; empty if none has one. */
  readonly default: string
}

/** Rows that combine several settings. */
const composedRows: Readonly<Record<string, (config: Config) => string>> = {
  'webhook address': ({ tls, host, port, path }) => `${tls ? 'https' : 'http'}://${inUrl(host)}:${port}${path}`,
  'webhook secrets': describeSecrets,
  sources: () => 'none',
  'TLS certificate': ({ tls }) => tls?.certFile ?? 'not set',
  'admin address': ({ admin }) => `http://${inUrl(admin.host)}:${admin.port}`,
  'admin host names': ({ admin }) => admin.hosts.join(', ') || 'none',
  'admin token': ({ admin }) => (admin.token === undefined ? 'not set (one is made at start)' : 'set'),
  'viewer token': ({ admin }) => (admin.viewerToken === undefined ? 'not set' : 'set'),
  database: describeDatabaseSetting,
  handlers: ({ handlersDir }) => handlersDir ?? 'none',
  sinks: () => 'none',
  'console address': ({ consoleUrl }) => consoleUrl ?? 'not set',
  registration: describeSubscribe,
  'REST service': ({ api }) => (api === undefined ? 'not set' : `${api.url} (key: set)`),
  retention: describeRetention,
}

/** The settings of a row; empty for an unknown row. */
function settingsOfRow(row: string): readonly SettingName[] {
  const group = row.replace(/^(sink|source) .*/, '$1s')
  return settingNames.filter((name) => settings[name].group === group)
}

const secretRows: ReadonlySet<string> = new Set(['webhook secrets', 'admin token', 'viewer token'])

/** All settings for people, without anything secret. */
export function describeSettings(config: Config): readonly DescribedSetting[] {
  return describeConfig(config).map(([name, value]) => {
    const variables = settingsOfRow(name)
    const fallback = variables.flatMap(defaultOf).join(', ')
    return { name, value, origin: originOf(name, config), secret: secretRows.has(name), variables, default: fallback }
  })
}

function defaultOf(name: SettingName): readonly string[] {
  const { type, show } = settings[name]
  const { data } = type.safeParse(undefined)
  return data === undefined || (typeof data === 'object' && show === String) ? [] : [show(data as never)]
}

function originOf(name: string, { origins }: Config): DescribedSetting['origin'] {
  const given = settingsOfRow(name).filter((setting) => origins[setting] !== undefined)
  // `INBOX_X_FILE` names a file that holds the value of `INBOX_X`.
  if (given.some((setting) => setting.endsWith('_FILE') && isSettingName(setting.slice(0, -5)))) return 'file'
  const places = given.map((setting) => origins[setting])
  return places.includes('environment') ? 'environment' : (places[0] ?? 'default')
}

/** One row `[name, value]` per setting. Secrets show only whether they are set, and their labels. */
export function describeConfig(config: Config): readonly (readonly [name: string, value: string])[] {
  const lists: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    sinks: config.sinks.map(({ name, description }) => [`sink ${name}`, description]),
    sources: config.sources.map((source) => [`source ${source.settings.name}`, describeSource(source)]),
  }
  const composed = Object.entries(composedRows).flatMap(([name, show]) => {
    const list = lists[name] ?? []
    return list.length > 0 ? list : [[name, show(config)] as const]
  })
  const direct = settingNames.flatMap((name) => {
    const { group, at, show } = settings[name]
    return group in composedRows || at === null ? [] : [[group, show(config[at as keyof Config] as never)] as const]
  })
  return [...composed, ...direct]
}

function describeSecrets({ webhookSecrets }: Config): string {
  return webhookSecrets === null ? 'not set (only sources receive deliveries)' : describeOrigin(webhookSecrets)
}

function describeOrigin({ secrets, files }: SecretsOrigin): string {
  const labels = `set (labels: ${secrets.map(({ label }) => label).join(', ')})`
  return files.length === 0 ? labels : `${labels} from ${files.join(', ')}`
}

function describeSource({ settings, secrets }: ConfiguredSource): string {
  const { provider, path, keyEndpoint } = settings
  const keys =
    keyEndpoint === null ? `secrets ${describeOrigin(secrets)}` : `keys from ${new URL(keyEndpoint.url).host}`
  return `${provider ?? 'custom'} at ${path}, ${keys}`
}

function describeDatabaseSetting({ database, migrate, orphanHours }: Config): string {
  switch (database.kind) {
    case 'sqlite':
      return `SQLite file ${database.file}`
    case 'postgres': {
      const older = migrate === 'auto' ? 'brought up to date at start' : 'refused'
      return `PostgreSQL ${describeDatabase(database.url)} (an older schema is ${older}; orphaned handlers get runs for ${orphanHours} h)`
    }
    case 'memory':
      return 'memory (lost when the process ends)'
  }
}

function describeRetention({ retention: { days, maxBytes } }: Config): string {
  const time = days === 0 ? 'no limit' : `${days} days`
  return maxBytes === undefined ? time : `${time}, in at most ${describeBytes(maxBytes)}`
}

function describeSubscribe({ subscribe }: Config): string {
  if (subscribe === undefined) return 'not set'
  const { url, events, secret } = subscribe
  return `${events.join(', ')} to ${withoutQuery(url)}, signed with ${secret}`
}

/** A query may hold a secret. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
