import { timingSafeEqual } from 'node:crypto'
import type { Secret } from './keys.ts'
import { sign } from './sign.ts'

export type VerifyResult =
  | { readonly ok: true; readonly label: string }
  | { readonly ok: false; readonly reason: 'missing' | 'malformed' | 'mismatch' }

const missing: VerifyResult = { ok: false, reason: 'missing' }
const malformed: VerifyResult = { ok: false, reason: 'malformed' }
const mismatch: VerifyResult = { ok: false, reason: 'mismatch' }

const digestPattern = /^[0-9a-fA-F]{64}$/

/**
 * Checks whether `header` is the HMAC-SHA256 of the raw bytes with one of the secrets (R73, R74, R75, A30–A32). It must
 * be exactly 64 hex digits; a repeated header, which Node joins with a comma, is malformed. Always tries all secrets,
 * so that the duration reveals nothing. Never throws.
 */
export function verify(raw: Uint8Array, header: string | undefined, secrets: readonly Secret[]): VerifyResult {
  if (header === undefined || header === '') return missing
  if (!digestPattern.test(header)) return malformed

  // Compares hex text: faster than decoding, and both sides have the 64 bytes that timingSafeEqual requires.
  const received = Buffer.from(header.toLowerCase(), 'latin1')
  let label: string | undefined
  for (const secret of secrets) {
    if (timingSafeEqual(Buffer.from(sign(raw, secret), 'latin1'), received)) label ??= secret.label
  }
  return label === undefined ? mismatch : { ok: true, label }
}
