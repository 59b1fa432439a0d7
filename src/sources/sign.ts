import { randomUUID, type KeyObject } from 'node:crypto'
import { InboxError } from '../base/errors.ts'
import type { ParsedVerification } from './read-signature.ts'
import { hmacOf, isKeyOf, keccakOf } from './schemes.ts'
import { render } from './template.ts'
import type { VerifiedSource } from './verify.ts'

export interface SignOptions {
  readonly raw: Uint8Array
  readonly key: KeyObject
  /** Milliseconds since 1970. */
  readonly now: number
  /** Path and query. */
  readonly target?: string
  /** Headers to sign, with names in lower case. Signed headers that are missing get the time or a random UUID. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Finds the first shared secret of a source and the verification that uses it.
 *
 * @throws InboxError `usage` if the source has public keys only
 */
export function findSigner({ verify, secrets }: Pick<VerifiedSource, 'verify' | 'secrets'>) {
  const shared = secrets().find(({ key }) => key.type === 'secret')
  const verification = verify.find(({ scheme }) => shared !== undefined && isKeyOf(scheme, shared.key))
  if (shared !== undefined && verification !== undefined) return { key: shared.key, verification }
  throw new InboxError(
    'usage',
    'only the sender can sign deliveries of this source: they are verified with public keys',
  )
}

/**
 * Signs a body with a shared secret, as its sender would: the reverse of `verifySource`. Returns all headers that the
 * verification reads.
 */
export function signSource(verification: ParsedVerification, options: SignOptions): Readonly<Record<string, string>> {
  const { raw, key, now, target } = options
  const { scheme, header: signatureHeader, prefix = '', timestamp: rule } = verification
  const headers: Record<string, string> = { ...options.headers }
  if (scheme === 'secret') return { ...headers, [signatureHeader]: `${prefix}${key.export().toString('latin1')}` }

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
  const digest = (scheme === 'keccak256' ? keccakOf : hmacOf)(signed.pieces, key)
  const signature = `${prefix}${digest.toString(verification.encoding ?? 'hex')}`
  return { ...headers, [signatureHeader]: [...[...items].map((item) => item.join('=')), signature].join(',') }
}

function timestampText(now: number, unit: 's' | 'ms' | 'date' | undefined): string {
  if (unit === 'date') return new Date(now).toUTCString()
  return String(unit === 'ms' ? now : Math.floor(now / 1_000))
}
