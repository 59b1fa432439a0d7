import { resolve } from 'node:path'
import { systemClock, type Clock } from '../../base/clock.ts'
import { type SecretsOrigin, readSecretsFile } from '../../config/credentials.ts'
import { mistakeIn } from '../../config/parse.ts'
import { settings, type SettingName, type SettingValues } from '../../config/settings.ts'
import type { DatabaseSetting } from '../../config/values.ts'
import { refuseDemoSecret } from '../../base/demo-credentials.ts'
import type { ApiAccess } from '../../dispatch/api.ts'
import { parseDefinitions, type Definition } from '../../dispatch/parse-definition.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { createLogger, silentLogger, type Logger } from '../../base/log.ts'
import type { Secret } from '../../signature/keys.ts'
import type { ResolvedHandler } from '../../dispatch/resolved-handler.ts'

export interface EmbeddedInboxOptions {
  /**
   * The secrets of the webhook, each of at least 16 characters: one, a list, or an object `{ label: secret }`. Several are valid
   * at once, so that they can be rotated.
   */
  readonly secrets?: string | readonly string[] | Readonly<Record<string, string>> | undefined
  /** In place of `secrets`: a file that holds one, or JSON `{"label": "secret"}`. It is read again when it changes. */
  readonly secretsFile?: string | undefined
  /** What `defineHandler` and `defineSink` give, each with a `name`. */
  readonly handlers: readonly Definition[]
  /**
   * `sqlite:<path of a file>`; `postgres://user:password@host:5432/name`, which many processes may share; or `memory:`, which keeps
   * nothing. Default `sqlite:./data/inbox.db`.
   */
  readonly database?: string
  /** What to do about a PostgreSQL database of an older version: `auto` brings it up to date. Default `refuse`. */
  readonly migrate?: 'auto' | 'refuse'
  /** Runs at once, all handlers. Default 16. */
  readonly concurrency?: number
  /** The largest body that is taken: bytes, or text such as `1mb`. Default `1mb`. */
  readonly bodyLimit?: number | string
  /** What is not stored within so many milliseconds is answered 503. Default 4,000. */
  readonly ackTimeoutMs?: number
  /** How long a stop may wait for what is under way, in milliseconds. Default 20,000. */
  readonly shutdownMs?: number
  /** Bodies of events that were handled are kept for so many days; 0: for ever. Default 30. */
  readonly retentionDays?: number
  /** Beyond this size of the database bodies of the oldest are pruned earlier: bytes, or text such as `20gb`. Default: no limit. */
  readonly retentionBytes?: number | string
  /** With less than this free on its disk, deliveries are answered 503: bytes, or text such as `256mb`; 0: never. Default `256mb`. */
  readonly diskReserve?: number | string
  /** The header that carries the signature. Default `X-Service-Signature`. */
  readonly signatureHeader?: string
  /**
   * Names of headers that are stored with an event, never that of the signature. Default `Content-Type`, `Host`, `User-Agent` and
   * `Via`.
   */
  readonly storedHeaders?: readonly string[]
  /** What is answered to authentic bodies that are no usable event: 200 (default) or 422. */
  readonly unusableStatus?: 200 | 422
  /** Addresses or networks whose X-Forwarded-For is believed, for naming the source in the log. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** Where the REST service is that handlers reach by `ctx.api`: https, or http to this machine. `apiKey` goes with it. */
  readonly apiUrl?: string | undefined
  /** The API key of the service. */
  readonly apiKey?: string | undefined
  /** Where to log: a pino logger, say. False: nowhere. Default: warnings and errors as JSON lines on standard output. */
  readonly log?: Logger | false
  /** Time and randomness, for tests with `memory:`; a database file goes by the time of the system. */
  readonly clock?: Clock
}

/** The options, checked and complete. */
export interface EmbeddedInboxSettings {
  readonly secrets: () => Promise<SecretsOrigin>
  readonly handlers: readonly ResolvedHandler[]
  readonly database: DatabaseSetting
  readonly migrate: SettingValues['INBOX_MIGRATE']
  readonly concurrency: number
  readonly bodyLimitBytes: number
  readonly ackTimeoutMs: number
  readonly shutdownMs: number
  readonly retentionDays: number
  readonly retentionBytes: number | undefined
  readonly diskReserveBytes: number
  readonly signatureHeader: string
  readonly storedHeaders: readonly string[]
  readonly unusableStatus: 200 | 422
  readonly trustedProxies: readonly string[]
  /** Access to the REST service, where there is. */
  readonly api: ApiAccess | undefined
  readonly log: Logger
  readonly clock: Clock
}

/** The options that are settings of the sidecar, too: checked alike, with the same defaults. */
const settingOf = {
  secrets: 'INBOX_SECRETS',
  secretsFile: 'INBOX_SECRETS_FILE',
  database: 'INBOX_DATABASE_URL',
  migrate: 'INBOX_MIGRATE',
  concurrency: 'INBOX_CONCURRENCY',
  bodyLimit: 'INBOX_BODY_LIMIT',
  ackTimeoutMs: 'INBOX_ACK_TIMEOUT_MS',
  shutdownMs: 'INBOX_SHUTDOWN_MS',
  retentionDays: 'INBOX_RETENTION_DAYS',
  retentionBytes: 'INBOX_RETENTION_BYTES',
  diskReserve: 'INBOX_DISK_RESERVE',
  signatureHeader: 'INBOX_SIGNATURE_HEADER',
  storedHeaders: 'INBOX_STORED_HEADERS',
  unusableStatus: 'INBOX_UNUSABLE_STATUS',
  trustedProxies: 'INBOX_TRUSTED_PROXIES',
  apiUrl: 'INBOX_API_URL',
  apiKey: 'INBOX_API_KEY',
} as const satisfies Partial<Record<keyof EmbeddedInboxOptions, SettingName>>

type OptionName = keyof typeof settingOf
type OptionValues = { readonly [Name in OptionName]: SettingValues[(typeof settingOf)[Name]] }

const optionNames = Object.keys(settingOf) as OptionName[]
const knownNames = [...optionNames, 'handlers', 'log', 'clock']

/** @throws InboxError `config_invalid` that lists every problem on a line of its own, never with a secret */
export function parseOptions(options: EmbeddedInboxOptions): EmbeddedInboxSettings {
  const given: Readonly<Record<string, unknown>> = { ...options }
  const { values, problems } = parseValues(given)
  const { handlers, problems: handlerProblems } = parseDefinitions(given.handlers)
  const unknown = Object.keys(given).filter((name) => !knownNames.includes(name))
  problems.push(
    ...secretProblems(given, values.secrets),
    ...apiProblems(given),
    ...handlerProblems,
    ...unknown.map((name) => `${name}: unknown option, known are ${knownNames.join(', ')}`),
  )
  if (problems.length > 0) {
    throw new InboxError('config_invalid', `createInbox cannot use its options:\n${problems.join('\n')}`, {
      details: { problems },
    })
  }
  const { database, bodyLimit, diskReserve, secrets, secretsFile, apiUrl, apiKey, ...others } = values
  const { log = createLogger({ level: 'warn', pretty: false }), clock = systemClock } = options
  return Object.freeze<EmbeddedInboxSettings>({
    ...others,
    handlers,
    secrets: () => readSecrets(secrets, secretsFile),
    database: database.kind === 'sqlite' ? { kind: 'sqlite', file: resolve(database.file) } : database,
    bodyLimitBytes: bodyLimit,
    diskReserveBytes: diskReserve,
    api: apiUrl === undefined || apiKey === undefined ? undefined : { url: apiUrl, key: apiKey },
    log: log === false ? silentLogger : log,
    clock,
  })
}

function parseValues(given: Readonly<Record<string, unknown>>) {
  const problems: string[] = []
  const entries = optionNames.map((name) => {
    const { type } = settings[settingOf[name]]
    const result = type.safeParse(given[name])
    if (result.success) return [name, result.data]
    problems.push(`${name} ${mistakeIn(settingOf[name], given[name], result.error)}`)
    return [name, type.parse(undefined)]
  })
  return { values: Object.fromEntries(entries) as OptionValues, problems }
}

function secretProblems(given: Readonly<Record<string, unknown>>, secrets: OptionValues['secrets']): string[] {
  const hasBoth = given.secrets !== undefined && given.secretsFile !== undefined
  if (hasBoth) return ['secrets: expected either this or secretsFile, received both']
  if (given.secrets === undefined && given.secretsFile === undefined)
    return [`secrets: neither this nor secretsFile is there; expected ${settings.INBOX_SECRETS.expected}`]
  try {
    refuseDemoSecret(secrets ?? [])
    return []
  } catch (error) {
    return [`secrets: ${messageOf(error)}`]
  }
}

function apiProblems({ apiUrl, apiKey }: Readonly<Record<string, unknown>>): string[] {
  if ((apiUrl === undefined) === (apiKey === undefined)) return []
  return [`${apiUrl === undefined ? 'apiUrl' : 'apiKey'}: expected apiUrl and apiKey, or neither; received one of them`]
}

async function readSecrets(secrets: readonly Secret[] | undefined, path: string | undefined): Promise<SecretsOrigin> {
  if (path === undefined) return { kind: 'inline', secrets: secrets ?? [] }
  const file = resolve(path)
  return { kind: 'file', file, secrets: await readSecretsFile(file) }
}
