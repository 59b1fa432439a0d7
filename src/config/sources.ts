import { resolve } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { readOrigin, readSecrets, type OriginReader } from '../sources/secrets.ts'
import { resolveSources, type SourceSettings } from '../sources/settings.ts'
import type { SecretsOrigin } from './credentials.ts'

/** A source of the settings with its secrets. */
export interface ConfiguredSource {
  readonly settings: SourceSettings
  /** Empty if keys are fetched. */
  readonly secrets: SecretsOrigin
  /** Reads the API key for fetched keys; undefined: the endpoint needs none. */
  readonly apiKey: (() => Promise<string>) | undefined
}

export interface SourcesSetting {
  /** The setting `sources`; undefined if unset. */
  readonly sources: unknown
  /** Paths that no source may have. */
  readonly takenPaths: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Makes a path absolute. */
  readonly at: (path: string) => string
}

export interface LoadedSources {
  readonly sources: readonly ConfiguredSource[]
  /** Without secrets. */
  readonly problems: readonly string[]
}

/** Checks the setting `sources` and reads the secrets that it names. */
export async function loadSources({ sources, takenPaths, env, at }: SourcesSetting): Promise<LoadedSources> {
  if (sources === undefined) return { sources: [], problems: [] }
  const resolved = resolveSources(sources, takenPaths)
  const loaded = await readSourceSecrets(resolved.sources, { env, at })
  return { ...loaded, problems: [...resolved.problems, ...loaded.problems] }
}

/** Reads the secrets of checked sources. */
export async function readSourceSecrets(
  sources: readonly SourceSettings[],
  { env = process.env, at = resolve }: Partial<Pick<SourcesSetting, 'env' | 'at'>> = {},
): Promise<LoadedSources> {
  const reader = { env, readFile: (file: string) => readSecretFile(at(file)) }
  const loaded = await Promise.allSettled(sources.map((source) => loadSource(source, reader, at)))
  return {
    sources: loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    problems: loaded.flatMap((result) => (result.status === 'rejected' ? [messageOf(result.reason)] : [])),
  }
}

async function loadSource(
  settings: SourceSettings,
  reader: OriginReader,
  at: SourcesSetting['at'],
): Promise<ConfiguredSource> {
  const { name, secretOrigins, keyEndpoint } = settings
  const read = () => readSecrets(settings, reader)
  const files = Object.values(secretOrigins).flatMap((origin) =>
    typeof origin === 'object' && 'file' in origin ? [at(origin.file)] : [],
  )
  const origin = keyEndpoint?.apiKey ?? null
  // Read again for each request, as a file may change.
  const apiKey = origin === null ? undefined : () => readOrigin(`sources.${name}.keys.apiKey`, origin, reader)
  await apiKey?.()
  return { settings, secrets: { secrets: await read(), files, read }, apiKey }
}
