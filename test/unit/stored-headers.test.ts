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

test('reads thousands of different values correctly', () => {
  for (let n = 0; n < 2_000; n += 1) expect(read(['h0', `v${n}`, 'via', 'x'])).toBe(`{"h0":"v${n}","via":"x"}`)
})
