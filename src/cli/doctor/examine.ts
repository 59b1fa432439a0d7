import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { loadConfig, type Config } from '../../config/config.ts'
import { loadCredentials, type Credentials } from '../../config/credentials.ts'
import { parseSettings, withFiles } from '../../config/parse.ts'
import type { SettingValues } from '../../config/settings.ts'
import { collectSettings, type ConfigSources } from '../../config/sources.ts'
import type { DatabaseSetting } from '../../config/values.ts'
import { checkHandlers } from '../../dispatch/check-handlers.ts'
import type { HandlerInfo } from '../../dispatch/runner-protocol.ts'
import { sourcesOf, type HandlerSources } from '../../dispatch/sources.ts'
import { InboxError } from '../../base/errors.ts'
import type { LabelledSubscribe } from '../../config/subscribe.ts'
import { examineDatabase, type ExaminedDatabase, examineDisk } from './disk.ts'
import {
  fail,
  ok,
  warn,
  type Finding,
  examineClock,
  examinePort,
  examineVersions,
  judgeLimits,
  openFilesLimit,
} from './machine.ts'

export interface Examination {
  readonly findings: readonly Finding[]
  readonly database: ExaminedDatabase
  /** Handlers that `serve` would load; null if unknown. */
  readonly handlers: readonly HandlerInfo[] | null
  /** The setting `subscribe`; null if unset, or if the settings are invalid. */
  readonly subscribe: LabelledSubscribe | null
}

/**
 * Checks everything on this machine that `serve` depends on, also beside a running sidecar and with invalid settings. Changes
 * nothing, except for a temporary file in the database folder.
 */
export async function examineMachine(sources: ConfigSources, now: () => number): Promise<Examination> {
  const settings = await examineSettings(sources)
  const { values, credentials, folder, handlers } = settings
  const database = await examineDatabase(settings.database)
  const loaded = handlers === null ? null : await examineHandlers(handlers)
  const findings = [
    ...settings.findings,
    examineVersions(),
    ...(await examineClock(values.INBOX_API_URL, now)),
    ...(folder === null ? [] : await disk(settings, folder)),
    database.finding,
    ...examineSecrets(settings, (path) => resolve(sources.cwd, path)),
    ...(settings.isComplete ? [examineTokens(values, credentials)] : []),
    ...(loaded === null ? [] : [loaded.finding]),
    ...(await ports(settings, database.isHeld)),
    judgeLimits(openFilesLimit(), values.INBOX_MAX_CONNECTIONS),
  ]
  // With invalid settings, sinks would be missing.
  return {
    findings,
    database,
    handlers: settings.config === null ? null : (loaded?.handlers ?? null),
    subscribe: settings.config?.subscribe ?? null,
  }
}

function disk({ values, database }: ExaminedSettings, folder: string): Promise<Finding[]> {
  return examineDisk({
    folder,
    file: database.kind === 'sqlite' ? database.file : '',
    reserveBytes: values.INBOX_DISK_RESERVE,
    retention: { days: values.INBOX_RETENTION_DAYS, maxBytes: values.INBOX_RETENTION_BYTES },
    ackTimeoutMs: values.INBOX_ACK_TIMEOUT_MS,
  })
}

async function ports({ values, credentials }: ExaminedSettings, isInboxHeld: boolean | null): Promise<Finding[]> {
  const webhook = { host: values.INBOX_HOST, port: values.INBOX_PORT, isTls: credentials.tls !== undefined }
  const admin = { host: values.INBOX_ADMIN_HOST, port: values.INBOX_ADMIN_PORT, isTls: false }
  return [
    await examinePort({ ...webhook, name: 'INBOX_PORT', isInboxHeld }),
    await examinePort({ ...admin, name: 'INBOX_ADMIN_PORT', isInboxHeld }),
  ]
}

/** Settings for the checks. An invalid setting has its default, so that the other checks can run. */
interface ExaminedSettings {
  /** Null if `serve` would not start. */
  readonly config: Config | null
  readonly values: SettingValues
  /** False if the config file can't be loaded. */
  readonly isComplete: boolean
  /** True if INBOX_SECRETS or INBOX_SECRETS_FILE is set, valid or not. */
  readonly hasSecrets: boolean
  readonly credentials: Credentials
  /** Null if the config file can't be loaded and may name them. */
  readonly handlers: HandlerSources | null
  /** A file has an absolute path. */
  readonly database: DatabaseSetting
  /** The database folder, or the nearest existing folder above it; null without a file. */
  readonly folder: string | null
  readonly findings: readonly Finding[]
}

/** Reads the settings as `serve` does, and continues after errors. */
async function examineSettings(sources: ConfigSources): Promise<ExaminedSettings> {
  const at = (path: string) => resolve(sources.cwd, path)
  const given = await withFiles(await collectSettings(sources), sources.cwd)
  const { values } = parseSettings(given.values)
  const credentials = await loadCredentials({ values, given: given.values, at, allowDemoCredentials: false })
  const { INBOX_DATABASE_URL: setting } = values
  const database = setting.kind === 'sqlite' ? { kind: setting.kind, file: at(setting.file) } : setting
  const hasSecrets = (given.values.INBOX_SECRETS ?? given.values.INBOX_SECRETS_FILE) !== undefined
  const folder = database.kind === 'sqlite' ? nearestFolder(dirname(database.file)) : null
  const common = { values, credentials, database, folder, isComplete: given.isComplete, hasSecrets }
  try {
    const config = await loadConfig(sources)
    const handlers = sourcesOf(config)
    return { ...common, config, handlers, findings: describe(config, Object.keys(given.values).length) }
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    const isUnknown = given.values.INBOX_HANDLERS === undefined && given.problems.length > 0
    return {
      ...common,
      config: null,
      handlers: isUnknown ? null : { handlersDir: at(values.INBOX_HANDLERS) },
      findings: [fail('configuration', error.message, 'fix it; `onchain-inbox check` shows the resulting settings')],
    }
  }
}

function describe({ warnings }: Config, count: number): Finding[] {
  if (warnings.length === 0) return [ok('configuration', `${count} settings are set, all valid`)]
  return warnings.map((warning) => warn('configuration', warning, 'fix its name or value, or remove it'))
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path))
}

const secretFiles = [
  'INBOX_ADMIN_TOKEN_FILE',
  'INBOX_ADMIN_VIEWER_TOKEN_FILE',
  'INBOX_API_KEY_FILE',
  'INBOX_DATABASE_URL_FILE',
  'INBOX_TLS_KEY_FILE',
] as const

/** Checks the webhook secrets, and who can read the files that hold secrets. */
function examineSecrets(
  { values, credentials: { secretsSource }, isComplete, hasSecrets }: ExaminedSettings,
  at: (path: string) => string,
): Finding[] {
  const files = [
    ...(secretsSource?.kind === 'file' ? [secretsSource.file] : []),
    ...secretFiles.flatMap((name) => values[name] ?? []).map(at),
  ]
  const open = files.filter(isReadByAll)
  // The config file that can't be loaded may name them.
  if (secretsSource === undefined && !isComplete && !hasSecrets) return []
  if (secretsSource === undefined) {
    const advice = 'set INBOX_SECRETS_FILE to a file with the webhook secret: without it every delivery is rejected'
    return [fail('secrets', 'no valid webhook secret', advice)]
  }
  const { secrets } = secretsSource
  const list = secrets.map(({ label, key: { symmetricKeySize: size } }) => `${label} (${size} bytes)`).join(', ')
  const found = `${secrets.length === 1 ? '1 webhook secret' : `${secrets.length} webhook secrets`}: ${list}`
  if (open.length === 0) return [ok('secrets', found)]
  return [warn('secrets', `${found}; every user can read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`)]
}

function examineTokens({ INBOX_ADMIN_TOKEN: token }: SettingValues, { viewerToken }: Credentials): Finding {
  const operator = token === undefined ? 'not set (one is generated at start)' : 'set'
  return ok('admin tokens', `admin token: ${operator}; viewer token: ${viewerToken === undefined ? 'not set' : 'set'}`)
}

function isReadByAll(file: string): boolean {
  return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0
}

interface ExaminedHandlers {
  readonly finding: Finding
  /** Null if they can't be loaded. */
  readonly handlers: readonly HandlerInfo[] | null
}

/** Loads the handlers as `serve` would, without running them. */
async function examineHandlers(sources: HandlerSources): Promise<ExaminedHandlers> {
  const { handlersDir } = sources
  try {
    const handlers = await checkHandlers(sources)
    if (handlers.length > 0) return { finding: ok('handlers', handlers.map(({ name }) => name).join(', ')), handlers }
    const place = handlersDir === null ? '' : ` in ${handlersDir}`
    const found = `none${place}: events are only stored`
    return { finding: warn('handlers', found, 'onchain-inbox init writes an example'), handlers }
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    const advice = 'fix it; `onchain-inbox check` lists the handlers'
    return { finding: fail('handlers', error.message, advice), handlers: null }
  }
}
