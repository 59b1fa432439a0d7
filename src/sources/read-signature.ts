import type { Timestamp, Verification } from './provider.ts'
import { headersOf, toTime, type RawHeaders } from './reference.ts'
import { secretDigest } from './schemes.ts'
import { isAmbiguous, isBodyLoose, render, type Rendered, type Template } from './template.ts'

/** A verification with its templates parsed. */
export interface ParsedVerification extends Omit<Verification, 'signed'> {
  readonly templates: readonly Template[]
  /** Headers of the templates that hold the id, in lower case. */
  readonly idHeaders: readonly string[]
}

export interface SourceRequest {
  readonly headers: RawHeaders
  /** Exact bytes of the body; inflated if the provider signs inflated bytes. */
  readonly raw: Uint8Array
  /** Milliseconds since 1970. */
  readonly now: number
  /** Path and query. Only QuickAlerts signs them. */
  readonly target?: string
}

/** The signatures of a delivery, and all that they may have signed. */
export interface SignatureReading {
  readonly signatures: readonly Buffer[]
  readonly signed: readonly Rendered[]
  /** True if the body and a signed value may have exchanged bytes: then the signature is valid for other bodies, too. */
  readonly isBodyLoose: boolean
  /** The same for path and query, if the signature covers them. */
  readonly isTargetLoose: boolean
  /** Milliseconds since 1970. Null: none, or in an unknown format. */
  readonly timestamp: number | null
  /** Null without fetched keys. */
  readonly keyId: string | null
}

/** Why a signature can't be read. */
export interface ReadProblem {
  readonly reason: 'missing' | 'repeated' | 'malformed'
  /** In lower case. */
  readonly header: string
}

/**
 * A signed header with one of these may have taken in a part of the body. A body that doesn't begin and end with one may have
 * taken in a part of a signed header. The signature would stay valid.
 */
const partsOfJson = /[{}[\]"]/

/** Signatures per header. During a rotation there are two. */
const maxSignatures = 8

/** Reads what a verification needs from a request. A header that is missing, empty or repeated is a problem. */
export function readSignature(
  verification: ParsedVerification,
  request: SourceRequest,
): SignatureReading | ReadProblem {
  const { raw, target, headers } = request
  let problem: ReadProblem | null = null
  const hasBody = verification.templates.some(({ parts }) => parts.some(({ kind }) => kind === 'body'))
  const header = (name: string) => {
    const values = headersOf(headers, name)
    const [text = ''] = values
    if (values.length === 1 && text !== '') {
      // Node has a character per byte. Other characters would count as the byte of another one.
      const isBytes = !/[^\p{ASCII}\u0080-\u00ff]/u.test(text)
      const hasFormat = isBytes && verification.formats?.[name]?.test(text) !== false
      if (name === verification.header || (hasFormat && !(hasBody && partsOfJson.test(text)))) return text
      problem ??= { reason: 'malformed', header: name }
      return undefined
    }
    problem ??= { reason: values.length > 1 ? 'repeated' : 'missing', header: name }
    return undefined
  }
  const value = header(verification.header)
  const malformed: ReadProblem = { reason: 'malformed', header: verification.header }
  if (value === undefined) return problem ?? malformed
  if (verification.scheme === 'jws-rs512') return readJws(value, raw) ?? malformed

  const { separator, prefix = '' } = verification
  const items = separator === undefined ? [value] : value.split(separator)
  const item = (name: string) => {
    const values = items.filter((text) => text.startsWith(`${name}=`))
    if (values.length === 1) return values[0]?.slice(name.length + 1)
    problem ??= malformed
    return undefined
  }
  const signatures = items
    .filter((text) => text.startsWith(prefix))
    .flatMap((text) => decodeSignature(text.slice(prefix.length), verification))
  const isComplete = signatures.every((signature) => signature !== null)
  // A proxy may join repeated headers with ", ".
  const isJoined = separator === ',' && items.some((text) => text.startsWith(' '))
  if (signatures.length === 0 && separator !== undefined) return { ...malformed, reason: 'missing' }
  if (!isComplete || isJoined || signatures.length === 0 || signatures.length > maxSignatures) return malformed

  const { timestamp: rule, keyIdHeader } = verification
  const text = rule && ('header' in rule.from ? header(rule.from.header) : item(rule.from.item))
  const timestamp = rule && text !== undefined ? readTimestamp(text, rule.unit) : null
  const keyId = keyIdHeader === undefined ? null : (header(keyIdHeader) ?? null)
  const values = { raw, target, timestamp: text, header, item }
  const signed = verification.templates.map((template) => render(template, values)).filter((each) => each !== null)
  if (problem !== null) return problem
  const { templates, idHeaders } = verification
  const hasDates = rule?.unit === 'date'
  const ambiguous = idHeaders.find((name) =>
    templates.some((template) => isAmbiguous(name, template, values, hasDates)),
  )
  if (ambiguous !== undefined) return { reason: 'malformed', header: ambiguous }
  if (timestamp === undefined) return rule && 'header' in rule.from ? { ...malformed, ...rule.from } : malformed
  const isLoose = templates.some((template) => isBodyLoose(template, hasDates)) && !hasPartsOfJson(raw)
  const isTargetLoose = target !== undefined && partsOfJson.test(target)
  return { signatures, signed, isBodyLoose: isLoose, isTargetLoose, timestamp, keyId }
}

/** True if the body begins and ends with one. */
function hasPartsOfJson(raw: Uint8Array): boolean {
  const isVisible = (byte: number) => byte > 0x20
  const ends = [raw.find(isVisible), raw.findLast(isVisible)]
  return ends.every((byte) => byte !== undefined && partsOfJson.test(String.fromCharCode(byte)))
}

/** The bytes of a signature in their only spelling (hex in any case); null if it has another. */
function decodeSignature(text: string, { scheme, encoding = 'hex' }: ParsedVerification): readonly (Buffer | null)[] {
  // Node decodes each byte of a header as a character. Senders write secrets in UTF-8, or in Latin-1.
  if (scheme === 'secret') return [secretDigest(Buffer.from(text, 'latin1')), secretDigest(text)]
  const bytes = Buffer.from(text, encoding)
  const isOnlySpelling = bytes.toString(encoding) === (encoding === 'hex' ? text.toLowerCase() : text)
  return [bytes.length > 0 && isOnlySpelling ? bytes : null]
}

/**
 * Milliseconds since 1970; null for a date in an unknown format; undefined if it isn't a number where one is expected.
 * Digits only: otherwise a beginning of the body could pass as a part of the timestamp.
 */
function readTimestamp(text: string, unit: Timestamp['unit']): number | null | undefined {
  if (unit === 'date') return toTime(text)
  if (!/^\d{1,15}$/.test(text)) return undefined
  return unit === 's' ? Number(text) * 1_000 : Number(text)
}

/** A detached JWS (RFC 7515): `<protected header>..<signature>`. Null if it is malformed. */
function readJws(value: string, raw: Uint8Array): SignatureReading | null {
  const [, protectedHeader = '', signature = ''] = /^([\w-]+)\.\.([\w-]+)$/.exec(value) ?? []
  const keyId = keyIdOf(protectedHeader)
  if (keyId === null) return null
  const body = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64url')
  const signed = [{ pieces: [protectedHeader, '.', body], covered: [], coversTarget: false }]
  return {
    signatures: [Buffer.from(signature, 'base64url')],
    signed,
    isBodyLoose: false,
    isTargetLoose: false,
    timestamp: null,
    keyId,
  }
}

/** Null for another algorithm than RS512, and for extensions (`crit`), which could change the signed bytes. */
function keyIdOf(protectedHeader: string): string | null {
  try {
    const header: unknown = JSON.parse(Buffer.from(protectedHeader, 'base64url').toString())
    if (typeof header !== 'object' || header === null || 'crit' in header || 'b64' in header) return null
    const { alg, kid } = header as { readonly alg?: unknown; readonly kid?: unknown }
    return alg === 'RS512' && typeof kid === 'string' && kid !== '' ? kid : null
  } catch {
    return null
  }
}
