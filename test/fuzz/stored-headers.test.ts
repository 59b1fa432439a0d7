import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHeaderReader } from '../../src/receiver/stored-headers.ts'

const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u // eslint-disable-line no-control-regex

const name = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 120 }),
  fc.constantFrom('User-Agent', 'user-agent', '__proto__', 'constructor', 'Host', '0', 'X-Service-Signature', 'Cookie'),
)
const value = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom('\ud800', 'a\u202eb', '\u0000', '\n', '"}', 'x'.repeat(10_000), '\u{1f600}'.repeat(150)),
)
const headers = fc.array(fc.tuple(name, value), { maxLength: 40 }).map((pairs) => pairs.flat())
const names = {
  storedHeaders: ['user-agent', '__proto__', 'constructor', 'host', '0'],
  signatureHeader: 'x-service-signature',
}

test('any headers become a small JSON object of safe text, and the cache returns an equal one', () => {
  const read = createHeaderReader(names)
  fc.assert(
    fc.property(headers, (given) => {
      const kept = read(given)
      expect(read(given)).toBe(kept)
      expect(createHeaderReader(names)(given)).toBe(kept)
      if (kept === null) return
      expect(kept.length).toBeLessThanOrEqual(2_000)
      for (const [key, text] of Object.entries(JSON.parse(kept) as Record<string, string>)) {
        expect([key.length, text.length].every((length) => length <= 200)).toBe(true)
        expect(unsafe.test(key) || unsafe.test(text)).toBe(false)
        expect(key.isWellFormed() && text.isWellFormed()).toBe(true)
        expect(names.storedHeaders).toContain(key)
      }
    }),
  )
})
