import { describeConfig, type Config } from './config.ts'
import type { SettingName } from './settings.ts'

/** A row of `describeConfig`, and where it was set. */
export interface DescribedSetting {
  readonly name: string
  /** For people; of a secret only whether it is set, or its label. */
  readonly value: string
  /** `file`: the value itself was read from a file that a setting names. */
  readonly source: 'default' | 'environment' | 'file' | 'config'
  readonly secret: boolean
}

/** Which settings a row is made of. */
const settingsOf: Readonly<Record<string, readonly SettingName[]>> = {
  'webhook address': ['INBOX_HOST', 'INBOX_PORT', 'INBOX_PATH'],
  'webhook secrets': ['INBOX_SECRETS', 'INBOX_SECRETS_FILE'],
  'signature header': ['INBOX_SIGNATURE_HEADER'],
  'stored headers': ['INBOX_STORED_HEADERS'],
  'TLS certificate': ['INBOX_TLS_CERT_FILE', 'INBOX_TLS_KEY_FILE'],
  'admin address': ['INBOX_ADMIN_HOST', 'INBOX_ADMIN_PORT'],
  'admin host names': ['INBOX_ADMIN_HOSTS'],
  'admin token': ['INBOX_ADMIN_TOKEN', 'INBOX_ADMIN_TOKEN_FILE'],
  'viewer token': ['INBOX_ADMIN_VIEWER_TOKEN', 'INBOX_ADMIN_VIEWER_TOKEN_FILE'],
  database: ['INBOX_DATABASE_URL', 'INBOX_DATABASE_URL_FILE', 'INBOX_MIGRATE'],
  handlers: ['INBOX_HANDLERS'],
  'console address': ['INBOX_CONSOLE_URL'],
  'registered for': ['INBOX_SUBSCRIBE'],
  'REST service': ['INBOX_API_URL'],
  'runs at once': ['INBOX_CONCURRENCY'],
  'bodies are kept': ['INBOX_RETENTION_DAYS', 'INBOX_RETENTION_BYTES'],
  'disk to stay free': ['INBOX_DISK_RESERVE'],
  'body limit': ['INBOX_BODY_LIMIT'],
  'answer within': ['INBOX_ACK_TIMEOUT_MS'],
  'idle connections kept': ['INBOX_KEEPALIVE_MS'],
  connections: ['INBOX_MAX_CONNECTIONS'],
  'time to shut down': ['INBOX_SHUTDOWN_MS'],
  'status for unusable bodies': ['INBOX_UNUSABLE_STATUS'],
  'trusted proxies': ['INBOX_TRUSTED_PROXIES'],
  'log level': ['INBOX_LOG_LEVEL'],
}
const sinkSettings: readonly SettingName[] = ['INBOX_SINKS', 'INBOX_ROUTES', 'INBOX_FORWARD_URL', 'INBOX_NOTIFY']

const secretFiles: ReadonlySet<SettingName> = new Set<SettingName>([
  'INBOX_SECRETS_FILE',
  'INBOX_ADMIN_TOKEN_FILE',
  'INBOX_ADMIN_VIEWER_TOKEN_FILE',
  'INBOX_DATABASE_URL_FILE',
])
const secretRows: ReadonlySet<string> = new Set(['webhook secrets', 'admin token', 'viewer token'])

/** The settings of a row by its name; none if it is not known. */
export function settingsOfRow(name: string): readonly SettingName[] {
  return name === 'sinks' || name.startsWith('sink ') ? sinkSettings : (settingsOf[name] ?? [])
}

/** What is set, for people, without anything secret. */
export function describeSettings(config: Config): readonly DescribedSetting[] {
  return describeConfig(config).map(([name, value]) => {
    return { name, value, source: sourceOf(name, config), secret: secretRows.has(name) }
  })
}

function sourceOf(name: string, { origins }: Config): DescribedSetting['source'] {
  const given = settingsOfRow(name).filter((setting) => origins[setting] !== undefined)
  if (given.some((setting) => secretFiles.has(setting))) return 'file'
  const places = given.map((setting) => origins[setting])
  return places.includes('environment') ? 'environment' : (places[0] ?? 'default')
}
