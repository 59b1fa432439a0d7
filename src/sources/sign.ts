import { randomUUID, sign, type KeyObject } from 'node:crypto'
import { InboxError } from '../base/errors.ts'
import type { ParsedVerification } from './read-signature.ts'
import { hmacOf, isKeyOf, joined, keccakOf } from './schemes.ts'
import { render, type Piece } from './template.ts'
import type { VerifiedSource } from './verify.ts'

export interface SignOptions {
  readonly raw: Uint8Array
  /** A secret, or the private key of a scheme with public keys. */
  readonly key: KeyObject
  /** Id of the private key, for schemes with fetched keys. */
  readonly keyId?: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** Path and query. */
  readonly target?: string
  /** Headers to sign, with names in lower case. Signed headers that are missing get the time or a random UUID. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Signs a body with the first secret of a source.
 *
 * @throws InboxError `usage` if the source has public keys only
 */
export function signWithSecret(
  { verify, secrets }: Pick<VerifiedSource, 'verify' | 'secrets'>,
  options: Omit<SignOptions, 'key' | 'keyId'>,
): Readonly<Record<string, string>> {
  const shared = secrets().find(({ key }) => key.type === 'secret')
  const verification = verify.find(({ scheme }) => shared !== undefined && isKeyOf(scheme, shared.key))
  if (shared === undefined || verification === undefined) {
    throw new InboxError(
      'usage',
      'only the sender can sign deliveries of this source: they are verified with public keys',
    )
  }
  return signSource(verification, { ...options, key: shared.key })
}

/** Signs a body as its sender would: the reverse of `verifySource`. Returns all headers that the verification reads. */
export function signSource(verification: ParsedVerification, options: SignOptions): Readonly<Record<string, string>> {
  const { raw, key, keyId = '', now, target } = options
  const { scheme, header: signatureHeader, prefix = '', timestamp: rule, keyIdHeader } = verification
  const headers: Record<string, string> = { ...options.headers }
  if (keyIdHeader !== undefined) headers[keyIdHeader] = keyId
  if (scheme === 'secret') return { ...headers, [signatureHeader]: `${prefix}${key.export().toString('latin1')}` }
  if (scheme === 'jws-rs512') return { ...headers, [signatureHeader]: signJws(raw, key, keyId) }

  const timestamp = timestampText(now, rule?.unit)
  const items = new Map<string, string>()
  if (rule && 'header' in rule.from) headers[rule.from.header] = timestamp
  if (rule && 'item' in rule.from) items.set(rule.from.item, timestamp)
  const values = {
    raw,
    target,
    timestamp,
    header: (name: string) => (headers[name] ??= randomUUID()),
    item(name: string) {
      if (name === 'h') items.set('h', Object.keys(options.headers ?? {}).join(' '))
      return items.get(name)
    },
  }
  const [signed] = verification.templates.map((template) => render(template, values))
  if (!signed) throw new InboxError('usage', 'the deliveries of this source cannot be signed without a request path')
  const signature = `${prefix}${signatureOf(scheme, signed.pieces, key).toString(verification.encoding ?? 'hex')}`
  return { ...headers, [signatureHeader]: [...[...items].map((item) => item.join('=')), signature].join(',') }
}

function signatureOf(
  scheme: 'hmac-sha256' | 'keccak256' | 'ed25519' | 'ecdsa-sha256',
  pieces: readonly Piece[],
  key: KeyObject,
) {
  if (scheme === 'hmac-sha256') return hmacOf(pieces, key)
  if (scheme === 'keccak256') return keccakOf(pieces, key)
  return sign(scheme === 'ed25519' ? null : 'sha256', joined(pieces), key)
}

function signJws(raw: Uint8Array, key: KeyObject, keyId: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'RS512', kid: keyId })).toString('base64url')
  const bytes = Buffer.from(`${header}.${Buffer.from(raw).toString('base64url')}`)
  return `${header}..${sign('RSA-SHA512', bytes, key).toString('base64url')}`
}

function timestampText(now: number, unit: 's' | 'ms' | 'date' | undefined): string {
  if (unit === 'date') return new Date(now).toUTCString()
  return String(unit === 'ms' ? now : Math.floor(now / 1_000))
}
