import { createHmac, timingSafeEqual } from 'node:crypto'
import { readHeader } from './header-forms.ts'
import type { Secret } from './keys.ts'
import { bodyVariants, digestVariants, secretVariants, type Deviation, type NearMissCode } from './near-misses.ts'
import { verify } from './verify.ts'

/** What is wrong with a signature. Neither field ever holds a secret, the header or a valid signature. */
export interface Explanation {
  readonly code: 'valid' | 'missing' | 'repeated' | 'malformed' | 'wrong_secret' | NearMissCode
  /** Label of the secret with which the near miss, or the signature itself, was made. */
  readonly matchedLabel?: string
  /** What happened and what to do. */
  readonly message: string
}

/** A header may hold hundreds of digests, and each costs dozens of others: only so many are looked into. */
const mostTried = 4

interface Match {
  readonly label?: string
  readonly deviation?: Deviation
}

/**
 * Says which near miss a refused signature is (R73, A30–A32): a form that is not 64 hex digits, a body that was changed
 * after signing, another reading of the secret, another hash. For people who set up a sender, not for the request path:
 * it computes dozens of digests. Never throws.
 */
export function explain(raw: Uint8Array, header: string | undefined, secrets: readonly Secret[]): Explanation {
  const verdict = verify(raw, header, secrets)
  if (verdict.ok) {
    return {
      code: 'valid',
      matchedLabel: verdict.label,
      message: 'The signature is right: HMAC-SHA256 of these bytes with this secret.',
    }
  }
  if (header === undefined || header === '') {
    return {
      code: 'missing',
      message: 'There is no signature. Send the HMAC-SHA256 of the body as 64 hex digits in the signature header.',
    }
  }

  const readings = readHeader(header)
  const [reading] = readings
  if (!reading) return { code: 'malformed', message: describeUnreadable(header) }

  const tried = readings.slice(0, mostTried)
  const matches = tried.map(({ digest, deviations }) => ({ deviations, match: findMatch(raw, digest, secrets) }))
  const found = matches.find(({ match }) => match)
  const label = found?.match?.label === undefined ? {} : { matchedLabel: found.match.label }
  if (readings.length > 1) {
    const which = readings.length > mostTried ? `the first ${mostTried} of them` : 'them'
    const one = found ? `One of ${which} is, or nearly is, right. ` : `None of ${which} is right. `
    return {
      code: 'repeated',
      ...label,
      message: `The header holds ${readings.length} signatures. ${one}Send exactly one.`,
    }
  }

  if (!found) {
    if (reading.deviations.length > 0) {
      const messages = reading.deviations.map((deviation) => deviation.message).join(' ')
      return {
        code: 'malformed',
        message: `${messages} Read that way, it is still not right. ${describeWrongSecret(secrets)}`,
      }
    }
    if (reading.digest.length === 32) return { code: 'wrong_secret', message: describeWrongSecret(secrets) }
    return { code: 'malformed', message: describeUnreadable(header) }
  }
  const deviations = [...found.deviations, ...(found.match?.deviation ? [found.match.deviation] : [])]
  const [first] = deviations
  return {
    code: first?.code ?? 'malformed',
    ...label,
    message: deviations.map((deviation) => deviation.message).join(' '),
  }
}

/** The signature itself or one deviation from it; combinations of several are not searched. */
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
  const what = /^[0-9a-f]+$/i.test(header) ? 'hex digits' : 'characters that are not a digest in any known form'
  return `The header has ${header.length} ${what}. Send exactly 64 hex digits: the HMAC-SHA256 of the body.`
}

function describeWrongSecret(secrets: readonly Secret[]): string {
  const labels = secrets.map(({ label }) => label).join(', ')
  return (
    `No configured secret (${labels || 'there is none'}) gives this signature, and no known mistake explains it. ` +
    'Compare the secret with the one shown when the webhook was created, and check that the body is the one that was signed.'
  )
}
