import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { loadConfig, type Config } from '../config.ts'
import { withDatabaseUrl } from '../config/database-file.ts'
import { loadCredentials, type Credentials } from '../config/credentials.ts'
import { parseSettings } from '../config/parse.ts'
import type { SettingValues } from '../config/settings.ts'
import { collectSettings, type ConfigSources } from '../config/sources.ts'
import type { DatabaseSetting } from '../config/values.ts'
import { sourcesOf, type HandlerSources } from '../dispatch/sources.ts'
import { InboxError } from '../errors.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

/** The settings as far as they can be used, so that one that cannot does not keep the others from being looked at. */
export interface ExaminedSettings {
  /** Null: `serve` would not start with them. */
  readonly config: Config | null
  /** Complete: a setting that cannot be used has its default here. */
  readonly values: SettingValues
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
export async function examineSettings(sources: ConfigSources): Promise<ExaminedSettings> {
  const at = (path: string) => resolve(sources.cwd, path)
  const given = await withDatabaseUrl(await collectSettings(sources), sources.cwd)
  const { values } = parseSettings(given.values)
  const credentials = await loadCredentials({ values, given: given.values, at, allowDemoCredentials: false })
  const { INBOX_DATABASE_URL: setting } = values
  const database = setting.kind === 'sqlite' ? { kind: setting.kind, file: at(setting.file) } : setting
  const folder = database.kind === 'sqlite' ? nearestFolder(dirname(database.file)) : null
  const common = { values, credentials, database, folder }
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
