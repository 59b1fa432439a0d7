import { createHmac, timingSafeEqual } from 'node:crypto'
import { readHeader } from './header-forms.ts'
import type { Secret } from './keys.ts'
import { bodyVariants, digestVariants, secretVariants, type Deviation, type NearMissCode } from './near-misses.ts'
import { verify } from './verify.ts'

/** Why a signature was accepted or rejected. Contains no secret, no header and no valid signature. */
export interface Explanation {
  readonly code: 'valid' | 'missing' | 'repeated' | 'malformed' | 'wrong_secret' | NearMissCode
  /** Label of the secret that made the signature, also if a deviation makes it invalid. Absent: no secret made it. */
  readonly matchedLabel?: string
  /** Cause and advice. */
  readonly message: string
}

/** Maximum signatures of a header that are checked. A header may hold hundreds, and each check computes dozens of HMACs. */
const maxChecked = 4

interface Match {
  readonly label: string
  readonly deviation?: Deviation
}

/**
 * Explains a rejected signature (R73, A30–A32): a format other than 64 hex digits, a body changed after signing, another
 * encoding of the secret, or another hash. Too slow for the request path: computes dozens of HMACs. Never throws.
 */
export function explain(raw: Uint8Array, header: string | undefined, secrets: readonly Secret[]): Explanation {
  const verdict = verify(raw, header, secrets)
  if (verdict.ok) {
    const message = 'The signature is valid: HMAC-SHA256 of these bytes with this secret.'
    return { code: 'valid', matchedLabel: verdict.label, message }
  }
  if (header === undefined || header === '') {
    const message = 'There is no signature. Send the HMAC-SHA256 of the body as 64 hex digits in the signature header.'
    return { code: 'missing', message }
  }
  const readings = readHeader(header)
  const [reading] = readings
  if (!reading) return { code: 'malformed', message: describeUnreadable(header) }

  const matches = readings.slice(0, maxChecked).map(({ digest, deviations }) => {
    return { deviations, match: findMatch(raw, digest, secrets) }
  })
  const found = matches.find(({ match }) => match)
  const label = found?.match && { matchedLabel: found.match.label }
  if (readings.length > 1) {
    const which = readings.length > maxChecked ? `the first ${maxChecked}` : 'them'
    const result = found ? `One of ${which} is, or nearly is, valid.` : `None of ${which} is valid.`
    const message = `The header holds ${readings.length} signatures. ${result} Send exactly one.`
    return { code: 'repeated', ...label, message }
  }
  if (found) {
    const deviations = [...found.deviations, ...(found.match?.deviation ? [found.match.deviation] : [])]
    return { code: deviations[0]?.code ?? 'malformed', ...label, message: textOf(deviations) }
  }
  if (reading.deviations.length > 0) {
    const message = `${textOf(reading.deviations)} That digest is not valid either. ${describeWrongSecret(secrets)}`
    return { code: 'malformed', message }
  }
  if (reading.digest.length === 32) return { code: 'wrong_secret', message: describeWrongSecret(secrets) }
  return { code: 'malformed', message: describeUnreadable(header) }
}

const textOf = (deviations: readonly Deviation[]) => deviations.map(({ message }) => message).join(' ')

/** Finds the secret that made the signature, exactly or with one deviation. Doesn't try combinations of deviations. */
function findMatch(raw: Uint8Array, digest: Buffer, secrets: readonly Secret[]): Match | undefined {
  const hmacIs = (key: Secret['key'] | Uint8Array, body: Uint8Array) =>
    isEqual(createHmac('sha256', key).update(body).digest(), digest)

  for (const { label, key } of secrets) if (hmacIs(key, raw)) return { label }
  const bodies = bodyVariants(raw)
  for (const { label, key } of secrets) {
    const deviation =
      bodies.find(({ bytes }) => hmacIs(key, bytes)) ??
      secretVariants(label, key).find(({ bytes }) => hmacIs(bytes, raw)) ??
      digestVariants(raw, key).find(({ bytes }) => isEqual(bytes, digest))
    if (deviation) return { label, deviation }
  }
  return undefined
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

function describeUnreadable(header: string): string {
  const what = /^[0-9a-f]+$/i.test(header) ? 'hex digits' : 'characters that are not a digest in any known format'
  return `The header has ${header.length} ${what}. Send exactly 64 hex digits: the HMAC-SHA256 of the body.`
}

function describeWrongSecret(secrets: readonly Secret[]): string {
  const labels = secrets.map(({ label }) => label).join(', ')
  return (
    `No configured secret (${labels || 'none'}) gives this signature, and no known mistake explains it. Compare the secret with the ` +
    'one shown when the webhook was created, and check that this is the signed body.'
  )
}
