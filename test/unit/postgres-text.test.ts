import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromStored, parseStoredJson, toParameters, toStored, toStoredJson } from '../../src/inbox/postgres/text.ts'

/** Texts with many special characters. */
const texts = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\0', '\u0001', '\u0002', '\u0003', 'a', '\u{1F600}'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 12,
})

const bytesOf = (text: string) => Buffer.from(text, 'utf8')

test('converts any text back', () => {
  fc.assert(fc.property(texts, (text) => fromStored(toStored(text)) === text))
})

test('converts all texts of JSON and of parameters, and no other values', () => {
  const escapes = fc.oneof(
    texts,
    fc.string({ unit: fc.constantFrom('\\', 'u', '0', '1', '2', '\0', '\u0001', '"', '\ud800') }),
  )
  const check = (text: string) => {
    expect(JSON.parse(toStoredJson({ [text]: [text] }))).toEqual({ [toStored(text)]: [toStored(text)] })
    expect(parseStoredJson(toStoredJson([text, 1, null]))).toEqual([text.toWellFormed(), 1, null])
  }
  fc.assert(fc.property(escapes, check))
  const bytes = Buffer.from([0, 1])
  expect(toParameters(['\0', ['\u0001', 1], null, bytes])).toEqual(['\u0001\u0001', ['\u0001\u0002', 1], null, bytes])
})

test('stored text has no U+0000, and is unchanged without special characters', () => {
  fc.assert(fc.property(texts, (text) => !toStored(text).includes('\0')))
  expect(toStored('\u0002 plain \u{1F600}')).toBe('\u0002 plain \u{1F600}')
  expect(toStored('a\0b')).not.toBe(toStored('a\u0001b'))
})

test('keeps the order by bytes and never merges texts', () => {
  const order = (a: string, b: string) => Buffer.compare(bytesOf(a), bytesOf(b))
  const isKept = (a: string, b: string) => order(toStored(a), toStored(b)) === order(a, b)
  fc.assert(fc.property(texts, texts, isKept))
  fc.assert(fc.property(texts, texts, texts, (start, a, b) => isKept(start + a, start + b)))
  const special = ['', '\0', '\0\0', '\0\u0001', '\0\u0002', '\u0001', '\u0001\0', '\u0001\u0002', '\u0002', 'a']
  for (const a of special) for (const b of special) expect(isKept(a, b), JSON.stringify([a, b])).toBe(true)
})

test('a lone surrogate becomes U+FFFD', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('\uD800', '\uDC00', '\0', '\u0001', 'a') }), (text) => {
      expect(fromStored(toStored(text))).toBe(bytesOf(text).toString())
    }),
  )
})
