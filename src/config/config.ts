import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadCredentials } from './credentials.ts'
import { parseSettings, withFiles } from './parse.ts'
import { directSettings, settings, type SettingValues } from './settings.ts'
import { collectSettings, type ConfigInputs, type RawSettings } from './collect.ts'
import { describeSettings } from './described.ts'
import { loadSources } from './sources.ts'
import { isInternalPattern, loadSinks, type ConfiguredSink } from './sinks/load.ts'
import type { DatabaseSetting } from './values.ts'
import { InboxError } from '../base/errors.ts'
import { isLoopback } from '../base/loopback.ts'

/** All settings of one process, checked and complete. Paths are absolute. */
export type Config = Awaited<ReturnType<typeof loadConfig>>

export interface LoadConfigOptions extends ConfigInputs {
  /** Allows the published credentials of the demo. */
  readonly allowDemoCredentials?: boolean
}

/** The sender's timeout. */
const senderTimeoutMs = 5000

/** Settings that define sinks. */
const sinkSettings = ['INBOX_SINKS', 'INBOX_FORWARD_URL'] as const

/**
 * Reads the environment and the config file into one frozen, checked configuration; relative paths start at `cwd`.
 *
 * @throws InboxError `config_invalid` that lists every problem on its own line, never with a secret
 */
export async function loadConfig(options: LoadConfigOptions) {
  const raw = await withFiles(await collectSettings(options), options.cwd)
  const { values, problems: invalidSettings } = parseSettings(raw.values)
  // Checks between settings would report settings of the config file as missing.
  if (!raw.isComplete) throw invalid([...raw.problems, ...invalidSettings], raw.warnings)
  const at = (path: string) => resolve(options.cwd, path)
  const credentials = await loadCredentials({
    values,
    raw: raw.values,
    at,
    allowDemoCredentials: options.allowDemoCredentials ?? false,
  })
  const { webhookSecrets, viewerToken, tls } = credentials
  const { INBOX_ADMIN_TOKEN: token, INBOX_API_URL: apiUrl, INBOX_API_KEY: apiKey } = values
  const { sources, problems: sourceProblems } = await loadSources({
    sources: values.INBOX_SOURCES,
    takenPaths: [values.INBOX_PATH, '/healthz', '/readyz'],
    env: options.env,
    at,
  })
  const { sinks, ...checked } = await loadSinks({
    sinks: values.INBOX_SINKS,
    routes: values.INBOX_ROUTES,
    forwardUrl: values.INBOX_FORWARD_URL,
    notify: values.INBOX_NOTIFY,
    isIncomplete: sinkSettings.some((name) => raw.values[name] !== undefined && values[name] === undefined),
    databaseFile: values.INBOX_DATABASE_URL.kind === 'sqlite' ? at(values.INBOX_DATABASE_URL.file) : undefined,
    env: options.env,
    at,
  })

  const warnings = [...raw.warnings, ...findConfigWarnings(values, apiKey !== undefined), ...checked.warnings]
  const problems = [
    ...raw.problems,
    ...invalidSettings,
    ...findConflicts(values, raw.values),
    ...(webhookSecrets === null ? findUnsignable(sinks) : []),
    ...credentials.problems,
    ...sourceProblems,
    ...checked.problems,
  ]
  if (problems.length > 0 || webhookSecrets === undefined) throw invalid(problems, warnings)

  const { INBOX_DATABASE_URL: databaseUrl } = values
  const database: DatabaseSetting =
    databaseUrl.kind === 'sqlite' ? { kind: 'sqlite', file: at(databaseUrl.file) } : databaseUrl
  const handlersDir = handlersDirOf(values, raw.values, sinks, at)
  const effective = {
    ...values,
    INBOX_SECRETS: webhookSecrets?.secrets,
    INBOX_SOURCES: values.INBOX_SOURCES === undefined ? undefined : sources,
    INBOX_DATABASE_URL: database,
    INBOX_HANDLERS: handlersDir ?? 'none',
    INBOX_SINKS: values.INBOX_SINKS === undefined ? undefined : sinks,
  }
  return deepFreeze({
    ...directSettings(values),
    admin: {
      host: values.INBOX_ADMIN_HOST,
      /** 0 = any free port. */
      port: values.INBOX_ADMIN_PORT,
      /** Additional names allowed in the Host header. */
      hosts: values.INBOX_ADMIN_HOSTS,
      /** Undefined only on loopback with a database file: then a token is generated at start and stored in the same folder. */
      token,
      /** Token for read-only access; undefined = none. Never the same as `token`. */
      viewerToken,
    },
    database,
    /** Null if the folder is missing and not set. */
    handlersDir,
    /** Sinks of the settings, INBOX_FORWARD_URL among them. */
    sinks,
    /** Base URL of console links, without a trailing slash; undefined = unknown. */
    consoleUrl: values.INBOX_CONSOLE_URL,
    /** Absolute folder where relative paths in options of sinks start. */
    baseDir: options.cwd,
    /** Access to the REST service. `url` ends in `/v1`. */
    api: apiUrl !== undefined && apiKey !== undefined ? { url: apiUrl, key: apiKey } : undefined,
    retention: {
      /** Days to keep bodies of finished events; 0 = no limit. */
      days: values.INBOX_RETENTION_DAYS,
      /** Above this database size the oldest bodies are deleted earlier. */
      maxBytes: values.INBOX_RETENTION_BYTES,
    },
    tls,
    /** Secrets of the default source; null: there is none, and INBOX_PATH is not served. */
    webhookSecrets,
    sources,
    /** All settings, for people. */
    settings: describeSettings(effective, raw),
    /** Config warnings, such as unknown INBOX_* variables. They don't prevent a start. */
    warnings,
  })
}

/** With routes to sinks, the default handlers folder may be missing. */
function handlersDirOf(
  values: SettingValues,
  raw: RawSettings['values'],
  sinks: readonly ConfiguredSink[],
  at: (path: string) => string,
): string | null {
  const dir = at(values.INBOX_HANDLERS)
  const isInternal = ({ types }: ConfiguredSink['routes'][number]) => types.every(isInternalPattern)
  const isNeeded = sinks.every(({ routes }) => routes.every(isInternal)) || raw.INBOX_HANDLERS !== undefined
  return isNeeded || existsSync(dir) ? dir : null
}

function findConflicts(values: SettingValues, raw: RawSettings['values']): string[] {
  const problems: string[] = []
  const { INBOX_HOST: host, INBOX_PORT: port, INBOX_ADMIN_HOST: adminHost, INBOX_ADMIN_PORT: adminPort } = values
  const hasToken = raw.INBOX_ADMIN_TOKEN !== undefined || raw.INBOX_ADMIN_TOKEN_FILE !== undefined
  if (!isLoopback(adminHost) && !hasToken) {
    problems.push(
      `INBOX_ADMIN_HOST: ${adminHost} is not a loopback address; set INBOX_ADMIN_TOKEN or INBOX_ADMIN_TOKEN_FILE, or ` +
        'INBOX_ADMIN_HOST=127.0.0.1',
    )
  } else if (values.INBOX_DATABASE_URL.kind !== 'sqlite' && !hasToken) {
    const { expected, example } = settings.INBOX_ADMIN_TOKEN
    const reason =
      values.INBOX_DATABASE_URL.kind === 'memory' ? 'no folder for a token file' : 'replicas share one token'
    problems.push(`INBOX_ADMIN_TOKEN is required (${reason}): ${expected}, for example INBOX_ADMIN_TOKEN=${example}`)
  }
  const isEverywhere = (name: string) => name === '0.0.0.0' || name === '::'
  if (port !== 0 && port === adminPort && (host === adminHost || isEverywhere(host) || isEverywhere(adminHost))) {
    problems.push(`INBOX_ADMIN_PORT must differ from INBOX_PORT (both ${adminPort}), for example INBOX_ADMIN_PORT=8081`)
  }
  return problems
}

/** Sinks that sign with the secrets of the default source, which don't exist. */
function findUnsignable(sinks: readonly ConfiguredSink[]): string[] {
  return sinks
    .filter(({ options }) => (options as { readonly signature?: string }).signature === 'original')
    .map(({ name }) => `sinks.${name}.signature must be standard-webhooks or none, because INBOX_SECRETS is not set`)
}

function findConfigWarnings(values: SettingValues, hasApiKey: boolean): string[] {
  const { INBOX_ACK_TIMEOUT_MS: ackTimeoutMs, INBOX_API_URL: apiUrl } = values
  const warnings: string[] = []
  if (ackTimeoutMs >= senderTimeoutMs) {
    warnings.push(
      `INBOX_ACK_TIMEOUT_MS is ${ackTimeoutMs}, but the sender waits only ${senderTimeoutMs} ms: set it lower`,
    )
  }
  if ((apiUrl !== undefined) !== hasApiKey) {
    const [set, unset] = hasApiKey ? ['the API key', 'INBOX_API_URL'] : ['INBOX_API_URL', 'INBOX_API_KEY']
    warnings.push(`${set} is set, but not ${unset}: ctx.api and calls of the service need both`)
  }
  return warnings
}

function invalid(problems: readonly string[], warnings: readonly string[]): InboxError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  // A mistyped name is a warning, and often the reason for a missing required setting.
  const lines = [`the configuration has ${count}:`, ...problems, ...warnings.map((warning) => `warning: ${warning}`)]
  return new InboxError('config_invalid', lines.join('\n  '))
}

function deepFreeze<const T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && !Object.isFrozen(part)) deepFreeze(part)
  return Object.freeze(value)
}
