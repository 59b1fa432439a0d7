import { createHash, createHmac, type KeyObject } from 'node:crypto'
import { parseJsonBody } from '../base/json-body.ts'

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

/** A difference from a valid signature, described for the person who fixes the sender. */
export interface Deviation {
  readonly code: NearMissCode
  readonly message: string
}

export interface Variant extends Deviation {
  readonly bytes: Uint8Array
}

const variant = (code: NearMissCode, message: string, bytes: Uint8Array): Variant => ({ code, message, bytes })

/** Bodies that the sender may have signed instead of the received bytes (R72, R73). */
export function bodyVariants(raw: Uint8Array): readonly Variant[] {
  const body = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  // One character per byte, so that only line breaks change.
  const text = body.toString('latin1')
  const signed = (code: NearMissCode, signedText: string, changed: string | Uint8Array) => {
    const advice = 'The sender must sign exactly the bytes it sends, and nothing in between may change them.'
    const bytes = typeof changed === 'string' ? Buffer.from(changed, 'latin1') : changed
    return variant(code, `The signature is valid for ${signedText}. ${advice}`, bytes)
  }
  return [
    signed('body_newline', 'this body without the line break at its end', text.replace(/\r?\n$/, '')),
    signed('body_newline', 'this body without white space at its ends', trim(body)),
    signed('body_newline', 'this body with a line break (LF) at its end', `${text}\n`),
    signed('body_newline', 'this body with a line break (CRLF) at its end', `${text}\r\n`),
    signed('body_newline', 'this body with LF instead of CRLF as line breaks', text.replace(/\r\n/g, '\n')),
    signed('body_newline', 'this body with CRLF instead of LF as line breaks', text.replace(/\r?\n/g, '\r\n')),
    signed('body_bom', 'this body without its byte-order mark', text.replace(/^\xef\xbb\xbf/, '')),
    signed('body_bom', 'this body with a byte-order mark before it', `\xef\xbb\xbf${text}`),
    ...jsonVariants(body).map((changed) =>
      signed('body_json', 'the same JSON in another format: it was parsed and serialized again', Buffer.from(changed)),
    ),
    signed('body_empty', 'an empty body: it was lost, or already read, before it was signed', ''),
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

function jsonVariants(body: Buffer): readonly string[] {
  // Deeply nested bodies are skipped: indented, they could take gigabytes.
  const parsed = parseJsonBody(Buffer.from(body.toString('utf8').replace(/^\ufeff/, '')))
  if (!parsed.ok) return []
  return [parsed.value, sortKeys(parsed.value)].flatMap((candidate) => {
    const [compact, spaced] = [JSON.stringify(candidate), writeSpaced(candidate)]
    const indented = [2, 4].map((indent) => JSON.stringify(candidate, null, indent))
    return [compact, ...indented, spaced, escapeNonAscii(spaced), escapeNonAscii(compact)]
  })
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const sorted = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, entry]) => [key, sortKeys(entry)]))
}

/** JSON with ", " and ": ", as Python's json.dumps writes it. */
export function writeSpaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeSpaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, entry]) => `${JSON.stringify(key)}: ${writeSpaced(entry)}`)
  return `{${members.join(', ')}}`
}

function escapeNonAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Keys that the sender may have derived from the same secret (A30). Never let these bytes leave this folder. */
export function secretVariants(label: string, key: KeyObject): readonly Variant[] {
  const text = key.export().toString('utf8')
  const asTyped = 'Both sides must use the UTF-8 bytes of the secret as typed.'
  const space = `The sender's copy of the secret has other white space at its ends. ${asTyped}`
  const labelTaken =
    'The start of the sender\'s secret was read as its label here. Put it in INBOX_SECRETS_FILE, or write "other-label:" before it.'
  const decoded = (how: string, bytes: Uint8Array) =>
    variant('secret_encoding', `The sender decoded the secret as ${how} before using it. ${asTyped}`, bytes)
  const variants = [
    ...[`${text}\n`, `${text}\r\n`, ` ${text}`, `${text} `].map((changed) =>
      variant('secret_whitespace', space, Buffer.from(changed)),
    ),
    variant('secret_label', labelTaken, Buffer.from(`${label}:${text}`)),
    decoded('base64', Buffer.from(text, 'base64')),
    decoded('base64 after its prefix', Buffer.from(text.replace(/^[a-z]+_/, ''), 'base64')),
    decoded('hex', Buffer.from(text, 'hex')),
  ]
  const empty = "The sender's secret is empty: its setting is missing there."
  // Text that can't be decoded gives an empty key, which is another mistake.
  return [...variants.filter(({ bytes }) => bytes.length > 0), variant('secret_empty', empty, new Uint8Array())]
}

/** Other digests of the same body and secret. */
export function digestVariants(raw: Uint8Array, key: KeyObject): readonly Variant[] {
  const secret = key.export()
  const advice = 'Use HMAC-SHA256 with the secret as key.'
  const plain = `The signature is a plain SHA-256 of the body, which anyone can compute. ${advice}`
  const joined = `The signature is the SHA-256 of secret and body joined. ${advice}`
  return [
    ...['sha1', 'sha384', 'sha512'].map((hash) => {
      const message = `The signature is HMAC-${hash.toUpperCase()}. ${advice}`
      return variant('other_hash', message, createHmac(hash, key).update(raw).digest())
    }),
    variant('not_hmac', plain, sha256(raw)),
    variant('not_hmac', joined, sha256(secret, raw)),
    variant('not_hmac', joined, sha256(raw, secret)),
  ]
}

function sha256(...parts: readonly Uint8Array[]): Buffer {
  return createHash('sha256').update(Buffer.concat(parts)).digest()
}
