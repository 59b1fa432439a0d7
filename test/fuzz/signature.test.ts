import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { explain } from '../../src/signature/explain.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { verify } from '../../src/signature/verify.ts'

const secretText = fc.stringMatching(/^[A-Za-z0-9+/=_-]{16,40}$/)
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.json().map((json) => Buffer.from(json)),
)
/** The valid signature, computed without the code under test. */
const reference = (raw: Uint8Array, key: string) => createHmac('sha256', Buffer.from(key)).update(raw).digest('hex')

const anyText = fc.string({ unit: 'binary' })
const anyHex = fc.stringMatching(/^[0-9a-fA-F]{60,68}$/)
const junk = fc.string()

/** Valid headers, nearly valid ones, and arbitrary text. */
const headerFor = (raw: Uint8Array, secret: string) => {
  const good = reference(raw, secret)
  return fc.oneof(
    anyText,
    anyHex,
    fc.constantFrom(
      good,
      good.toUpperCase(),
      `sha256=${good}`,
      `${good},${good}`,
      `${good}\n`,
      good.slice(0, -1),
      secret,
    ),
    fc.nat(63).map((at) => good.slice(0, at) + (good[at] === '0' ? '1' : '0') + good.slice(at + 1)),
    junk.map((text) => `${secret}=${text}`),
  )
}
const cases = fc
  .tuple(bytes, secretText)
  .chain(([raw, secret]) =>
    fc.record({ raw: fc.constant(raw), secret: fc.constant(secret), header: headerFor(raw, secret) }),
  )

test('P2 R73 R75 A30 verify accepts only the HMAC-SHA256 of the raw bytes as 64 hex digits, and never throws', () => {
  fc.assert(
    fc.property(cases, ({ raw, secret, header }) => {
      const verdict = verify(raw, header, parseSecrets([secret]))
      const isRight = /^[0-9a-f]+$/i.test(header) && header.toLowerCase() === reference(raw, secret)
      expect(verdict.ok).toBe(isRight)
    }),
    { numRuns: 1000 },
  )
})

test('P8 R75 explain never throws, agrees with verify, and contains neither the secret nor a valid signature', () => {
  fc.assert(
    fc.property(cases, ({ raw, secret, header }) => {
      const secrets = parseSecrets([secret])
      const explanation = explain(raw, header, secrets)
      expect(explanation.code === 'valid').toBe(verify(raw, header, secrets).ok)
      const shown = JSON.stringify(explanation).toLowerCase()
      expect(shown).not.toContain(secret.toLowerCase())
      expect(shown).not.toContain(reference(raw, secret))
      expect(explanation.message).toMatch(/\.$/)
    }),
    { numRuns: 500 },
  )
})
