import { InboxError } from '../../base/errors.ts'
import { readSecrets } from '../../sources/secrets.ts'
import { resolveSources, type SourceOptions } from '../../sources/settings.ts'
import { signSample } from '../../sources/samples.ts'
import { systemClock } from '../../base/clock.ts'

export interface SignedRequestOfSource {
  /** A source as in the setting `sources`. */
  readonly source: SourceOptions
  /** Event type of the sample. Default: the first of the provider. */
  readonly type?: string
  /** Sent in place of a sample: text unchanged, an object as JSON. */
  readonly body?: string | object
  /** Time of signing, in milliseconds since 1970. Default: now. */
  readonly now?: number
}

/**
 * Creates the signed request of a source's sender, as the second argument of `fetch`.
 *
 * @throws InboxError `config_invalid` for an invalid source, `usage` without a sample, or if only the sender can sign
 *
 * @example
 * const alchemy = { provider: 'alchemy', path: '/hooks/alchemy', secrets: 'secret-of-alchemy' }
 * const response = await fetch(url, await createSignedRequest({ source: alchemy, type: 'ADDRESS_ACTIVITY' }))
 */
export async function createSignedRequest(options: SignedRequestOfSource) {
  const { body, now = systemClock.now(), type } = options
  const { sources, problems } = resolveSources({ source: options.source }, [])
  const [source] = sources
  if (source === undefined || problems.length > 0) throw new InboxError('config_invalid', problems.join('\n'))
  const secrets = await readSecrets(source, { env: process.env })
  const raw = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const signed = signSample({ ...source, secrets: () => secrets }, { provider: source.provider, type, body: raw, now })
  return { method: 'POST', headers: signed.headers, body: signed.raw.toString() } as const
}
