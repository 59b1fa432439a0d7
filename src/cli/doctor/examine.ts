import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadConfig, type Config } from '../../config/config.ts'
import { findHandlerWarnings } from '../../config/sinks/config-warnings.ts'
import { loadCredentials } from '../../config/credentials.ts'
import { parseSettings, withFiles } from '../../config/parse.ts'
import { settingNames, type SettingName, type SettingValues } from '../../config/settings.ts'
import { collectSettings, type ConfigInputs } from '../../config/collect.ts'
import { checkHandlers } from '../../dispatch/check-handlers.ts'
import { locationsOf } from '../../dispatch/handler-locations.ts'
import { InboxError } from '../../base/errors.ts'
import type { SecretsOrigin } from '../../config/credentials.ts'
import type { ConfiguredSource } from '../../config/sources.ts'
import { createKeys } from '../configured-source.ts'
import { commandLine } from '../host.ts'
import { counted } from '../output.ts'
import { examineDatabase, examineDisk } from './disk.ts'
import { check, type Finding, examineClock, examinePort, examineVersions } from './machine.ts'

/**
 * Checks everything on this machine that `serve` depends on. Works while a sidecar runs, and with invalid settings, which are replaced by
 * their defaults. Changes nothing, except for a temporary file in the database folder.
 */
export async function examineMachine(inputs: ConfigInputs, now: () => number) {
  const at = (path: string) => resolve(inputs.cwd, path)
  const raw = await withFiles(await collectSettings(inputs), inputs.cwd)
  const { values } = parseSettings(raw.values)
  const loaded = await loadConfig(inputs).catch((error: unknown) => {
    if (error instanceof InboxError) return error
    throw error
  })
  const config = loaded instanceof InboxError ? null : loaded
  const { webhookSecrets, tls } = await loadCredentials({ values, raw: raw.values, at, allowDemoCredentials: false })
  const { INBOX_DATABASE_URL: setting } = values
  const file = setting.kind === 'sqlite' ? at(setting.file) : null
  const database = await examineDatabase(file === null ? setting : { kind: 'sqlite', file })
  // Invalid settings may name handlers.
  const handlers = config === null ? null : await examineHandlers(config)
  // A config file that can't be loaded may name the secrets.
  const isSecretKnown =
    webhookSecrets !== undefined ||
    raw.isComplete ||
    (raw.values.INBOX_SECRETS ?? raw.values.INBOX_SECRETS_FILE) !== undefined
  const hasOnlySources = webhookSecrets === undefined && (config?.sources ?? []).length > 0
  const webhook = { host: values.INBOX_HOST, port: values.INBOX_PORT, isTls: tls !== undefined }
  const admin = { host: values.INBOX_ADMIN_HOST, port: values.INBOX_ADMIN_PORT, isTls: false }
  const findings = [
    ...judgeConfig(loaded, Object.keys(raw.values).length),
    examineVersions(),
    ...(await examineClock(values.INBOX_API_URL, now)),
    ...(file === null ? [] : await examineDisk(values, file)),
    database.finding,
    ...(await Promise.all((config?.sources ?? []).map(examineSource))),
    ...(isSecretKnown && webhookSecrets !== null && !hasOnlySources
      ? [examineSecrets(webhookSecrets, values, at)]
      : []),
    ...(handlers === null ? [] : [handlers.finding]),
    await examinePort({ ...webhook, name: 'INBOX_PORT', isInboxServed: database.isServed }),
    await examinePort({ ...admin, name: 'INBOX_ADMIN_PORT', isInboxServed: database.isServed }),
  ]
  /** `handlers`: the handlers that `serve` would load; null if unknown. */
  return { findings, database, handlers: handlers?.handlers ?? null }
}

function judgeConfig(loaded: Config | InboxError, count: number): Finding[] {
  const { ok, warn, fail } = check('configuration')
  if (loaded instanceof InboxError)
    return [fail(loaded.message, `fix it; for the resulting settings: ${commandLine('check')}`)]
  if (loaded.warnings.length === 0) return [ok(`${counted(count, 'setting')} set, all valid`)]
  return loaded.warnings.map((warning) => warn(warning, 'fix its name or value, or remove it'))
}

/** Settings that name files with secrets. */
const secretFiles = settingNames.filter(
  (name): name is Extract<SettingName, `${string}_FILE`> => name.endsWith('_FILE') && name !== 'INBOX_TLS_CERT_FILE',
)

/** Fetches the public keys of a source, if it has any. */
async function examineSource(configured: ConfiguredSource): Promise<Finding> {
  const { name, path, keyEndpoint } = configured.settings
  const { ok, warn, fail } = check(`source ${name}`)
  const keys = createKeys(configured)
  if (keyEndpoint === null || keys === null) {
    const { secrets, files } = configured.secrets
    const found = `${path}, ${counted(secrets.length, 'secret')}`
    const readable = files.filter(isReadByAll).join(' ')
    return readable === '' ? ok(found) : warn(`${found}; every user can read ${readable}`, `chmod 600 ${readable}`)
  }
  // No sender has this key, so only a key server that works answers that it is unknown.
  const answer = await keys.find(randomUUID())
  const { origin } = new URL(keyEndpoint.url)
  if (answer !== 'unavailable') return ok(`${path}, public keys of ${origin} can be fetched`)
  return fail(
    `${path}, public keys of ${origin} can't be fetched: new keys are answered with 503`,
    'check the network, keys.url and keys.apiKey',
  )
}

/** Checks the webhook secrets, and who can read the files that hold secrets. */
function examineSecrets(
  origin: SecretsOrigin | undefined,
  values: SettingValues,
  at: (path: string) => string,
): Finding {
  const { ok, warn, fail } = check('secrets')
  if (origin === undefined) {
    const advice = 'set INBOX_SECRETS_FILE to a file with the webhook secret: without it every delivery is rejected'
    return fail('no valid webhook secret', advice)
  }
  const files = [...origin.files, ...secretFiles.flatMap((name) => values[name] ?? []).map(at)]
  const readableByAll = [...new Set(files)].filter(isReadByAll)
  const { secrets } = origin
  const list = secrets.map(({ label, key: { symmetricKeySize: size } }) => `${label} (${size} bytes)`).join(', ')
  const found = `${counted(secrets.length, 'webhook secret')}: ${list}`
  if (readableByAll.length === 0) return ok(found)
  return warn(`${found}; every user can read ${readableByAll.join(', ')}`, `chmod 600 ${readableByAll.join(' ')}`)
}

function isReadByAll(file: string): boolean {
  return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0
}

/** Loads the handlers as `serve` would, without running them. `handlers` is null if they can't be loaded. */
async function examineHandlers(config: Config) {
  const { ok, warn, fail } = check('handlers')
  const { handlersDir } = config
  try {
    const handlers = await checkHandlers(locationsOf(config))
    const warnings = findHandlerWarnings(handlers, config.webhookSecrets !== null)
    if (warnings.length > 0) return { finding: warn(warnings.join('; '), 'correct the handlers'), handlers }
    if (handlers.length > 0) return { finding: ok(handlers.map(({ name }) => name).join(', ')), handlers }
    const place = handlersDir === null ? '' : ` in ${handlersDir}`
    const found = `none${place}: events are only stored`
    return { finding: warn(found, `for an example: ${commandLine('init my-inbox')}`), handlers }
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    return { finding: fail(error.message, `fix it; to list the handlers: ${commandLine('check')}`), handlers: null }
  }
}
