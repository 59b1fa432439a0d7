import { createHash, createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { explain } from '../../src/signature/explain.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { sign } from '../../src/signature/sign.ts'

const text = 'MDEyMzQ1Njc4OWFiY2RlZg=='
const secrets = [...parseSecrets('other:fedcba9876543210'), ...parseSecrets(`main:${text}`)]
const source = '{"id":"evt_1","data":{"symbol":"é","amount":1}}'
const body = Buffer.from(source)
const good = sign(body, text)
const inBase64 = (encoding: 'base64' | 'base64url') => Buffer.from(good, 'hex').toString(encoding)
const mac = (hash: string, key: string | Buffer = text, data: string | Buffer = body) =>
  createHmac(hash, key).update(data).digest('hex')

test.each([
  ['valid', good],
  ['valid', good.toUpperCase()],
  ['repeated', `${good}, ${good}`],
  ['repeated', `${'0'.repeat(64)},${good}`],
  ['prefix', `sha256=${good}`],
  ['prefix', `v1=${good}`],
  ['prefix', `t=1712345678,v1=${good}`],
  ['prefix', `v1,${inBase64('base64')}`],
  ['base64', inBase64('base64')],
  ['base64', inBase64('base64url')],
  ['surrounded', ` ${good}\n`],
  ['surrounded', `"${good}"`],
  ['other_hash', mac('sha1')],
  ['not_hmac', createHash('sha256').update(body).digest('hex')],
  ['not_hmac', createHash('sha256').update(text).update(body).digest('hex')],
])('A30 A31 explain, header: %s: %s', (code, header) => {
  const explanation = explain(body, header, secrets)
  expect(explanation.code).toBe(code)
  // A plain hash of the body depends on no secret.
  if (code !== 'not_hmac') expect(explanation.matchedLabel).toBe('main')
  expect(explanation.message).not.toContain(good)
})

test.each([
  ['missing', undefined],
  ['missing', ''],
  ['malformed', 'hello'],
  ['malformed', good.slice(1)],
  ['malformed', `sha256=${'0'.repeat(64)}`],
  ['repeated', `${'0'.repeat(64)}, ${'1'.repeat(64)}`],
  ['wrong_secret', '0'.repeat(64)],
  ['wrong_secret', mac('sha256', 'a secret nobody knows')],
])('R75 explain, header: %s without a matching secret: %s', (code, header) => {
  const explanation = explain(body, header, secrets)
  expect(explanation).toEqual({ code, message: expect.stringMatching(/\. ?\S/) })
})

test('explain, header: an unknown prefix, which may be part of a secret, is not shown', () => {
  expect(explain(body, `hunter2=${good}`, secrets).message).not.toContain('hunter2')
})

const signed = (data: string | Buffer) => mac('sha256', text, data)

test.each([
  ['body_newline', 'removed', `${source}\n`, signed(source)],
  ['body_newline', 'added', source, signed(`${source}\n`)],
  ['body_newline', 'white space at both ends', ` \n${source}\t `, signed(source)],
  ['body_newline', 'LF became CRLF', '{\r\n"a": 1\r\n}', signed('{\n"a": 1\n}')],
  ['body_newline', 'CRLF became LF', '{\n"a": 1\n}', signed('{\r\n"a": 1\r\n}')],
  ['body_bom', 'added', `\ufeff${source}`, signed(source)],
  ['body_bom', 'lost', source, signed(`\ufeff${source}`)],
  ['body_json', 'indented by two', source, signed(JSON.stringify(JSON.parse(source), null, 2))],
  ['body_json', 'compacted', JSON.stringify(JSON.parse(source), null, 2), signed(source)],
  ['body_json', 'as Python writes it', source, signed('{"id": "evt_1", "data": {"symbol": "\\u00e9", "amount": 1}}')],
  ['body_json', 'with sorted keys', source, signed('{"data":{"amount":1,"symbol":"é"},"id":"evt_1"}')],
  ['body_json', 'in an array', '[ {"a":[1 ,null]} ]', signed('[{"a": [1, null]}]')],
  ['body_empty', 'lost', source, signed('')],
])('R73 explain, body: %s: %s', (code, _title, received, signature) => {
  expect(explain(Buffer.from(received), signature, secrets)).toMatchObject({ code, matchedLabel: 'main' })
})

test('R73 a changed body and another header format are explained together', () => {
  const { code, message } = explain(body, `sha256=${signed(`${source}\n`)}`, secrets)
  expect(code).toBe('prefix')
  expect(message).toContain('line break')
})

test.each([
  ['secret_whitespace', mac('sha256', `${text}\n`)],
  ['secret_whitespace', mac('sha256', ` ${text}`)],
  ['secret_encoding', mac('sha256', Buffer.from(text, 'base64'))],
  ['secret_label', mac('sha256', `main:${text}`)],
  ['secret_empty', mac('sha256', '')],
])('A30 explain, secret: %s', (code, signature) => {
  expect(explain(body, signature, secrets.slice(1))).toMatchObject({ code, matchedLabel: 'main' })
})

test.each([
  ['0123456789abcdef0123', Buffer.from('0123456789abcdef0123', 'hex')],
  ['whsec_MDEyMzQ1Njc4OQ==', Buffer.from('MDEyMzQ1Njc4OQ==', 'base64')],
])('A30 explain, secret: secret_encoding of %s', (typed, key) => {
  expect(explain(body, mac('sha256', key), parseSecrets(typed)).code).toBe('secret_encoding')
})

test("P6 explain doesn't indent a deeply nested body, which could become gigabytes", () => {
  const codes = [64, 65].map((depth) => {
    const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`
    const indented = JSON.stringify(JSON.parse(nested), null, 2)
    return explain(Buffer.from(nested), mac('sha256', text, indented), secrets).code
  })
  expect(codes).toEqual(['body_json', 'wrong_secret'])
})
