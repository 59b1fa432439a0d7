import { describe, expect, test } from 'vitest'
import { createHeaderReader } from '../../src/receiver/kept-headers.ts'

const read = createHeaderReader('x-service-signature')
const keptOf = (...rawHeaders: string[]) => JSON.parse(read(rawHeaders) ?? '{}') as unknown

describe('of the headers of a delivery', () => {
  test('those are kept that say how events come, in lower case and in their order', () => {
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
    'Proxy-Authorization',
    'Cookie',
    'Set-Cookie',
    'X-Secret',
    'X-Webhook-Token',
    'X-Hub-Signature-256',
    'X-Sig',
    'X-Shop-Hmac-Sha256',
    'Content-Digest',
    'X-Api-Key',
    'apikey',
    'X-Auth',
    'X-Session',
    'X-Password',
    'X-Forwarded-Uri',
    'X-Original-URL',
    'Referer',
  ])('%s is not, which may give access', (name) => {
    expect(read([name, 'value'])).toBeNull()
  })

  test('the one that is set to hold the signature is not, whatever its name is', () => {
    expect(createHeaderReader('x-hmac')(['X-HMAC', 'abc', 'Via', 'b'])).toBe('{"via":"b"}')
  })

  test.each([
    'Content-Length',
    'Date',
    'traceparent',
    'tracestate',
    'X-Request-Id',
    'X-Correlation-ID',
    'X-Forwarded-For',
    'Forwarded',
    'X-Real-IP',
    'CF-Connecting-IP',
    'CF-Ray',
    'X-Amzn-Trace-Id',
    'X-B3-SpanId',
    'X-Request-Start',
    'X-Webhook-Timestamp',
    'X-Delivery-Attempt',
    'X-Hub-Delivery',
    'Idempotency-Key',
  ])('%s is not, which differs from delivery to delivery', (name) => {
    expect(read([name, 'value'])).toBeNull()
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

  test('thousands of sets and names are read right, one after the other', () => {
    for (let n = 0; n < 2_000; n += 1)
      expect(keptOf(`h${n}`, `v${n}`, 'via', 'x')).toEqual({ [`h${n}`]: `v${n}`, via: 'x' })
  })
})
