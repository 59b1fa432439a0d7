import { maxTimerMs } from '../base/clock.ts'
import { z } from 'zod'
import {
  apiKey,
  apiUrl,
  byteSize,
  consoleUrl,
  databaseUrl,
  describeBytes,
  filePath,
  headerName,
  host,
  hostHeader,
  httpUrl,
  jsonValue,
  ipOrNetwork,
  list,
  repeatableHeader,
  secrets,
  token,
  urlPath,
  wholeNumber,
} from './values.ts'

interface Setting<T extends z.ZodType = z.ZodType> {
  /** Markdown for the table in docs/operations.md. */
  readonly description: string
  /** Schema with the default. */
  readonly type: T
  readonly expected: string
  readonly example: string
  /** Member of `Config` with the value; null if none. */
  readonly at: string | null
  readonly show: (this: void, value: never) => string
  /** True if messages never show the value. */
  readonly isSecret: boolean
}

function setting<T extends z.ZodType, const At extends string | null = null>(
  description: string,
  type: T,
  expected: string,
  example: string,
  at: At = null as At,
  show: (this: void, value: NonNullable<z.output<T>>) => string = String,
) {
  return { description, type, expected, example, at, show, isSecret: false }
}

const secretSetting = <T extends z.ZodType>(...row: [string, type: T, expected: string, example: string]) => ({
  ...setting(...row),
  isSecret: true,
})

const fileSetting = (description: string, example: string) =>
  setting(description, filePath.optional(), 'the path of a file', example)

const portSetting = <const At extends string | null = null>(
  description: string,
  defaultValue: number,
  at: At = null as At,
) => setting(description, wholeNumber(0, 65_535).prefault(defaultValue), '0–65535', String(defaultValue), at)

const msSetting = <const At extends string>(
  description: string,
  [minimum, defaultValue, example]: readonly [minimum: number, defaultValue: number, example: string],
  at: At,
) =>
  setting(
    description,
    wholeNumber(minimum, maxTimerMs).prefault(defaultValue),
    'a whole number of milliseconds',
    example,
    at,
    (ms: number) => `${ms} ms`,
  )

const showList = (values: readonly string[]) => values.join(', ') || 'none'

/** All settings, in the order of the docs. */
export const settings = {
  INBOX_SECRETS: secretSetting(
    'webhook secrets of 16+ characters, separated by commas, optionally `label:secret`',
    secrets.optional(),
    'secrets of at least 16 characters, separated by commas, each with an optional "label:" in front',
    'main:the-secret-of-the-webhook',
  ),
  INBOX_SECRETS_FILE: fileSetting(
    'file with one secret or JSON `{"label": "secret"}`; reloaded on change and SIGHUP',
    '/run/secrets/webhook',
  ),
  INBOX_SOURCES: secretSetting(
    '[sources](sources.md) as JSON; `sources` in the config file',
    jsonValue.optional(),
    'a JSON object of sources by name',
    `'{"alchemy": {"provider": "alchemy", "path": "/hooks/alchemy", "secrets": {"env": "ALCHEMY_SECRET"}}}'`,
  ),
  INBOX_HOST: setting(
    'listen address for deliveries',
    host.prefault('127.0.0.1'),
    'an IP address or host name',
    '0.0.0.0',
    'host',
  ),
  INBOX_PORT: portSetting('0 picks a free port', 8080, 'port'),
  INBOX_PATH: setting(
    'exact path of the webhook',
    urlPath.prefault('/webhooks'),
    'a path of letters, digits and . _ ~ -, starting with /, without a trailing /, and not /healthz or /readyz',
    '/webhooks',
    'path',
  ),
  INBOX_ADMIN_HOST: setting(
    'admin listen address; beyond loopback a token is required',
    host.prefault('127.0.0.1'),
    'an IP address or host name',
    '127.0.0.1',
  ),
  INBOX_ADMIN_PORT: portSetting('0 picks a free port', 8081),
  INBOX_ADMIN_HOSTS: setting(
    'further allowed `Host` names, separated by commas, optionally with port',
    list(hostHeader).prefault([]),
    'host names, separated by commas',
    'inbox.example.com,localhost:8081',
  ),
  INBOX_ADMIN_TOKEN: secretSetting(
    'operator token, 16+ ASCII characters; default: `<database>.admin-token`, created at start',
    token.optional(),
    'at least 16 visible ASCII characters without spaces',
    '"$(openssl rand -hex 24)"',
  ),
  INBOX_ADMIN_TOKEN_FILE: fileSetting('file with the operator token', '/run/secrets/admin'),
  INBOX_ADMIN_VIEWER_TOKEN: secretSetting(
    'read-only token',
    token.optional(),
    'at least 16 visible ASCII characters without spaces, different from the operator token',
    '"$(openssl rand -hex 24)"',
  ),
  INBOX_ADMIN_VIEWER_TOKEN_FILE: fileSetting('file with the read-only token', '/run/secrets/viewer'),
  INBOX_DATABASE_URL: secretSetting(
    '`sqlite:<path>`, `postgres://…` ([cluster](cluster.md)) or `memory:` (not kept)',
    databaseUrl.prefault('sqlite:./data/inbox.db'),
    'sqlite:<path of a file>, postgres://user:password@host:5432/name or memory:',
    'sqlite:./data/inbox.db',
  ),
  INBOX_DATABASE_URL_FILE: fileSetting('file with the URL, read at start', '/run/secrets/database-url'),
  INBOX_MIGRATE: setting(
    'PostgreSQL: `auto` upgrades an older schema at start',
    z.enum(['auto', 'refuse']).prefault('refuse'),
    'auto or refuse',
    'auto',
    'migrate',
  ),
  INBOX_ORPHAN_HOURS: setting(
    'PostgreSQL: hours that a [removed handler](cluster.md#upgrades) still gets runs',
    wholeNumber(0, 8_760).prefault(24),
    'a whole number of hours',
    '24',
    'orphanHours',
  ),
  INBOX_HANDLERS: setting(
    'handler folder; must exist unless INBOX_FORWARD_URL is set',
    filePath.prefault('./handlers'),
    'the path of a folder',
    './handlers',
  ),
  INBOX_FORWARD_URL: secretSetting(
    'posts every event to your app: [Forward](sinks.md#forward)',
    httpUrl.optional(),
    'an http:// or https:// URL without user name and password',
    'http://127.0.0.1:3000/webhooks',
  ),
  INBOX_SINKS: secretSetting(
    '[sinks](sinks.md) as JSON; `sinks` in the config file',
    jsonValue.optional(),
    'a JSON object of sinks by name',
    `'{"archive": {"kind": "file", "path": "./events.ndjson", "types": "*"}}'`,
  ),
  INBOX_ROUTES: secretSetting(
    '[routes](sinks.md#routes) as JSON; `routes` in the config file',
    jsonValue.optional(),
    'a JSON list of routes to sinks',
    `'[{"types": "wallet.*", "networks": "ethereum", "to": "archive"}]'`,
  ),
  INBOX_NOTIFY: setting(
    'sinks that get [warnings](#warnings), separated by commas',
    list(z.string()).prefault([]),
    'names of sinks, separated by commas',
    'desk,pager',
  ),
  INBOX_CONSOLE_URL: secretSetting(
    'public console URL for links in warnings',
    consoleUrl.optional(),
    'an http:// or https:// URL without user name, query and fragment',
    'https://inbox.example.com',
  ),
  INBOX_API_URL: secretSetting(
    'base URL of the upstream REST service; `https://`, or `http://` to loopback',
    apiUrl.optional(),
    'an https:// URL, or an http:// URL of this machine, without query and fragment',
    'https://api.example.com/v1',
  ),
  INBOX_API_KEY: secretSetting(
    "API key of the service; don't share it between processes",
    apiKey.optional(),
    'visible ASCII characters without spaces',
    '"$(cat api-key)"',
  ),
  INBOX_API_KEY_FILE: fileSetting('file with the API key, read at start', '/run/secrets/api-key'),
  INBOX_BODY_LIMIT: setting(
    'largest body, at most 100mb',
    byteSize(100 * 1024 ** 2).prefault('1mb'),
    'a size from 1 byte to 100mb, as bytes or with kb or mb',
    '1mb',
    'bodyLimitBytes',
    describeBytes,
  ),
  INBOX_ACK_TIMEOUT_MS: msSetting('deliveries not stored in this time get 503', [1, 4000, '4000'], 'ackTimeoutMs'),
  INBOX_MAX_CONNECTIONS: setting(
    'webhook connections; beyond that, idle ones are closed',
    wholeNumber(1, 1_000_000).prefault(1000),
    'a whole number from 1 to 1000000',
    '1000',
    'maxConnections',
  ),
  INBOX_KEEPALIVE_MS: msSetting(
    'idle time of a connection; `65000` behind most load balancers',
    [1, 15_000, '65000'],
    'keepAliveMs',
  ),
  INBOX_SHUTDOWN_MS: msSetting('longest shutdown', [0, 20_000, '20000'], 'shutdownMs'),
  INBOX_CONCURRENCY: setting(
    'runs at once, all handlers of a thread',
    wholeNumber(1, 10_000).prefault(16),
    'a whole number from 1 to 10000',
    '16',
    'concurrency',
  ),
  INBOX_RETENTION_DAYS: setting(
    'days to keep bodies of finished events; 0 keeps them: [Retention](#retention)',
    wholeNumber(0, 36_500).prefault(30),
    'a whole number of days, or 0 for no limit',
    '30',
  ),
  INBOX_RETENTION_BYTES: setting(
    'database size above which old bodies are pruned: `20gb`',
    byteSize(2 ** 50).optional(),
    'a size from 1 byte, as bytes or with kb, mb, gb or tb',
    '20gb',
    null,
    describeBytes,
  ),
  INBOX_DISK_RESERVE: setting(
    'free space below which deliveries get 503 `store_full`',
    byteSize(2 ** 50, 0).prefault('256mb'),
    'a size as bytes or with kb, mb, gb or tb, or 0 for no reserve',
    '256mb',
    'diskReserveBytes',
    describeBytes,
  ),
  INBOX_SIGNATURE_HEADER: setting(
    'signature header; not one that Node merges, such as `User-Agent`',
    repeatableHeader.prefault('X-Service-Signature'),
    'the name of a header that Node does not merge, unlike Authorization, User-Agent or Content-Type',
    'X-Service-Signature',
    'signatureHeader',
  ),
  INBOX_STORED_HEADERS: setting(
    'headers stored with an event; a lone comma stores none',
    list(headerName).prefault('Content-Type, Host, User-Agent, Via'),
    'names of headers, separated by commas',
    'Content-Type,User-Agent',
    'storedHeaders',
    showList,
  ),
  INBOX_UNUSABLE_STATUS: setting(
    'answer for signed but invalid bodies: 200 or 422; both are quarantined',
    wholeNumber(200, 422)
      .pipe(z.union([z.literal(200), z.literal(422)]))
      .prefault(200),
    '200 or 422',
    '200',
    'unusableStatus',
  ),
  INBOX_TLS_CERT_FILE: fileSetting(
    'PEM file; enables HTTPS on the webhook port, read at start',
    '/run/secrets/tls.crt',
  ),
  INBOX_TLS_KEY_FILE: fileSetting('PEM file', '/run/secrets/tls.key'),
  INBOX_TRUSTED_PROXIES: setting(
    'proxy addresses or CIDR ranges whose `X-Forwarded-For` appears in logs',
    list(ipOrNetwork).prefault([]),
    'IP addresses or networks, separated by commas',
    '10.0.0.0/8,::1',
    'trustedProxies',
    showList,
  ),
  INBOX_LOG_LEVEL: setting(
    '`debug`, `info`, `warn`, `error`, `fatal` or `silent`',
    z.enum(['debug', 'info', 'warn', 'error', 'fatal', 'silent']).prefault('info'),
    'debug, info, warn, error, fatal or silent',
    'info',
    'logLevel',
  ),
} satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

export const settingNames = Object.keys(settings).filter(isSettingName)

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settings, name)
}

/** The parsed value of every setting. */
export type SettingValues = { readonly [Name in SettingName]: z.output<(typeof settings)[Name]['type']> }

/** Settings that are members of `Config` unchanged. */
export type DirectSettings = {
  readonly [
    Name in SettingName as (typeof settings)[Name] extends { readonly at: infer Member extends string } ? Member : never
  ]: SettingValues[Name]
}

export function directSettings(values: SettingValues): DirectSettings {
  const members = settingNames.flatMap((name) => {
    const { at } = settings[name]
    return at === null ? [] : [[at, values[name]]]
  })
  return Object.fromEntries(members) as DirectSettings
}
