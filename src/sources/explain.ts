import { createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'
import { safeText } from '../base/safe-text.ts'
import type { Secret } from '../signature/keys.ts'
import {
  bodyVariants,
  digestVariants,
  secretVariants,
  type NearMissCode,
  type Variant,
} from '../signature/near-misses.ts'
import {
  readSignature,
  type ParsedVerification,
  type ReadProblem,
  type SignatureReading,
  type SourceRequest,
} from './read-signature.ts'
import { headersOf } from './reference.ts'
import { joined } from './schemes.ts'
import { parseTemplate } from './template.ts'
import {
  findMatch,
  findSigners,
  verifySource,
  type SourceRejection,
  type SourceVerdict,
  type VerifiedSource,
} from './verify.ts'

/** Why a delivery was accepted or rejected. Contains no secret and no valid signature. */
export interface SourceExplanation {
  readonly code: 'valid' | SourceRejection | NearMissCode | 'other_template'
  /** Label of the secret that made the signature, also if a near miss makes it invalid. Absent: no secret made it. */
  readonly matchedLabel?: string
  /** Cause and advice. */
  readonly message: string
  /** The bytes that a valid signature covers, without the body; several if the sender may sign several forms. */
  readonly signedTexts: readonly string[]
}

/**
 * Explains a rejected delivery: a missing, repeated or malformed header, or a signature that nearly matches. Too slow for
 * the request path: computes dozens of signatures. Never rejects.
 */
export async function explainSource(source: VerifiedSource, request: SourceRequest): Promise<SourceExplanation> {
  const verdict = await verifySource(source, request)
  const sent = source.verify.filter(({ header }) => headersOf(request.headers, header).length > 0)
  const complete: Complete[] = []
  const problems: Problem[] = []
  for (const verification of sent.length > 0 ? sent : source.verify) {
    const reading = readSignature(verification, request)
    if ('reason' in reading) problems.push({ verification, problem: reading })
    else complete.push({ verification, reading })
  }
  const signedTexts = [...new Set(complete.flatMap(textsOf))]
  const [first] = complete
  if (verdict.ok) {
    const message = describeValid(verdict, request)
    return { code: 'valid', matchedLabel: verdict.label, message, signedTexts }
  }
  if (first === undefined) return { code: verdict.reason, message: describeProblems(problems), signedTexts }
  if (verdict.reason === 'mismatch') {
    for (const { verification, reading } of complete) {
      const signers = await findSigners(source, reading.keyId)
      const nearMiss = typeof signers === 'string' ? undefined : findNearMiss(verification, reading, signers, request)
      if (nearMiss !== undefined) return { ...nearMiss, signedTexts }
    }
  }
  return { code: verdict.reason, message: describeRejection(verdict.reason, first.reading, request), signedTexts }
}

interface Complete {
  readonly verification: ParsedVerification
  readonly reading: SignatureReading
}

interface Problem {
  readonly verification: ParsedVerification
  readonly problem: ReadProblem
}

interface NearMiss {
  readonly code: NearMissCode | 'other_template'
  readonly message: string
  readonly matchedLabel: string
}

/** Templates in use by senders that sign a body, with or without a timestamp. */
const commonTemplates = ['{body}', '{timestamp}.{body}', '{timestamp}{body}', '{body}{timestamp}', '{body}.{timestamp}']

/** Finds the secret that made the signature with one deviation. */
function findNearMiss(
  verification: ParsedVerification,
  reading: SignatureReading,
  signers: readonly Secret[],
  request: SourceRequest,
): NearMiss | undefined {
  if (verification.scheme === 'secret') return findInHeader(verification, signers, request)
  const signedOtherwise = (other: ParsedVerification, raw: Uint8Array) => {
    const otherReading = readSignature(other, { ...request, raw })
    return 'reason' in otherReading ? undefined : findMatch(verification, otherReading, signers)?.label
  }
  for (const { code, message, bytes } of bodyVariants(request.raw)) {
    const matchedLabel = signedOtherwise(verification, bytes)
    if (matchedLabel !== undefined) return { code, message, matchedLabel }
  }
  for (const template of commonTemplates) {
    const matchedLabel = signedOtherwise({ ...verification, templates: [parseTemplate(template)] }, request.raw)
    const message = `The signature is valid for ${template}: the sender signs other bytes than this source expects.`
    if (matchedLabel !== undefined) return { code: 'other_template', message, matchedLabel }
  }
  return signers.flatMap((signer) => findInSecret(verification, reading, signer))[0]
}

/** The secret with other white space, in another encoding, or used with another hash. Only for shared secrets. */
function findInSecret(
  verification: ParsedVerification,
  reading: SignatureReading,
  { label, key }: Secret,
): readonly NearMiss[] {
  if (key.type !== 'secret') return []
  const secrets = verification.secretEncoding === 'base64' ? undecoded(key) : secretVariants(label, key)
  const ofSecret = secrets.filter(
    // Texts of sources have no label before them.
    ({ code, bytes }) =>
      code !== 'secret_label' &&
      findMatch(verification, reading, [{ label, key: createSecretKey(bytes) }]) !== undefined,
  )
  const digests = reading.signed.flatMap(({ pieces }) => digestVariants(joined(pieces), key))
  const ofDigest = verification.scheme === 'hmac-sha256' ? digests.filter(({ bytes }) => isOneOf(bytes, reading)) : []
  return [...ofSecret, ...ofDigest].map(({ code, message }) => ({ code, message, matchedLabel: label }))
}

function undecoded(key: KeyObject): readonly Variant[] {
  const text = key.export().toString('base64')
  const message = 'The sender used the text of the secret as its key. It must decode the base64 behind whsec_.'
  return [text, `whsec_${text}`].map((bytes) => ({ code: 'secret_encoding', message, bytes: Buffer.from(bytes) }))
}

function isOneOf(bytes: Uint8Array, { signatures }: SignatureReading): boolean {
  return signatures.some((signature) => signature.length === bytes.length && timingSafeEqual(signature, bytes))
}

/** A static secret that differs in a leading `Bearer`. */
function findInHeader(
  verification: ParsedVerification,
  signers: readonly Secret[],
  { headers, raw, now }: SourceRequest,
): NearMiss | undefined {
  const [value = ''] = headersOf(headers, verification.header)
  const difference = `The secret and the header ${verification.header} differ in "Bearer ".`
  const message = `${difference} The secret must be the whole value of the header.`
  for (const text of [value.replace(/^bearer /i, ''), `Bearer ${value}`]) {
    const reading = readSignature(verification, { headers: [verification.header, text], raw, now })
    const match = 'reason' in reading ? undefined : findMatch(verification, reading, signers)
    if (match !== undefined) return { code: 'prefix', message, matchedLabel: match.label }
  }
  return undefined
}

function textsOf({ verification: { scheme }, reading: { signed } }: Complete): readonly string[] {
  if (scheme === 'secret') return []
  return signed.map(({ pieces }) => {
    if (scheme === 'jws-rs512') return `${String(pieces[0])}.<body in base64url>`
    return pieces.map((piece) => (typeof piece === 'string' ? piece : `<body, ${piece.length} bytes>`)).join('')
  })
}

function describeValid(
  { isOld, timestamp, isBodyLoose }: Extract<SourceVerdict, { ok: true }>,
  { now }: SourceRequest,
): string {
  const message = isBodyLoose
    ? 'The signature is valid, also for other bodies: only a JSON object, list or text becomes an event. This goes to quarantine.'
    : 'The signature is valid.'
  if (!isOld) return message
  return `${message} It is ${describeAge(timestamp, now)}: accepted, because the sender may retry with its first signature.`
}

function describeAge(timestamp: number | null, now: number): string {
  const ageSeconds = Math.round((now - (timestamp ?? now)) / 1_000)
  return ageSeconds < 0 ? `from ${-ageSeconds} s in the future` : `${ageSeconds} s old`
}

/** A problem of another header says more: the signature itself could be read. */
function describeProblems(problems: readonly Problem[]): string {
  const ofOtherHeaders = problems.filter(({ verification, problem }) => problem.header !== verification.header)
  return [...ofOtherHeaders, ...problems].map(describeProblem)[0] ?? ''
}

function describeProblem({ verification, problem: { header, reason } }: Problem): string {
  const { scheme, prefix = '', encoding = 'hex', timestamp } = verification
  if (reason === 'missing') return `The header ${header} is missing, empty or without a signature.`
  if (reason === 'repeated') return `The header ${header} is there more than once. Send it once.`
  if (timestamp !== undefined && 'header' in timestamp.from && timestamp.from.header === header)
    return timestamp.unit === 'date'
      ? `The header ${header} must be a date.`
      : `The header ${header} must be a time in ${timestamp.unit}, in digits only.`
  if (header !== verification.header)
    return (
      `The header ${header} has brackets or quotes, a form that the sender doesn't use, or the text that separates ` +
      'signed values. Then the same signature would be valid for several values.'
    )
  const form = scheme === 'secret' ? '<secret>' : `<${scheme} in ${encoding}>`
  return scheme === 'jws-rs512'
    ? `The header ${header} must be a detached JWS with RS512 and a key id.`
    : `The header ${header} must have the form ${prefix}${form}.`
}

function describeRejection(
  reason: SourceRejection,
  { keyId, timestamp }: SignatureReading,
  { now }: SourceRequest,
): string {
  switch (reason) {
    case 'unknown_key':
      return `The sender has no public key ${safeText(keyId ?? '', 100)}. Check keys.url: each environment has its own keys.`
    case 'keys_unavailable':
      return 'The public keys of the sender are unavailable now.'
    case 'old_timestamp':
      return `The signature is valid, but ${describeAge(timestamp, now)}. Check the clocks of both sides.`
    case 'mismatch':
      return (
        'No secret or key of this source gives this signature, and no known mistake explains it. Compare the secret with ' +
        'the one at the sender, and check that this is the signed body.'
      )
    case 'malformed':
    case 'missing':
    case 'repeated':
      return 'The time of the signature is in an unknown format.'
  }
}
