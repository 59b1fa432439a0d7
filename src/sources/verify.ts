import type { Secret } from '../signature/keys.ts'
import type { KeyCache } from './keys.ts'
import { readSignature, type ParsedVerification, type SignatureReading, type SourceRequest } from './read-signature.ts'
import { isKeyOf, joined, secretDigest, signatureTests } from './schemes.ts'

/** The part of a source that verifies deliveries. */
export interface VerifiedSource {
  readonly verify: readonly ParsedVerification[]
  /** True if signatures with old timestamps are rejected. */
  readonly rejectsOld: boolean
  /** The currently valid secrets; for `ed25519` public keys. */
  readonly secrets: () => readonly Secret[]
  /** Null without fetched keys. */
  readonly keys: Pick<KeyCache, 'find'> | null
}

/** If several verifications fail, the last of these reasons is reported. */
const rejections = [
  'missing',
  'malformed',
  'repeated',
  'unknown_key',
  'mismatch',
  'old_timestamp',
  'keys_unavailable',
] as const

/** `keys_unavailable` is temporary: the sender must retry. All other reasons mean that the delivery is not authentic. */
export type SourceRejection = (typeof rejections)[number]

export type SourceVerdict =
  | {
      readonly ok: true
      /** Label of the secret, or id of the fetched key. */
      readonly label: string
      /** Time of signing in milliseconds since 1970. Null: the signature covers none, or its format is unknown. */
      readonly timestamp: number | null
      /** True if the timestamp is outside the tolerance. */
      readonly isOld: boolean
      /** Headers that the signature covers, in lower case. */
      readonly covered: readonly string[]
      /** SHA-256 of the signed bytes, as hex. */
      readonly signedDigest: () => string
      /** True if the signature is valid for other bodies, too, because a signed value may have taken in bytes of the body. */
      readonly isBodyLoose: boolean
    }
  | { readonly ok: false; readonly reason: SourceRejection }

/** Verifies a delivery over its raw bytes. Always tries all secrets, so that the duration reveals nothing. Never rejects. */
export async function verifySource(source: VerifiedSource, request: SourceRequest): Promise<SourceVerdict> {
  let reason: SourceRejection = 'missing'
  for (const verification of source.verify) {
    const verdict = await verifyOne(source, verification, request)
    if (verdict.ok) return verdict
    if (rejections.indexOf(verdict.reason) > rejections.indexOf(reason)) reason = verdict.reason
  }
  return { ok: false, reason }
}

async function verifyOne(
  source: VerifiedSource,
  verification: ParsedVerification,
  request: SourceRequest,
): Promise<SourceVerdict> {
  const reading = readSignature(verification, request)
  if ('reason' in reading) return { ok: false, reason: reading.reason }
  const signers = await findSigners(source, reading.keyId)
  if (typeof signers === 'string') return { ok: false, reason: signers }
  const match = findMatch(verification, reading, signers)
  if (match === undefined) return { ok: false, reason: 'mismatch' }

  const { timestamp } = reading
  const toleranceMs = (verification.timestamp?.toleranceSeconds ?? 0) * 1_000
  const isOld = timestamp !== null && Math.abs(request.now - timestamp) > toleranceMs
  if (source.rejectsOld && timestamp === null) return { ok: false, reason: 'malformed' }
  if (source.rejectsOld && isOld) return { ok: false, reason: 'old_timestamp' }
  const { coversTarget, ...signed } = match
  const isBodyLoose = reading.isBodyLoose || (coversTarget && reading.isTargetLoose)
  return { ok: true, ...signed, timestamp, isOld, isBodyLoose }
}

/** Returns the keys that may have signed: the secrets, or the fetched key with this id. */
export async function findSigners(
  { secrets, keys }: VerifiedSource,
  keyId: string | null,
): Promise<readonly Secret[] | 'unknown_key' | 'keys_unavailable'> {
  if (keyId === null) return secrets()
  const key = (await keys?.find(keyId)) ?? 'unavailable'
  if (key === 'unknown') return 'unknown_key'
  return key === 'unavailable' ? 'keys_unavailable' : [{ label: keyId, key }]
}

interface Match {
  readonly label: string
  readonly covered: readonly string[]
  readonly coversTarget: boolean
  readonly signedDigest: () => string
}

/** Finds the key that made one of the signatures. Tries all keys, so that the duration reveals nothing. */
export function findMatch(
  { scheme }: ParsedVerification,
  { signatures, signed }: Pick<SignatureReading, 'signatures' | 'signed'>,
  signers: readonly Secret[],
): Match | undefined {
  let match: Match | undefined
  for (const { label, key } of signers) {
    if (!isKeyOf(scheme, key)) continue
    for (const { pieces, covered, coversTarget } of signed) {
      const isSignature = signatureTests[scheme](pieces, key)
      for (const signature of signatures)
        if (isSignature(signature))
          match ??= { label, covered, coversTarget, signedDigest: () => secretDigest(joined(pieces)).toString('hex') }
    }
  }
  return match
}
