import crypto, { createHmac, createSecretKey } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { parseSecrets, parseSecretsFile, type Secret } from '../../src/signature/keys.ts'
import { sign } from '../../src/signature/sign.ts'
import { verify } from '../../src/signature/verify.ts'

/** RFC 4231, test cases 2 and 6, HMAC-SHA-256 */
const rfc4231 = [
  ['4a656665', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
  [
    'aa'.repeat(131),
    'Test Using Larger Than Block-Size Key - Hash Key First',
    '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
  ],
] as const

describe('sign and verify', () => {
  test.each(rfc4231)(
    'R72 A30 create the digest of RFC 4231 with key %s, and accept it in lower and upper case',
    (key, data, digest) => {
      const secret: Secret = { label: 'main', key: createSecretKey(Buffer.from(key, 'hex')) }
      expect(sign(Buffer.from(data), secret)).toBe(digest)
      for (const sent of [digest, digest.toUpperCase()])
        expect(verify(Buffer.from(data), sent, [secret])).toEqual({ ok: true, label: 'main' })
    },
  )

  const [secret, other] = parseSecrets('new:0123456789abcdef,old:fedcba9876543210')
  const body = Buffer.from('{"id": "evt_1"}\n')
  const signature = sign(body, secret!)

  test('A30 use the UTF-8 bytes of a secret, even if it looks like base64 or hex', () => {
    for (const text of ['MDEyMzQ1Njc4OWFiY2RlZg==', '30313233343536373839616263646566', 'whsec_MDEyMzQ1Njc4OQ==']) {
      const expected = createHmac('sha256', Buffer.from(text, 'utf8')).update(body).digest('hex')
      expect(sign(body, text)).toBe(expected)
      expect(sign(body, parseSecrets(text)[0]!)).toBe(expected)
    }
  })

  test.each([
    ['R75 A31 missing', undefined, 'missing'],
    ['R75 A31 empty', '', 'missing'],
    ['A31 repeated', `${signature}, ${signature}`, 'malformed'],
    ['A30 prefixed', `sha256=${signature}`, 'malformed'],
    ['A30 base64', Buffer.from(signature, 'hex').toString('base64'), 'malformed'],
    ['A30 one digit short', signature.slice(1), 'malformed'],
    ['A30 one digit long', `${signature}0`, 'malformed'],
    ['A30 a last character that is not hex', `${signature.slice(0, 63)}g`, 'malformed'],
    ['A30 a line break after it', `${signature}\n`, 'malformed'],
    ['A30 letters that only fold to hex', `${signature.slice(0, 63)}\u212a`, 'malformed'],
    ['R73 R75 of the same JSON with other white space', sign(Buffer.from('{"id":"evt_1"}'), secret!), 'mismatch'],
    ['R75 with another secret', sign(body, 'another secret !'), 'mismatch'],
    ['R75 with an empty secret', sign(body, ''), 'mismatch'],
  ])('%s is rejected', (_title, header, reason) => {
    expect(verify(body, header, [secret!, other!])).toEqual({ ok: false, reason })
  })

  test('A32 accept old and new secrets while both are configured', () => {
    const signed = sign(body, other!)
    expect(verify(body, signed, [secret!, other!])).toEqual({ ok: true, label: 'old' })
    expect(verify(body, signed, [secret!])).toEqual({ ok: false, reason: 'mismatch' })
    expect(verify(body, signed, [])).toEqual({ ok: false, reason: 'mismatch' })
  })

  test('R74 try every secret even if the first matches', () => {
    const used: string[] = []
    const watched = [secret!, other!].map(({ label, key }) => ({
      label,
      get key() {
        used.push(label)
        return key
      },
    }))
    verify(body, signature, watched)
    expect(used).toEqual(['new', 'old'])
    verify(body, 'not a signature', watched)
    expect(used).toHaveLength(2)
  })

  test('R74 compare digests in constant time', () => {
    const compare = vi.spyOn(crypto, 'timingSafeEqual').mockReturnValue(false)
    syncBuiltinESMExports()
    try {
      expect(verify(body, signature, [secret!])).toEqual({ ok: false, reason: 'mismatch' })
      expect(compare).toHaveBeenCalledOnce()
    } finally {
      compare.mockRestore()
      syncBuiltinESMExports()
    }
    expect(verify(body, signature, [secret!])).toMatchObject({ ok: true })
  })
})

describe('parseSecrets', () => {
  const read = (text: string | readonly string[]) =>
    parseSecrets(text).map(({ label, key }) => [label, key.export().toString()])

  test('A32 reads secrets with and without labels, and trims white space', () => {
    expect(read(' new: 0123456789abcdef ,\nfedcba9876543210, Not-a-label:123456')).toEqual([
      ['new', '0123456789abcdef'],
      ['secret-2', 'fedcba9876543210'],
      ['secret-3', 'Not-a-label:123456'],
    ])
    expect(read(['a:0123456789,bcdef', ' 0123456789abcdef\t'])).toEqual([
      ['a', '0123456789,bcdef'],
      ['secret-2', '0123456789abcdef'],
    ])
  })

  test.each([
    ['', 'item 1 is empty'],
    ['a:', 'item 1 is empty'],
    ['0123456789abcdef,', 'item 2 is empty'],
    ['0123456789abcde', 'item 1 has a secret of 15 characters, expected at least 16'],
    ['a:0123456789abcdef,a:0123456789abcdeg', 'items 1 and 2 have the same label'],
    ['0123456789abcdef,secret-1:0123456789abcdeg', 'items 1 and 2 have the same label'],
    ['0123456789\u0000abcdef', 'item 1 holds a line break, a control character or bytes that are not UTF-8'],
    ['0123456789abcdef\ufffd', 'bytes that are not UTF-8'],
    [[], 'expected at least one'],
  ])('rejects %j', (text, message) => {
    expect(() => parseSecrets(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(() => parseSecrets(text)).toThrow(message)
  })

  test('reports all invalid items at once, without their text', () => {
    const texts = ['hunter2', 'swordfish', 'a\u0007correct horse']
    const message = messageOfThrown(() => parseSecrets(`x:${texts[0]},${texts[1]},${texts[2]}`))
    for (const item of ['item 1', 'item 2', 'item 3']) expect(message).toContain(item)
    for (const text of texts) expect(message).not.toContain(text)
  })

  test('P8 neither a log nor JSON nor inspect shows a secret', () => {
    const secrets = parseSecrets('main:0123456789abcdef')
    expect(JSON.stringify(secrets) + inspect(secrets, { depth: null, showHidden: true })).not.toContain('0123456789')
  })
})

describe('parseSecretsFile', () => {
  const read = (text: string) => parseSecretsFile(text).map(({ label, key }) => [label, key.export().toString()])

  test('A30 reads one secret, and trims white space and a byte-order mark', () => {
    expect(read(' main:0123456789, abcdef \n\n')).toEqual([['secret-1', 'main:0123456789, abcdef']])
    expect(read('\ufeff0123456789abcdef\r\n')).toEqual([['secret-1', '0123456789abcdef']])
    expect(read('{"main":"\\t0123456789abcdef "}')).toEqual([['main', '0123456789abcdef']])
  })

  test('A32 reads a JSON object of labels and secrets', () => {
    expect(read('{ "new": "0123456789 \\"abcdef", "old": "fedcba9876543210" }\n')).toEqual([
      ['new', '0123456789 "abcdef'],
      ['old', 'fedcba9876543210'],
    ])
  })

  test.each([
    ['', 'item 1 is empty'],
    ['{}', 'expected at least one'],
    [' '.repeat(20), 'item 1 is empty'],
    [`{"main":"${' '.repeat(20)}"}`, 'item 1 is empty'],
    ['0123456789     \n', 'has a secret of 10 characters'],
    ['0123456789abcdef\nfedcba9876543210', 'holds a line break'],
    ['{"a":"0123456789abcdef"', 'begins like JSON but is not'],
    ['["0123456789abcdef"]', 'expected a JSON object'],
    ['{"a":{"b":"0123456789abcdef"}}', 'expected a JSON object'],
    ['{"A B":"0123456789abcdef"}', 'invalid label'],
    ['{"a":"0123456789abcdef","a":"fedcba9876543210"}', 'the same label occurs twice'],
  ])('rejects %j without showing it', (text, message) => {
    expect(() => parseSecretsFile(text)).toThrow(message)
    expect(messageOfThrown(() => parseSecretsFile(text))).not.toMatch(/0123456789|fedcba|A B/)
  })
})

function messageOfThrown(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    return inspect(error, { depth: null })
  }
  throw new Error('nothing was thrown')
}
