import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHeaderReader } from '../../src/receiver/stored-headers.ts'

const many = Array.from({ length: 30 }, (_, n) => `h${n}`)
const read = createHeaderReader({
  storedHeaders: ['host', 'via', 'a', '1', 'x-hmac', ...many],
  signatureHeader: 'x-hmac',
})

test.each([
  [['Via', '1.1 proxy', 'Host', 'a.example'], '{"via":"1.1 proxy","host":"a.example"}'],
  [['Via', 'a', 'Host', 'h', 'via', 'b'], '{"via":"a, b","host":"h"}'],
  [['X-HMAC', 'abc', 'Via', 'b'], '{"via":"b"}'],
  [['Authorization', 'a', 'Cookie', 'b', 'X-Api-Key', 'c', 'X-Forwarded-Uri', 'd', 'Referer', 'e'], null],
  [['a', 'x'.repeat(300)], `{"a":"${'x'.repeat(199)}…"}`],
  [['a', 'b\n1\nc'], '{"a":"b\\\\u000a1\\\\u000ac"}'],
  [['a', 'b', '1', 'c'], '{"1":"c","a":"b"}'],
])('of %j stores %s', (rawHeaders, expected) => {
  const kept = read(rawHeaders)
  expect(kept && JSON.parse(kept)).toEqual(expected && JSON.parse(expected))
})

test('omits headers beyond 2,000 characters', () => {
  const kept = read(many.flatMap((name) => [name, 'x'.repeat(190)])) ?? ''
  expect(kept.length).toBeLessThanOrEqual(2_000)
  expect(Object.keys(JSON.parse(kept) as object)).toEqual(many.slice(0, 10))
})

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
  const readCached = createHeaderReader(names)
  fc.assert(
    fc.property(headers, (rawHeaders) => {
      const kept = readCached(rawHeaders)
      expect(readCached(rawHeaders)).toBe(kept)
      expect(createHeaderReader(names)(rawHeaders)).toBe(kept)
      if (kept === null) return
      expect(kept.length).toBeLessThanOrEqual(2_000)
      for (const [key, text] of Object.entries(JSON.parse(kept) as Record<string, string>)) {
        expect(text.length).toBeLessThanOrEqual(200)
        expect(unsafe.test(text)).toBe(false)
        expect(text.isWellFormed()).toBe(true)
        expect(names.storedHeaders).toContain(key)
      }
    }),
    // More than the cache holds.
    { numRuns: 500 },
  )
})
