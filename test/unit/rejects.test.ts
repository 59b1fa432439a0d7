import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createRejects, rejectLimits, type RejectedRequest } from '../../src/receiver/rejects.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { counts } from '../counts.ts'

const secret = 'a-secret-of-the-webhook'
const signatureHeader = 'x-service-signature'

function setUp({ secrets = [secret], trustedProxies = [] }: { secrets?: string[]; trustedProxies?: string[] } = {}) {
  const clock = createTestClock()
  const rejects = createRejects({
    clock,
    secrets: () => parseSecrets(secrets),
    paths: ['/webhooks', '/hooks/desk'],
    signatureHeader,
    storedHeaders: ['user-agent', 'x-other'],
    trustedProxies,
  })
  return { clock, rejects }
}

function requestOf(from: string, more: Partial<RejectedRequest> = {}): RejectedRequest {
  return { method: 'POST', url: '/webhooks', headers: {}, socket: { remoteAddress: from }, ...more }
}

test('groups rejects by reason, path of a source and address, latest first', async () => {
  const { clock, rejects } = setUp()
  rejects.add(requestOf('192.0.2.1', { url: '/' }), 'not_found')
  await clock.advance(1_000)
  rejects.add(requestOf('192.0.2.2', { method: 'GET', url: '/x?token=1' }), 'not_found')
  rejects.add(requestOf('192.0.2.1', { headers: {} }), 'signature_missing', Buffer.from('{}'))
  rejects.add(requestOf('192.0.2.1', { url: '/hooks/desk?a=1' }), 'signature_missing', Buffer.from('{}'))
  await clock.advance(1_000)
  rejects.add(requestOf('192.0.2.1', { url: '/other' }), 'not_found')
  // Temporary failures are not counted.
  for (const code of ['overloaded', 'shutting_down', 'store_full', 'internal'])
    rejects.add(requestOf('192.0.2.1'), code)
  const groups = rejects.list()
  expect(groups.map(({ reason, client, count, path }) => [reason, client, count, path])).toEqual([
    ['not_found', '192.0.2.1', 2, 'other (6 characters)'],
    ['signature_missing', '192.0.2.1', 1, '/hooks/desk'],
    ['signature_missing', '192.0.2.1', 1, '/webhooks'],
    ['not_found', '192.0.2.2', 1, 'other (2 characters)'],
  ])
  const [first] = groups
  expect(first).toMatchObject({ method: 'POST', sizeBytes: null, isExplainable: false })
  expect((first?.lastAt ?? 0) - (first?.firstAt ?? 0)).toBe(2_000)
  expect(rejects.count()).toBe(5)
})

test('keeps the newest 200 groups; their ids are stable', () => {
  const { rejects } = setUp()
  rejects.add(requestOf('first'), 'not_found')
  const id = rejects.list()[0]?.id
  for (let n = 0; n < 10_000; n++) {
    rejects.add(requestOf(`10.0.${n >> 8}.${n & 255}`), 'not_found')
    if (n % 100 === 0) rejects.add(requestOf('first'), 'not_found')
  }
  const groups = rejects.list()
  expect(groups).toHaveLength(rejectLimits.groups)
  expect(groups.find(({ client }) => client === 'first')).toMatchObject({ id, count: 101 })
  expect(rejects.count()).toBe(10_101)
})

test('keeps the newest body of a group, up to 64 KiB each and 4 MiB in all, and no larger buffer', () => {
  const { rejects } = setUp()
  const add = (n: number, body: Buffer) => rejects.add(requestOf(`10.0.0.${n}`), 'signature_mismatch', body)
  for (let n = 0; n < 150; n++) add(n, Buffer.alloc(rejectLimits.bodyBytes, 120))
  const explainable = () => rejects.list().filter(({ isExplainable }) => isExplainable)
  expect(explainable()).toHaveLength(rejectLimits.bytes / rejectLimits.bodyBytes)
  // The oldest bodies were dropped.
  expect(explainable().at(-1)?.client).toBe('10.0.0.86')
  add(86, Buffer.alloc(rejectLimits.bodyBytes + 1))
  expect(explainable()).toHaveLength(rejectLimits.bytes / rejectLimits.bodyBytes - 1)
  expect(rejects.list()[0]).toMatchObject({ sizeBytes: rejectLimits.bodyBytes + 1, isExplainable: false })

  const pool = Buffer.alloc(8 * 1024 * 1024, 97)
  const part = pool.subarray(100, 110)
  add(1, part)
  pool.fill(98)
  const { id = '' } = rejects.list()[0] ?? {}
  expect(rejects.explain(id)?.preview).toBe('aaaaaaaaaa')
})

test('explains the newest request of a group with the current secrets', () => {
  const secrets = ['old-secret-of-the-webhook']
  const { rejects } = setUp({ secrets })
  const body = Buffer.from('{"id":"evt_1"}')
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const headers = { [signatureHeader]: signature, 'user-agent': 'sender/1', authorization: 'Bearer x', 'x-name': 'a' }
  rejects.add(requestOf('192.0.2.1', { headers }), 'signature_mismatch', body)
  const { id = '', isExplainable } = rejects.list()[0] ?? {}
  expect(isExplainable).toBe(true)
  expect(rejects.explain(id)).toMatchObject({
    code: 'wrong_secret',
    matchedLabel: null,
    headers: { 'user-agent': 'sender/1' },
    preview: '{"id":"evt_1"}',
  })
  secrets.push(secret)
  expect(rejects.explain(id)).toMatchObject({ code: 'valid', matchedLabel: 'secret-2' })
  expect(rejects.explain('nothing')).toBeNull()
})

const hex = /^[0-9a-f]{64}$/
const encodings = ['utf8', 'hex', 'base64', 'base64url'] as const
const place = fc.constantFrom('path', 'header', 'name', 'body', 'client', 'method')
const form = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => `sha256=${text}`,
  (text) => (hex.test(text) ? Buffer.from(text, 'hex').toString('base64') : text),
)

test('shows no secret and no received signature, wherever the sender put them', () => {
  const hidden = fc.record({
    secret: fc.stringMatching(/^[!-+\--~]{16,60}$/),
    body: fc.string({ maxLength: 300, unit: 'binary' }),
    isRight: fc.boolean(),
    place,
    form,
    what: fc.constantFrom('secret', 'signature', 'both'),
    encoding: fc.constantFrom(...encodings),
  })
  const property = fc.property(hidden, (given) => {
    const digest = createHmac('sha256', given.isRight ? given.secret : 'something-else-here')
      .update(given.body)
      .digest('hex')
    const said = Buffer.from(given.secret).toString(given.encoding)
    const text = { secret: said, signature: digest, both: `${digest} ${said}` }[given.what]
    const at = (where: string, usual: string) => (given.place === where ? `${usual}${given.form(text)}` : usual)
    const { rejects } = setUp({ secrets: [`main:${given.secret}`], trustedProxies: ['10.0.0.1'] })
    const request = requestOf('10.0.0.1', {
      method: at('method', 'POST'),
      url: at('path', '/webhooks/'),
      headers: {
        [signatureHeader]: given.form(digest),
        [at('name', 'x-name')]: '1',
        'x-other': at('header', 'v'),
        'x-forwarded-for': at('client', '203.0.113.9 '),
      },
    })
    rejects.add(request, 'signature_mismatch', Buffer.from(at('body', given.body)))
    const groups = rejects.list()
    const answer = JSON.stringify([groups, rejects.explain(groups[0]?.id ?? '')]).toLowerCase()
    for (const encoding of encodings) {
      expect(answer).not.toContain(Buffer.from(given.secret).toString(encoding).replace(/=+$/, '').toLowerCase())
      if (encoding !== 'utf8') expect(answer).not.toContain(Buffer.from(digest, 'hex').toString(encoding).toLowerCase())
    }
  })
  fc.assert(property, { numRuns: counts.rejectSamples })
})

test('compares only the first signatures of a long header, and shows no other text of the request', () => {
  const { rejects } = setUp()
  const random = (from: number) => createHmac('sha256', 'x').update(String(from)).digest('base64')
  const signature = Array.from({ length: 340 }, (_, n) => random(n)).join(',')
  const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(60_000) }))
  const headers = { [signatureHeader]: signature, 'x-other': random(300) }
  for (let n = 0; n < rejectLimits.groups; n++)
    rejects.add(
      requestOf(`2001:db8::1:${n}`, { headers, url: `/${random(301)}${'a'.repeat(7_000)}` }),
      'signature_malformed',
      body,
    )
  const groups = rejects.list()
  const explanation = rejects.explain(groups[0]?.id ?? '')
  expect(groups[0]).toMatchObject({ client: '2001:db8::1:199', method: 'POST', path: 'other (7045 characters)' })
  expect(explanation).toMatchObject({
    code: 'repeated',
    message: 'The header holds 340 signatures. None of the first 4 is valid. Send exactly one.',
    preview: '[not shown]',
  })
  expect(JSON.stringify(explanation)).not.toContain(random(300))
})
