import type { ProviderName } from '../../schema/index.ts'
import { createPublicKey } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Identity } from '../../src/sources/identify.ts'
import type { SourceRequest } from '../../src/sources/read-signature.ts'
import { readSecrets } from '../../src/sources/secrets.ts'
import { resolveSources, type SourceSettings } from '../../src/sources/settings.ts'
import type { VerifiedSource } from '../../src/sources/verify.ts'

/** A delivery that a sender's own code signed, or that a sender published. */
export interface SourceVector {
  readonly origin: string
  readonly provider: ProviderName
  readonly secret?: string
  /** Public keys (SPKI in base64) by id. */
  readonly keys?: Readonly<Record<string, string>>
  /** Milliseconds since 1970. */
  readonly now: number
  readonly headers: Readonly<Record<string, string>>
  readonly target?: string
  readonly body: string
  /** Absent for test deliveries and unusable bodies. */
  readonly identity?: Omit<Identity, 'stableDigest'>
  readonly testStatus?: number
  readonly unusable?: string
}

const folder = join(import.meta.dirname, 'source-vectors')

export const vectors: readonly SourceVector[] = globSync('*.json', { cwd: folder })
  .toSorted()
  .flatMap((file) => {
    const ofProvider = JSON.parse(readFileSync(join(folder, file), 'utf8')) as readonly Omit<
      SourceVector,
      'provider' | 'now'
    >[]
    const provider = file.replace('.json', '') as ProviderName
    return ofProvider.map((vector) => ({ ...vector, provider, now: Date.UTC(2026, 0, 31, 14, 3, 26) }))
  })

/** The source that settings with this provider describe. */
export function settingsOf(provider: ProviderName, secret = 'not used by this provider'): SourceSettings {
  const isFetched = provider === 'circle' || provider === 'fireblocks'
  const credentials = isFetched ? { keys: { apiKey: 'TEST_API_KEY' } } : { secrets: secret }
  const { sources, problems } = resolveSources({ tested: { provider, path: '/hooks/tested', ...credentials } }, [])
  if (sources[0] === undefined) throw new Error(problems.join('\n'))
  return sources[0]
}

export async function sourceOf({
  provider,
  secret,
  keys = {},
}: Pick<SourceVector, 'provider' | 'secret' | 'keys'>): Promise<SourceSettings & VerifiedSource> {
  const settings = settingsOf(provider, secret)
  const secrets = await readSecrets(settings, { env: {} })
  const find = (keyId: string) => {
    const spki = keys[keyId]
    if (spki === undefined) return Promise.resolve('unknown' as const)
    return Promise.resolve(createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' }))
  }
  return { ...settings, secrets: () => secrets, keys: { find } }
}

export function requestOf({ headers, body, now, target }: SourceVector): SourceRequest {
  return {
    headers: Object.entries(headers).flat(),
    raw: Buffer.from(body),
    now,
    ...(target !== undefined && { target }),
  }
}
