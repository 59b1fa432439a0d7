import { describeDatabase } from '../base/database-url.ts'
import type { RawSettings, SettingOrigins } from './collect.ts'
import { isSettingName, settingNames, settings, type SettingName, type SettingValues } from './settings.ts'
import type { ConfiguredSink } from './sinks/load.ts'
import type { ConfiguredSource } from './sources.ts'

/** A setting for people, without anything secret. */
export interface DescribedSetting {
  readonly name: SettingName
  /** Of a secret only the parts that may be shown. */
  readonly value: string
  /** `file`: read from the file that the INBOX_*_FILE setting names. */
  readonly origin: NonNullable<SettingOrigins[SettingName]> | 'default' | 'file'
  /** True if the value may hold a secret. */
  readonly secret: boolean
  /** Empty: none. */
  readonly default: string
}

/** The values in force. */
export interface EffectiveValues extends Omit<SettingValues, 'INBOX_SINKS' | 'INBOX_SOURCES'> {
  readonly INBOX_SOURCES: readonly ConfiguredSource[] | undefined
  readonly INBOX_SINKS: readonly ConfiguredSink[] | undefined
}

/** The parts of secret settings that may be shown. Of others only whether they are set. */
const shownParts: { readonly [Name in SettingName]?: (value: NonNullable<EffectiveValues[Name]>) => string } = {
  INBOX_SECRETS: (secrets) => `set (labels: ${secrets.map(({ label }) => label).join(', ')})`,
  INBOX_SOURCES: (sources) => sources.map(({ settings: { name } }) => name).join(', '),
  INBOX_DATABASE_URL: (database) => {
    if (database.kind === 'postgres') return describeDatabase(database.url)
    return database.kind === 'memory' ? 'memory:' : `sqlite:${database.file}`
  },
  INBOX_FORWARD_URL: withoutQuery,
  INBOX_SINKS: (sinks) => sinks.map(({ name, description }) => `${name}: ${description}`).join('; '),
  INBOX_CONSOLE_URL: String,
  INBOX_API_URL: String,
}

/** One row per setting, in the order of the docs. */
export function describeSettings(values: EffectiveValues, { origins }: Pick<RawSettings, 'origins'>) {
  return settingNames.map((name): DescribedSetting => {
    const { type, isSecret } = settings[name]
    const file = `${name}_FILE`
    const isFromFile = isSettingName(file) && origins[file] !== undefined
    return {
      name,
      value: show(name, values[name]) ?? 'not set',
      origin: origins[name] ?? (isFromFile ? 'file' : 'default'),
      secret: isSecret,
      default: show(name, type.safeParse(undefined).data) ?? '',
    }
  })
}

/** Null: not set. */
function show(name: SettingName, value: unknown): string | null {
  if (value === undefined) return null
  const { isSecret, show: showAll } = settings[name]
  const showPart = shownParts[name] ?? (isSecret ? () => 'set' : showAll)
  return showPart(value as never)
}

/** A query may hold a secret. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
