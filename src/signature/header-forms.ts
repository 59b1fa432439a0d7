import type { Deviation } from './near-misses.ts'

/** A digest in a signature header that isn't exactly 64 hex digits. */
export interface HeaderReading {
  readonly digest: Buffer
  /** Differences from the expected format, outermost first. */
  readonly deviations: readonly Deviation[]
}

/** Only these prefixes are shown in messages: other text before the digest may be part of a secret. */
const knownPrefixes = 'sha256= sha1= sha512= hmac-sha256= v0= v1= v1, s1= sha256: 0x bearer'.split(' ')

/** SHA-1, SHA-256, SHA-384, SHA-512 */
const digestLengths: ReadonlySet<number> = new Set([20, 32, 48, 64])

const surrounded: Deviation = {
  code: 'surrounded',
  message: 'The header has white space, quotes or other text around the digest. Send only the digest.',
}

/** All digests in a header. Node joins repeated headers with ", ". */
export function readHeader(header: string): readonly HeaderReading[] {
  const whole = readOne(header)
  if (whole) return [whole]
  const parts = header
    .split(',')
    .map(readOne)
    .filter((reading) => reading !== undefined)
  const [only] = parts
  return only && parts.length === 1 && only.deviations.length === 0 ? [{ ...only, deviations: [surrounded] }] : parts
}

function readOne(text: string): HeaderReading | undefined {
  const bare = text.replace(/^[\s"'<]+|[\s"'>]+$/g, '')
  const around = bare === text ? [] : [surrounded]
  const plain = decode(bare)
  if (plain) return { digest: plain.digest, deviations: [...around, ...plain.deviations] }

  const [, prefix = '', rest = ''] = /^(0x|v1,|[a-z][a-z0-9_-]{0,31}[=: ]+)(.+)$/i.exec(bare) ?? []
  const inner = decode(rest)
  if (!inner) return undefined
  const shown = knownPrefixes.includes(prefix.trim().toLowerCase()) ? `the prefix "${prefix.trim()}"` : 'a prefix'
  const message = `The digest has ${shown} before it. Send only the 64 hex digits.`
  return { digest: inner.digest, deviations: [...around, { code: 'prefix', message }, ...inner.deviations] }
}

function decode(text: string): HeaderReading | undefined {
  if (/^[0-9a-f]+$/i.test(text) && digestLengths.has(text.length / 2)) {
    return { digest: Buffer.from(text, 'hex'), deviations: [] }
  }
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined
  const digest = Buffer.from(text, 'base64')
  if (!digestLengths.has(digest.length)) return undefined
  const name = /[-_]/.test(text) ? 'base64url' : 'base64'
  return { digest, deviations: [{ code: 'base64', message: `The digest is in ${name}. Send it as 64 hex digits.` }] }
}
