import { createHash, createHmac, type KeyObject } from 'node:crypto'

export type NearMissCode =
  | 'surrounded'
  | 'prefix'
  | 'base64'
  | 'body_newline'
  | 'body_bom'
  | 'body_json'
  | 'body_empty'
  | 'secret_whitespace'
  | 'secret_label'
  | 'secret_encoding'
  | 'secret_empty'
  | 'other_hash'
  | 'not_hmac'

/** One way in which a signature differs from what is expected, in words for the person who has to mend it. */
export interface Deviation {
  readonly code: NearMissCode
  readonly message: string
}

export interface Variant extends Deviation {
  readonly bytes: Uint8Array
}

const rawBytes = 'The sender has to sign exactly the bytes it sends, and nothing on the way may rewrite them.'

/** Bodies that the sender may have signed instead of the bytes that arrived (R72, R73). */
export function bodyVariants(raw: Uint8Array): readonly Variant[] {
  const body = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const text = body.toString('latin1') // one character per byte, so that nothing but line breaks changes
  const bytes = (changed: string) => Buffer.from(changed, 'latin1')
  const variant = (code: NearMissCode, what: string, changed: Uint8Array): Variant => ({
    code,
    message: `The signature is right for ${what}. ${rawBytes}`,
    bytes: changed,
  })
  return [
    variant('body_newline', 'this body without the line break at its end', bytes(text.replace(/\r?\n$/, ''))),
    variant('body_newline', 'this body without white space at its ends', trim(body)),
    variant('body_newline', 'this body with a line break (LF) at its end', bytes(`${text}\n`)),
    variant('body_newline', 'this body with a line break (CRLF) at its end', bytes(`${text}\r\n`)),
    variant('body_newline', 'this body with LF instead of CRLF as line breaks', bytes(text.replace(/\r\n/g, '\n'))),
    variant('body_newline', 'this body with CRLF instead of LF as line breaks', bytes(text.replace(/\r?\n/g, '\r\n'))),
    variant('body_bom', 'this body without its byte-order mark', bytes(text.replace(/^\xef\xbb\xbf/, ''))),
    variant('body_bom', 'this body with a byte-order mark before it', bytes(`\xef\xbb\xbf${text}`)),
    ...jsonVariants(body).map((changed) =>
      variant('body_json', 'the same JSON written in another way: it was parsed and written anew', changed),
    ),
    variant('body_empty', 'an empty body: it was lost, or already read, before it was signed', new Uint8Array()),
  ]
}

function trim(body: Buffer): Uint8Array {
  const isSpace = (byte: number | undefined) => byte === 32 || (byte !== undefined && byte >= 9 && byte <= 13)
  let start = 0
  let end = body.length
  while (isSpace(body[start])) start++
  while (end > start && isSpace(body[end - 1])) end--
  return body.subarray(start, end)
}

function jsonVariants(body: Buffer): readonly Uint8Array[] {
  const variants: Uint8Array[] = []
  try {
    const value: unknown = JSON.parse(body.toString('utf8').replace(/^\ufeff/, ''))
    for (const candidate of [value, sortKeys(value)]) {
      for (const indent of [0, 2, 4]) variants.push(Buffer.from(JSON.stringify(candidate, null, indent)))
      const spaced = writeSpaced(candidate)
      variants.push(Buffer.from(spaced), Buffer.from(escapeNonAscii(spaced)))
      variants.push(Buffer.from(escapeNonAscii(JSON.stringify(candidate))))
    }
  } catch {
    // Not JSON, or nested too deeply to be written again: then this was not what happened.
  }
  return variants
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, entry]) => [key, sortKeys(entry)]),
  )
}

/** JSON with ", " and ": " between the parts, as Python's json.dumps writes it. */
function writeSpaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeSpaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, entry]) => `${JSON.stringify(key)}: ${writeSpaced(entry)}`)
    .join(', ')}}`
}

function escapeNonAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const asTyped = 'The secret is its UTF-8 bytes as typed, on both sides.'

/** Keys that the sender may have made of the same secret (A30). The bytes are secret: they stay inside this folder. */
export function secretVariants(label: string, key: KeyObject): readonly Variant[] {
  const secret = key.export()
  const text = secret.toString('utf8')
  const space = `The sender's copy of the secret differs in white space at its ends. ${asTyped}`
  const cut = `The sender's secret begins with what was read here as its label. Put it in INBOX_SECRETS_FILE, or write "other-label:" before it.`
  const coded = (how: string) => `The sender decoded the secret as ${how} before using it. ${asTyped}`
  const variants: Variant[] = [
    ...[`${text}\n`, `${text}\r\n`, ` ${text}`, `${text} `].map((changed): Variant => ({
      code: 'secret_whitespace',
      message: space,
      bytes: Buffer.from(changed),
    })),
    { code: 'secret_label', message: cut, bytes: Buffer.from(`${label}:${text}`) },
    { code: 'secret_encoding', message: coded('base64'), bytes: Buffer.from(text, 'base64') },
    {
      code: 'secret_encoding',
      message: coded('base64 after its prefix'),
      bytes: Buffer.from(text.replace(/^[a-z]+_/, ''), 'base64'),
    },
    { code: 'secret_encoding', message: coded('hex'), bytes: Buffer.from(text, 'hex') },
  ]
  return [
    ...variants.filter(({ bytes }) => bytes.length > 0), // undecodable text would be an empty key, another mistake
    {
      code: 'secret_empty',
      message: 'The sender used an empty secret: the setting that should hold it is not set there.',
      bytes: new Uint8Array(),
    },
  ]
}

/** Other digests of the same body and secret. */
export function digestVariants(raw: Uint8Array, key: KeyObject): readonly Variant[] {
  const secret = key.export()
  const needed = 'HMAC-SHA256 keyed with the secret is needed.'
  const joined = `The signature is SHA-256 over secret and body joined together. ${needed}`
  return [
    ...['sha1', 'sha384', 'sha512'].map((hash): Variant => ({
      code: 'other_hash',
      message: `The signature is HMAC-${hash.toUpperCase()}. ${needed}`,
      bytes: createHmac(hash, key).update(raw).digest(),
    })),
    {
      code: 'not_hmac',
      message: `The signature is a plain SHA-256 of the body: no secret went into it, so anyone could have made it. ${needed}`,
      bytes: sha256(raw),
    },
    { code: 'not_hmac', message: joined, bytes: sha256(secret, raw) },
    { code: 'not_hmac', message: joined, bytes: sha256(raw, secret) },
  ]
}

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
