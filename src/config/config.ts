import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { withDatabaseUrl } from './database-file.ts'
import { loadCredentials, type SecretsOrigin, type TlsFiles } from './credentials.ts'
import { parseSettings } from './parse.ts'
import { settings, type SettingValues } from './settings.ts'
import { collectSettings, type ConfigSources, type GivenSettings, type SettingOrigins } from './sources.ts'
import { loadSinks, type ConfiguredSink, isOwnPattern } from './sinks/load.ts'
import { problemsOf, unknownTypes, withLabel, type LabelledSubscribe } from './subscribe.ts'
import { describeBytes, type DatabaseSetting } from './values.ts'
import { describeDatabase } from '../base/database-url.ts'
import { InboxError } from '../base/errors.ts'
import { isLoopback } from '../base/loopback.ts'

/** All settings of one process, checked and complete. Paths are absolute. */
export interface Config {
  readonly host: string
  /** 0 = a free one. */
  readonly port: number
  readonly path: string
  readonly admin: {
    readonly host: string
    /** 0 = a free one. */
    readonly port: number
    /** Names allowed in the Host header beside those of the listening address. */
    readonly hosts: readonly string[]
    /** Absent on loopback and with a database file only: then one is made at start and kept beside that. */
    readonly token?: string
    /** Of those who may look and not act; absent: there are none. Never the same as `token`. */
    readonly viewerToken?: string
  }
  readonly database: DatabaseSetting
  /** What to do about a PostgreSQL database of an older version. */
  readonly migrate: SettingValues['INBOX_MIGRATE']
  /** Null: there is none, and none was asked for. */
  readonly handlersDir: string | null
  /** Sinks of the settings, INBOX_FORWARD_URL among them. */
  readonly sinks: readonly ConfiguredSink[]
  /** Where links to the console lead, without a slash at their end; absent: not known. */
  readonly consoleUrl?: string
  /** What relative paths in them start at. */
  readonly baseDir: string
  /** What the receiver registers itself for at start, with the label of one of the secrets. */
  readonly subscribe?: LabelledSubscribe
  /** The REST service, where it is set: `url` ends in `/v1`. */
  readonly api?: { readonly url: string; readonly key: string }
  readonly bodyLimitBytes: number
  readonly ackTimeoutMs: number
  readonly maxConnections: number
  readonly keepAliveMs: number
  readonly shutdownMs: number
  readonly concurrency: number
  readonly retention: {
    /** Bodies of finished events are kept for so long; 0: for ever. */
    readonly days: number
    /** Beyond this size of the database the oldest go earlier. */
    readonly maxBytes?: number
  }
  /** So much of the disk is to stay free; 0: all of it may be used. */
  readonly diskReserveBytes: number
  /** Lower case, as Node has header names. */
  readonly signatureHeader: string
  /** Those of a delivery that are stored with its event, but for the signature's; lower case. */
  readonly storedHeaders: readonly string[]
  readonly unusableStatus: 200 | 422
  readonly tls?: TlsFiles
  readonly trustedProxies: readonly string[]
  readonly logLevel: SettingValues['INBOX_LOG_LEVEL']
  readonly secretsSource: SecretsOrigin
  /** Where what differs from the defaults was set. */
  readonly origins: SettingOrigins
  /** What is odd but no reason not to start: unknown INBOX_* variables and the like. */
  readonly warnings: readonly string[]
}

export interface LoadConfigOptions extends ConfigSources {
  /** Lets the published credentials of the demo pass. */
  readonly allowDemoCredentials?: boolean
}

/** Time that the sender waits for an answer. */
const senderTimeoutMs = 5000

/** What names sinks: without a value where it was given, it could not be read. */
const sinkSettings = ['INBOX_SINKS', 'INBOX_FORWARD_URL'] as const

/**
 * Reads the environment and the config file into one frozen, checked configuration; relative paths start at `cwd`.
 *
 * @throws InboxError `config_invalid` that lists every problem on a line of its own, never with the value of a secret
 */
export async function loadConfig(options: LoadConfigOptions): Promise<Config> {
  const given = await withDatabaseUrl(await collectSettings(options), options.cwd)
  const { values, problems: mistakes } = parseSettings(given.values)
  const at = (path: string) => resolve(options.cwd, path)
  const credentials = await loadCredentials({
    values,
    given: given.values,
    at,
    allowDemoCredentials: options.allowDemoCredentials ?? false,
  })
  const { secretsSource, token, viewerToken, tls, apiKey } = credentials
  const { sinks, ...checked } = await loadSinks({
    sinks: values.INBOX_SINKS,
    routes: values.INBOX_ROUTES,
    forwardUrl: values.INBOX_FORWARD_URL,
    notify: values.INBOX_NOTIFY,
    isIncomplete: sinkSettings.some((name) => given.values[name] !== undefined && values[name] === undefined),
    databaseFile: values.INBOX_DATABASE_URL.kind === 'sqlite' ? at(values.INBOX_DATABASE_URL.file) : undefined,
    env: options.env,
    at,
  })

  const warnings = [
    ...given.warnings,
    ...findConfigWarnings(values, apiKey !== undefined),
    ...findUnknownTypes(values),
    ...checked.warnings,
  ]
  const { INBOX_SUBSCRIBE: subscribe } = values
  const labels = secretsSource?.secrets.map(({ label }) => label)
  const hasApi = values.INBOX_API_URL !== undefined && apiKey !== undefined
  const isKept = values.INBOX_DATABASE_URL.kind !== 'memory'
  const problems = [
    ...given.problems,
    ...mistakes,
    ...findConflicts(values, given.values),
    ...credentials.problems,
    ...checked.problems,
    ...(subscribe && labels ? problemsOf(subscribe, { labels, hasApi, isKept }) : []),
  ]
  if (problems.length > 0 || secretsSource === undefined || labels === undefined) throw invalid(problems, warnings)

  const { INBOX_DATABASE_URL: database } = values
  return deepFreeze<Config>({
    host: values.INBOX_HOST,
    port: values.INBOX_PORT,
    path: values.INBOX_PATH,
    admin: {
      host: values.INBOX_ADMIN_HOST,
      port: values.INBOX_ADMIN_PORT,
      hosts: values.INBOX_ADMIN_HOSTS,
      ...(token === undefined ? {} : { token }),
      ...(viewerToken === undefined ? {} : { viewerToken }),
    },
    database: database.kind === 'sqlite' ? { kind: 'sqlite', file: at(database.file) } : database,
    migrate: values.INBOX_MIGRATE,
    handlersDir: handlersDirOf(values, given.values, sinks, at),
    sinks,
    ...(values.INBOX_CONSOLE_URL !== undefined && { consoleUrl: values.INBOX_CONSOLE_URL }),
    baseDir: options.cwd,
    ...(subscribe !== undefined && { subscribe: withLabel(subscribe, labels) }),
    ...(values.INBOX_API_URL !== undefined &&
      apiKey !== undefined && { api: { url: values.INBOX_API_URL, key: apiKey } }),
    bodyLimitBytes: values.INBOX_BODY_LIMIT,
    ackTimeoutMs: values.INBOX_ACK_TIMEOUT_MS,
    maxConnections: values.INBOX_MAX_CONNECTIONS,
    keepAliveMs: values.INBOX_KEEPALIVE_MS,
    shutdownMs: values.INBOX_SHUTDOWN_MS,
    concurrency: values.INBOX_CONCURRENCY,
    retention: {
      days: values.INBOX_RETENTION_DAYS,
      ...(values.INBOX_RETENTION_BYTES !== undefined && { maxBytes: values.INBOX_RETENTION_BYTES }),
    },
    diskReserveBytes: values.INBOX_DISK_RESERVE,
    signatureHeader: values.INBOX_SIGNATURE_HEADER,
    storedHeaders: values.INBOX_STORED_HEADERS,
    unusableStatus: values.INBOX_UNUSABLE_STATUS,
    ...(tls === undefined ? {} : { tls }),
    trustedProxies: values.INBOX_TRUSTED_PROXIES,
    logLevel: values.INBOX_LOG_LEVEL,
    secretsSource,
    origins: given.origins,
    warnings,
  })
}

/** Where events go to sinks by themselves, a folder of handlers that nobody asked for need not be there. */
function handlersDirOf(
  values: SettingValues,
  given: GivenSettings['values'],
  sinks: readonly ConfiguredSink[],
  at: (path: string) => string,
): string | null {
  const dir = at(values.INBOX_HANDLERS)
  const isOwn = ({ types }: ConfiguredSink['routes'][number]) => types.every(isOwnPattern)
  const isNeeded = sinks.every(({ routes }) => routes.every(isOwn)) || given.INBOX_HANDLERS !== undefined
  return isNeeded || existsSync(dir) ? dir : null
}

function findConflicts(values: SettingValues, given: GivenSettings['values']): string[] {
  const problems: string[] = []
  const { INBOX_HOST: host, INBOX_PORT: port, INBOX_ADMIN_HOST: adminHost, INBOX_ADMIN_PORT: adminPort } = values
  const hasToken = given.INBOX_ADMIN_TOKEN !== undefined || given.INBOX_ADMIN_TOKEN_FILE !== undefined
  if (!isLoopback(adminHost) && !hasToken) {
    problems.push(
      `INBOX_ADMIN_HOST: ${adminHost} can be reached from other machines, expected INBOX_ADMIN_TOKEN or ` +
        'INBOX_ADMIN_TOKEN_FILE with it, or a loopback address, for example INBOX_ADMIN_HOST=127.0.0.1',
    )
  } else if (values.INBOX_DATABASE_URL.kind !== 'sqlite' && !hasToken) {
    const { expected, example } = settings.INBOX_ADMIN_TOKEN
    const { kind } = values.INBOX_DATABASE_URL
    const database = kind === 'memory' ? 'memory:' : 'PostgreSQL all replicas are to have the same, and'
    problems.push(
      `INBOX_ADMIN_TOKEN: with ${database} there is no file to keep a token beside; expected ${expected}, for example ` +
        `INBOX_ADMIN_TOKEN=${example}`,
    )
  }
  const isEverywhere = (name: string) => name === '0.0.0.0' || name === '::'
  if (port !== 0 && port === adminPort && (host === adminHost || isEverywhere(host) || isEverywhere(adminHost))) {
    problems.push(
      `INBOX_ADMIN_PORT: ${adminPort} is INBOX_PORT too, expected another port, for example INBOX_ADMIN_PORT=8081`,
    )
  }
  return problems
}

function findConfigWarnings(values: SettingValues, hasApiKey: boolean): string[] {
  const { INBOX_ACK_TIMEOUT_MS: ackTimeoutMs, INBOX_API_URL: apiUrl } = values
  const warnings: string[] = []
  if (ackTimeoutMs >= senderTimeoutMs) {
    warnings.push(
      `INBOX_ACK_TIMEOUT_MS is ${ackTimeoutMs}, but the sender waits only ${senderTimeoutMs} ms: keep it below that`,
    )
  }
  if ((apiUrl !== undefined) !== hasApiKey) {
    const [set, unset] = hasApiKey ? ['the API key', 'INBOX_API_URL'] : ['INBOX_API_URL', 'INBOX_API_KEY']
    warnings.push(`${set} is set, but not ${unset}: ctx.api and calls of the service need both`)
  }
  return warnings
}

function findUnknownTypes({ INBOX_SUBSCRIBE: subscribe }: SettingValues): string[] {
  return unknownTypes(subscribe?.events ?? []).map((problem) => `INBOX_SUBSCRIBE: ${problem}`)
}

function invalid(problems: readonly string[], warnings: readonly string[]): InboxError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  // A mistyped name shows up as a warning, and is often the reason why a required setting is missing.
  const lines = [`the configuration has ${count}:`, ...problems, ...warnings.map((warning) => `warning: ${warning}`)]
  return new InboxError('config_invalid', lines.join('\n  '))
}

/** One row `[name, value]` per setting, for people; of secrets only whether they are set, and their labels. */
export function describeConfig(config: Config): readonly (readonly [name: string, value: string])[] {
  const { admin, secretsSource, tls } = config
  const labels = `set (labels: ${secretsSource.secrets.map(({ label }) => label).join(', ')})`
  const orNone = (values: readonly string[]) => values.join(', ') || 'none'
  return [
    ['webhook address', `${tls ? 'https' : 'http'}://${inUrl(config.host)}:${config.port}${config.path}`],
    ['webhook secrets', secretsSource.kind === 'file' ? `${labels} from ${secretsSource.file}` : labels],
    ['signature header', config.signatureHeader],
    ['stored headers', orNone(config.storedHeaders)],
    ['TLS certificate', tls?.certFile ?? 'not set'],
    ['admin address', `http://${inUrl(admin.host)}:${admin.port}`],
    ['admin host names', orNone(admin.hosts)],
    ['admin token', admin.token === undefined ? 'not set (one is made at start)' : 'set'],
    ['viewer token', admin.viewerToken === undefined ? 'not set (nobody may look without the admin token)' : 'set'],
    ['database', describeDatabaseSetting(config)],
    ['handlers', config.handlersDir ?? 'none'],
    ...(config.sinks.length === 0 ? [['sinks', 'none'] as const] : config.sinks.map(describeSink)),
    ['console address', config.consoleUrl ?? 'not set (warnings come without links)'],
    ['registered for', config.subscribe === undefined ? 'nothing by itself' : describeSubscribe(config.subscribe)],
    ['REST service', config.api === undefined ? 'not set' : `${config.api.url} (key: set)`],
    ['runs at once', String(config.concurrency)],
    ['bodies are kept', describeRetention(config)],
    ['disk to stay free', describeBytes(config.diskReserveBytes)],
    ['body limit', describeBytes(config.bodyLimitBytes)],
    ['answer within', `${config.ackTimeoutMs} ms`],
    ['idle connections kept', `${config.keepAliveMs} ms`],
    ['connections', `at most ${config.maxConnections}`],
    ['time to shut down', `${config.shutdownMs} ms`],
    ['status for unusable bodies', String(config.unusableStatus)],
    ['trusted proxies', orNone(config.trustedProxies)],
    ['log level', config.logLevel],
  ]
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

function describeSink({ name, description }: ConfiguredSink): readonly [name: string, value: string] {
  return [`sink ${name}`, description]
}

function describeSubscribe({ url, events, secret }: NonNullable<Config['subscribe']>): string {
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

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && !Object.isFrozen(part)) deepFreeze(part)
  return Object.freeze(value)
}
