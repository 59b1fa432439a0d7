import type { Deviation } from './near-misses.ts'

/** What a header that is not 64 hex digits was probably meant to say. */
export interface HeaderReading {
  readonly digest: Buffer
  /** What is odd about its form, in the order in which a reader would notice. */
  readonly deviations: readonly Deviation[]
}

// Only these are repeated in a message: anything else before the digest might be part of a secret.
const knownPrefixes = [
  'sha256=',
  'sha1=',
  'sha512=',
  'hmac-sha256=',
  'v0=',
  'v1=',
  'v1,',
  's1=',
  'sha256:',
  '0x',
  'Bearer ',
]

// SHA-1, SHA-256, SHA-384, SHA-512
const digestLengths: ReadonlySet<number> = new Set([20, 32, 48, 64])

const surrounded: Deviation = {
  code: 'surrounded',
  message: 'The header has white space, quotes or other text around the digest. Send the digest alone.',
}

/**
 * Every digest that can be read out of a header. Several come from a header that was sent more than once, which Node
 * joins with ", ".
 */
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
  const deviations: Deviation[] = []
  const bare = text.replace(/^[\s"'<]+|[\s"'>]+$/g, '')
  if (bare !== text) deviations.push(surrounded)
  const plain = decode(bare)
  if (plain) return { digest: plain.digest, deviations: [...deviations, ...plain.deviations] }

  const [, prefix = '', rest = ''] = /^(0x|v1,|[a-z][a-z0-9_-]{0,31}[=: ]+)(.+)$/i.exec(bare) ?? []
  const known = knownPrefixes.find((candidate) => candidate.toLowerCase() === prefix.toLowerCase())
  deviations.push({
    code: 'prefix',
    message: `The digest is preceded by ${known === undefined ? 'a prefix' : `the prefix "${known.trim()}"`}. Send the 64 hex digits without it.`,
  })
  const inner = decode(rest)
  return inner && { digest: inner.digest, deviations: [...deviations, ...inner.deviations] }
}

function decode(text: string): HeaderReading | undefined {
  if (/^[0-9a-f]+$/i.test(text) && digestLengths.has(text.length / 2)) {
    return { digest: Buffer.from(text, 'hex'), deviations: [] }
  }
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined
  const digest = Buffer.from(text, 'base64')
  if (!digestLengths.has(digest.length)) return undefined
  const name = /[-_]/.test(text) ? 'base64url' : 'base64'
  return {
    digest,
    deviations: [{ code: 'base64', message: `The digest is written in ${name}. Send it as 64 hex digits.` }],
  }
}
