import type { ProviderName } from '../../schema/index.ts'
import { randomBytes, randomUUID } from 'node:crypto'
import { nearest } from '../base/edit-distance.ts'
import { InboxError } from '../base/errors.ts'
import { findSigner, signSource } from './sign.ts'
import type { VerifiedSource } from './verify.ts'
import { providers } from './providers/index.ts'
import { sampleBodies, type Fresh, type ProviderWithSamples } from './sample-bodies.ts'

interface Sample {
  readonly raw: Buffer<ArrayBuffer>
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Creates a realistic delivery of a provider. Two samples are two events: their ids, times and hashes differ.
 *
 * @throws InboxError `usage` without a sample of the type
 */
function createSample(source: string, provider: ProviderName | null, type: string | undefined, now: number): Sample {
  if (provider === null || !hasSamples(provider))
    throw new InboxError('usage', `the source ${source} has no provider, so there is no sample: give a body`)
  const bodies = new Map<string, (fresh: Fresh) => unknown>(Object.entries(sampleBodies[provider]))
  const [first] = bodies.keys()
  const chosen = type ?? (first === '*' ? undefined : first)
  const hasTypes = providers[provider].type !== null
  const body = bodies.get(chosen ?? '*') ?? (hasTypes ? bodies.get('*') : undefined)
  if (body === undefined) throw new InboxError('usage', describeTypes(provider, chosen ?? '', [...bodies.keys()]))
  const fresh = createFresh(chosen, now)
  return { raw: Buffer.from(JSON.stringify(body(fresh))), headers: headersOf(provider, fresh) }
}

export interface SampleRequest {
  /** Provider of the source; null: the settings describe the sender themselves. */
  readonly provider: ProviderName | null
  /** Default: the provider's first type. */
  readonly type: string | undefined
  /** Body in place of a sample. */
  readonly body: Uint8Array | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/**
 * Creates a signed request of a source's sender, with all its headers.
 *
 * @throws InboxError `usage` without a sample, or if the source has public keys only
 */
export function signSample(
  source: Pick<VerifiedSource, 'verify' | 'secrets'> & { readonly name: string; readonly path: string },
  { provider, type, body, now }: SampleRequest,
): Sample {
  const { key, verification } = findSigner(source)
  const { raw, headers } =
    body === undefined ? createSample(source.name, provider, type, now) : { raw: Buffer.from(body), headers: {} }
  const signed = signSource(verification, { raw, key, headers, now, target: source.path })
  return { raw, headers: { 'content-type': 'application/json', ...headers, ...signed } }
}

function hasSamples(provider: ProviderName): provider is ProviderWithSamples {
  return Object.hasOwn(sampleBodies, provider)
}

function createFresh(type: string | undefined, now: number): Fresh {
  return {
    type,
    time: new Date(now),
    uuid: randomUUID(),
    token: randomText(16, 'abcdefghijklmnopqrstuvwxyz0123456789'),
    hash: `0x${randomBytes(32).toString('hex')}`,
    blockHash: `0x${randomBytes(32).toString('hex')}`,
    signature: randomText(88, '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'),
  }
}

function randomText(length: number, alphabet: string): string {
  return Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('')
}

function headersOf(provider: ProviderName, { type, uuid, token }: Fresh): Readonly<Record<string, string>> {
  if (provider === 'github') return { 'x-github-event': type ?? 'push', 'x-github-delivery': uuid }
  if (provider === 'coinbase-cdp') return { 'x-event-id': uuid, 'x-event-type': type ?? '' }
  return provider === 'standard-webhooks' ? { 'webhook-id': `msg_${token}` } : {}
}

function describeTypes(provider: ProviderName, type: string, types: readonly string[]): string {
  if (types.includes('*')) return `${provider} has no event types: leave out ${JSON.stringify(type)}`
  return `${provider} has no sample of ${JSON.stringify(type)}${nearest(type, types)}; expected one of ${types.join(', ')}`
}
