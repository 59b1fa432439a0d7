import { describeDatabase } from '../base/database-url.ts'
import type { Config } from './config.ts'
import { isSettingName, settingNames, settings, type SettingName } from './settings.ts'
import { describeBytes } from './values.ts'

/** A row of `describeConfig`, and where it was set. */
export interface DescribedSetting {
  readonly name: string
  /** For people; of a secret only whether it is set, or its label. */
  readonly value: string
  /** `file`: the value itself was read from a file that a setting names. */
  readonly source: 'default' | 'environment' | 'file' | 'config'
  readonly secret: boolean
}

type Row = readonly [settings: readonly SettingName[], show: (config: Config) => string]

/** The rows that are made of several settings, or of more than the value of one. */
const composedRows: Readonly<Record<string, Row>> = {
  'webhook address': [
    ['INBOX_HOST', 'INBOX_PORT', 'INBOX_PATH'],
    ({ tls, host, port, path }) => `${tls ? 'https' : 'http'}://${inUrl(host)}:${port}${path}`,
  ],
  'webhook secrets': [['INBOX_SECRETS', 'INBOX_SECRETS_FILE'], describeSecrets],
  'TLS certificate': [['INBOX_TLS_CERT_FILE', 'INBOX_TLS_KEY_FILE'], ({ tls }) => tls?.certFile ?? 'not set'],
  'admin address': [
    ['INBOX_ADMIN_HOST', 'INBOX_ADMIN_PORT'],
    ({ admin }) => `http://${inUrl(admin.host)}:${admin.port}`,
  ],
  'admin host names': [['INBOX_ADMIN_HOSTS'], ({ admin }) => admin.hosts.join(', ') || 'none'],
  'admin token': [
    ['INBOX_ADMIN_TOKEN', 'INBOX_ADMIN_TOKEN_FILE'],
    ({ admin }) => (admin.token === undefined ? 'not set (one is made at start)' : 'set'),
  ],
  'viewer token': [
    ['INBOX_ADMIN_VIEWER_TOKEN', 'INBOX_ADMIN_VIEWER_TOKEN_FILE'],
    ({ admin }) => (admin.viewerToken === undefined ? 'not set (nobody may look without the admin token)' : 'set'),
  ],
  database: [['INBOX_DATABASE_URL', 'INBOX_DATABASE_URL_FILE', 'INBOX_MIGRATE'], describeDatabaseSetting],
  handlers: [['INBOX_HANDLERS'], ({ handlersDir }) => handlersDir ?? 'none'],
  sinks: [['INBOX_SINKS', 'INBOX_ROUTES', 'INBOX_FORWARD_URL', 'INBOX_NOTIFY'], () => 'none'],
  'console address': [['INBOX_CONSOLE_URL'], ({ consoleUrl }) => consoleUrl ?? 'not set (warnings come without links)'],
  'registered for': [['INBOX_SUBSCRIBE'], describeSubscribe],
  'REST service': [['INBOX_API_URL'], ({ api }) => (api === undefined ? 'not set' : `${api.url} (key: set)`)],
  'bodies are kept': [['INBOX_RETENTION_DAYS', 'INBOX_RETENTION_BYTES'], describeRetention],
}

/** The settings of a row by its name; none if it is not known. */
export function settingsOfRow(name: string): readonly SettingName[] {
  const [composed] = composedRows[name.startsWith('sink ') ? 'sinks' : name] ?? []
  return composed ?? settingNames.filter((setting) => settings[setting].row === name)
}

const secretRows: ReadonlySet<string> = new Set(['webhook secrets', 'admin token', 'viewer token'])

/** What is set, for people, without anything secret. */
export function describeSettings(config: Config): readonly DescribedSetting[] {
  return describeConfig(config).map(([name, value]) => {
    return { name, value, source: sourceOf(name, config), secret: secretRows.has(name) }
  })
}

function sourceOf(name: string, { origins }: Config): DescribedSetting['source'] {
  const given = settingsOfRow(name).filter((setting) => origins[setting] !== undefined)
  // `INBOX_X_FILE` names a file that holds the value of `INBOX_X`.
  if (given.some((setting) => setting.endsWith('_FILE') && isSettingName(setting.slice(0, -5)))) return 'file'
  const places = given.map((setting) => origins[setting])
  return places.includes('environment') ? 'environment' : (places[0] ?? 'default')
}

/** One row `[name, value]` per setting, for people; of secrets only whether they are set, and their labels. */
export function describeConfig(config: Config): readonly (readonly [name: string, value: string])[] {
  const composed = Object.entries(composedRows).flatMap(([name, [, show]]) =>
    name === 'sinks' && config.sinks.length > 0
      ? config.sinks.map((sink) => [`sink ${sink.name}`, sink.description] as const)
      : [[name, show(config)] as const],
  )
  const direct = settingNames.flatMap((name) => {
    const { row, at, show } = settings[name]
    return row === undefined || at === null ? [] : [[row, show(config[at as keyof Config] as never)] as const]
  })
  return [...composed, ...direct]
}

function describeSecrets({ secretsSource: source }: Config): string {
  const labels = `set (labels: ${source.secrets.map(({ label }) => label).join(', ')})`
  return source.kind === 'file' ? `${labels} from ${source.file}` : labels
}

function describeDatabaseSetting({ database, migrate }: Config): string {
  switch (database.kind) {
    case 'sqlite':
      return `SQLite file ${database.file}`
    case 'postgres': {
      const older = migrate === 'auto' ? 'brought up to date at start' : 'refused'
      return `PostgreSQL ${describeDatabase(database.url)} (an older schema is ${older})`
    }
    case 'memory':
      return 'memory (lost when the process ends)'
  }
}

function describeRetention({ retention: { days, maxBytes } }: Config): string {
  const time = days === 0 ? 'for ever' : `${days} days`
  return maxBytes === undefined ? time : `${time}, in at most ${describeBytes(maxBytes)}`
}

function describeSubscribe({ subscribe }: Config): string {
  if (subscribe === undefined) return 'nothing by itself'
  const { url, events, secret } = subscribe
  return `${events.join(', ')} to ${withoutQuery(url)}, signed with ${secret}`
}

/** A query may hold what is secret. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
