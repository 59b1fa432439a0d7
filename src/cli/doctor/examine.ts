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

/** What was found on this machine, and how the database stands. */
export interface Examination {
  readonly findings: readonly Finding[]
  readonly database: ExaminedDatabase
  /** What `serve` would load; null: that cannot be told. */
  readonly handlers: readonly HandlerInfo[] | null
  /** What the receiver is to be registered for; null where it is not to be, or the settings cannot be used. */
  readonly subscribe: LabelledSubscribe | null
}

/**
 * Looks at everything on this machine that `serve` depends on: beside a running sidecar, without one, and with settings that cannot
 * be used. It changes nothing, but for a small file in the folder of the database that it removes again.
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
  // With settings that cannot be used, sinks are missing here.
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

/** The settings as far as they can be used, so that one that cannot does not keep the others from being looked at. */
interface ExaminedSettings {
  /** Null: `serve` would not start with them. */
  readonly config: Config | null
  /** Complete: a setting that cannot be used has its default here. */
  readonly values: SettingValues
  /** False if the config file can't be loaded. */
  readonly isComplete: boolean
  /** True if INBOX_SECRETS or INBOX_SECRETS_FILE is set, valid or not. */
  readonly hasSecrets: boolean
  readonly credentials: Credentials
  /** Null: a config file that cannot be read may have named them. */
  readonly handlers: HandlerSources | null
  /** With an absolute path. */
  readonly database: DatabaseSetting
  /** The folder that the database is in, or is going to be in; the folder above it that is there, as long as it is not. Null: none. */
  readonly folder: string | null
  readonly findings: readonly Finding[]
}

/** Reads the settings as `serve` does, and goes on where that stops. */
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
      findings: [fail('configuration', error.message, 'mend it; `onchain-inbox check` shows what would be used')],
    }
  }
}

function describe({ warnings }: Config, count: number): Finding[] {
  if (warnings.length === 0) return [ok('configuration', `${count} settings are given, and all can be used`)]
  return warnings.map((warning) => warn('configuration', warning, 'mend its name or its value, or take it away'))
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

/** The webhook secrets, by label and length, and who can read the files that hold secrets. */
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
    const advice = 'set INBOX_SECRETS_FILE to a file with the secret of the webhook: without it nothing can be received'
    return [fail('secrets', 'there is no webhook secret that can be used', advice)]
  }
  const { secrets } = secretsSource
  const list = secrets.map(({ label, key: { symmetricKeySize: size } }) => `${label} (${size} bytes)`).join(', ')
  const found = `${secrets.length === 1 ? '1 webhook secret' : `${secrets.length} webhook secrets`}: ${list}`
  if (open.length === 0) return [ok('secrets', found)]
  return [warn('secrets', `${found}; every user can read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`)]
}

/** Who may use the admin side. */
function examineTokens({ INBOX_ADMIN_TOKEN: token }: SettingValues, { viewerToken }: Credentials): Finding {
  const operator = token === undefined ? 'not set (one is made at start)' : 'set'
  return ok('admin tokens', `admin token: ${operator}; viewer token: ${viewerToken === undefined ? 'not set' : 'set'}`)
}

function isReadByAll(file: string): boolean {
  return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0
}

interface ExaminedHandlers {
  readonly finding: Finding
  /** Null: they cannot be loaded. */
  readonly handlers: readonly HandlerInfo[] | null
}

/** Loads the handlers as `serve` would, and runs none. */
async function examineHandlers(sources: HandlerSources): Promise<ExaminedHandlers> {
  const { handlersDir } = sources
  try {
    const handlers = await checkHandlers(sources)
    if (handlers.length > 0) return { finding: ok('handlers', handlers.map(({ name }) => name).join(', ')), handlers }
    const place = handlersDir === null ? '' : ` in ${handlersDir}`
    const found = `none${place}: events are stored, and nothing is done with them`
    return { finding: warn('handlers', found, 'onchain-inbox init shows one'), handlers }
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    const advice = 'mend it; `onchain-inbox check` lists what can be loaded'
    return { finding: fail('handlers', error.message, advice), handlers: null }
  }
}
