import { describe, expect, test } from 'vitest'
import { createHeaderReader } from '../../src/receiver/kept-headers.ts'

const read = createHeaderReader({
  storedHeaders: [
    'host',
    'user-agent',
    'content-type',
    'via',
    'a',
    '1',
    ...Array.from({ length: 30 }, (_, n) => `h${n}`),
  ],
  signatureHeader: 'x-service-signature',
})
const keptOf = (...rawHeaders: string[]) => JSON.parse(read(rawHeaders) ?? '{}') as unknown

describe('of the headers of a delivery', () => {
  test('those are kept that are listed, in lower case and in their order', () => {
    const given = [
      'Host',
      'a.example',
      'User-Agent',
      'sender/1',
      'Content-Type',
      'application/json',
      'Via',
      '1.1 proxy',
    ]
    expect(read(given)).toBe(
      '{"host":"a.example","user-agent":"sender/1","content-type":"application/json","via":"1.1 proxy"}',
    )
  })

  test.each([
    'X-Service-Signature',
    'Authorization',
    'Cookie',
    'X-Api-Key',
    'X-Proof',
    'X-Forwarded-Uri',
    'Referer',
    'traceparent',
    'X-Request-Id',
  ])('%s is not, which nobody listed', (name) => {
    expect(read([name, 'value'])).toBeNull()
  })

  test('the one that holds the signature is not, even if it is listed', () => {
    const reader = createHeaderReader({ storedHeaders: ['x-hmac', 'via'], signatureHeader: 'x-hmac' })
    expect(reader(['X-HMAC', 'abc', 'Via', 'b'])).toBe('{"via":"b"}')
  })

  test('values are shortened to 200 characters, and made safe to show', () => {
    expect(keptOf('a', 'x'.repeat(300))).toEqual({ a: `${'x'.repeat(199)}…` })
    expect(keptOf('a', 'x'.repeat(199))).toEqual({ a: 'x'.repeat(199) })
    expect(keptOf('a', 'b\u202ec\u0007')).toEqual({ a: 'b\\u202ec\\u0007' })
  })

  test('those that do not fit into 2,000 characters are left out', () => {
    const given = Array.from({ length: 30 }, (_, n) => [`h${n}`, 'x'.repeat(190)]).flat()
    const kept = read(given) ?? ''
    expect(kept.length).toBeLessThanOrEqual(2_000)
    expect(Object.keys(JSON.parse(kept) as object)).toEqual(Array.from({ length: 10 }, (_, n) => `h${n}`))
  })

  test('what comes several times is joined', () => {
    expect(keptOf('Via', 'a', 'Host', 'h', 'via', 'b')).toEqual({ via: 'a, b', host: 'h' })
  })

  test('other values of the same names are other headers, wherever one ends and the next begins', () => {
    expect(keptOf('a', 'b\n1\nc')).not.toEqual(keptOf('a', 'b', '1', 'c'))
    expect(keptOf('a', '1')).toEqual({ a: '1' })
    expect(keptOf('a', '2')).toEqual({ a: '2' })
  })

  test('thousands of sets are read right, one after the other', () => {
    for (let n = 0; n < 2_000; n += 1) expect(keptOf('h0', `v${n}`, 'via', 'x')).toEqual({ h0: `v${n}`, via: 'x' })
  })
})
