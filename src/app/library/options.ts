import { resolve } from 'node:path'
import { systemClock, type Clock } from '../../base/clock.ts'
import { inlineSecrets, secretsOfFile, type SecretsOrigin } from '../../config/credentials.ts'
import { mistakeIn } from '../../config/parse.ts'
import { settings, type SettingName, type SettingValues } from '../../config/settings.ts'
import { refuseDemoSecret } from '../../base/demo-credentials.ts'
import { parseDefinitions, type Definition } from '../../dispatch/parse-definition.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { createLogger, silentLogger, type Logger } from '../../base/log.ts'
import type { Secret } from '../../signature/keys.ts'
import { findSourceProblems } from '../../dispatch/handler-locations.ts'
import { resolveSources, type ResolvedSources, type SourceOptions } from '../../sources/settings.ts'

export interface EmbeddedInboxOptions {
  /** Webhook secrets of at least 16 characters: one, a list, or an object `{ label: secret }`. All are valid at once, for a rotation. */
  readonly secrets?: string | readonly string[] | Readonly<Record<string, string>> | undefined
  /** Instead of `secrets`: a file with one secret or JSON `{"label": "secret"}`. Read again when it changes. */
  readonly secretsFile?: string | undefined
  /**
   * Further senders by name, as in the setting `sources`; `secrets` is then optional. Mount `inbox.router(name)` at the
   * path of each.
   */
  readonly sources?: Readonly<Record<string, SourceOptions>>
  /** Results of `defineHandler` and `defineSink`, each with a `name`. */
  readonly handlers: readonly Definition[]
  /**
   * `sqlite:<path of a file>`; `postgres://user:password@host:5432/name`, which processes can share; or `memory:`, which
   * is lost at the end. Default `sqlite:./data/inbox.db`.
   */
  readonly database?: string
  /** PostgreSQL: `auto` upgrades an older schema. Default `refuse`. */
  readonly migrate?: 'auto' | 'refuse'
  /** Maximum number of concurrent runs, over all handlers. Default 16. */
  readonly concurrency?: number
  /** Maximum size of a body: bytes, or text such as `1mb`. Default `1mb`. */
  readonly bodyLimit?: number | string
  /** Deliveries that are not stored within this time get 503, in milliseconds. Default 4,000. */
  readonly ackTimeoutMs?: number
  /** Maximum duration of a stop, in milliseconds. Default 20,000. */
  readonly shutdownMs?: number
  /** Days to keep bodies of finished events; 0: no limit. Default 30. */
  readonly retentionDays?: number
  /** Database size above which the oldest bodies are pruned: bytes, or text such as `20gb`. Default: no limit. */
  readonly retentionBytes?: number | string
  /** Free disk space below which deliveries get 503: bytes, or text such as `256mb`; 0: none. Default `256mb`. */
  readonly diskReserve?: number | string
  /** Header with the signature. Default `X-Service-Signature`. */
  readonly signatureHeader?: string
  /** Headers stored with an event, never the signature. Default `Content-Type`, `Host`, `User-Agent` and `Via`. */
  readonly storedHeaders?: readonly string[]
  /** Status for signed but invalid bodies. Default 200. */
  readonly unusableStatus?: 200 | 422
  /** Proxies whose X-Forwarded-For appears in the log: addresses or networks. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** Base URL of the upstream REST API for `ctx.api`: https, or http to this machine. Requires `apiKey`. */
  readonly apiUrl?: string | undefined
  readonly apiKey?: string | undefined
  /** For example a pino logger. False: no log. Default: warnings and errors as JSON lines on standard output. */
  readonly log?: Logger | false
  /** Time and randomness, for tests with `memory:`. A database file uses the system's time. */
  readonly clock?: Clock
}

/** Options that are settings of the sidecar, with the same checks and defaults. */
const settingOf = {
  secrets: 'INBOX_SECRETS',
  secretsFile: 'INBOX_SECRETS_FILE',
  sources: 'INBOX_SOURCES',
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

/** The options, checked and complete. */
export type EmbeddedInboxSettings = ReturnType<typeof parseOptions>

const optionNames = Object.keys(settingOf) as OptionName[]
const knownNames = [...optionNames, 'handlers', 'log', 'clock']

const noSources: ResolvedSources = { sources: [], problems: [] }

/** Throws InboxError `config_invalid` with one line per problem, without secrets. */
export function parseOptions(options: EmbeddedInboxOptions) {
  const input: Readonly<Record<string, unknown>> = { ...options }
  const { values, problems } = parseValues(input)
  const { handlers, problems: handlerProblems } = parseDefinitions(input.handlers)
  const unknown = Object.keys(input).filter((name) => !knownNames.includes(name))
  const resolved = input.sources === undefined ? noSources : resolveSources(values.sources, [])
  const hasDefault = input.secrets !== undefined || input.secretsFile !== undefined
  const isEmpty = resolved.sources.length + resolved.problems.length === 0
  problems.push(
    ...(hasDefault || isEmpty ? secretProblems(input, values.secrets) : []),
    ...resolved.problems,
    ...apiProblems(input),
    ...handlerProblems,
    ...(resolved.problems.length === 0 ? findSourceProblems(handlers, resolved.sources) : []),
    ...unknown.map((name) => `${name}: unknown option, known are ${knownNames.join(', ')}`),
  )
  if (problems.length > 0) {
    throw new InboxError('config_invalid', `createInbox cannot use its options:\n${problems.join('\n')}`, {
      details: { problems },
    })
  }
  const { database, bodyLimit, diskReserve, secrets, secretsFile, sources: _, apiUrl, apiKey, ...others } = values
  const { log = createLogger({ level: 'warn', pretty: false }), clock = systemClock } = options
  return Object.freeze({
    ...others,
    handlers,
    /** Null: there is no default source. */
    secrets: hasDefault ? () => readSecrets(secrets, secretsFile) : null,
    sources: resolved.sources,
    database: database.kind === 'sqlite' ? { ...database, file: resolve(database.file) } : database,
    bodyLimitBytes: bodyLimit,
    diskReserveBytes: diskReserve,
    /** Undefined: no access to the upstream REST API. */
    api: apiUrl === undefined || apiKey === undefined ? undefined : { url: apiUrl, key: apiKey },
    log: log === false ? silentLogger : log,
    clock,
  })
}

function parseValues(input: Readonly<Record<string, unknown>>) {
  const problems: string[] = []
  const entries = optionNames.map((name) => {
    const { type } = settings[settingOf[name]]
    const result = type.safeParse(input[name])
    if (result.success) return [name, result.data]
    problems.push(`${name} ${mistakeIn(settingOf[name], input[name], result.error)}`)
    return [name, type.parse(undefined)]
  })
  return { values: Object.fromEntries(entries) as OptionValues, problems }
}

function secretProblems(input: Readonly<Record<string, unknown>>, secrets: OptionValues['secrets']): string[] {
  const hasBoth = input.secrets !== undefined && input.secretsFile !== undefined
  if (hasBoth) return ['secrets: expected secrets or secretsFile, received both']
  if (input.secrets === undefined && input.secretsFile === undefined)
    return [`secrets: neither secrets nor secretsFile is set; expected ${settings.INBOX_SECRETS.expected}`]
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
  return path === undefined ? inlineSecrets(secrets ?? []) : secretsOfFile(resolve(path))
}
