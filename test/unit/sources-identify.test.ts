import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readAsEvent } from '../../src/receiver/readers.ts'
import { identify, type IdentifiedSource } from '../../src/sources/identify.ts'
import { providers } from '../../src/sources/providers/index.ts'

const receivedAt = Date.UTC(2026, 0, 31, 12)
const plain: IdentifiedSource = {
  id: 'body.id',
  type: 'body.type',
  createdAt: 'body.time',
  key: ['body.network', 'body.address'],
  volatile: [],
  tests: [],
}

function identified(
  source: Partial<IdentifiedSource>,
  body: string | object,
  headers: readonly string[] = [],
  covered: readonly string[] = [],
) {
  const raw = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return identify({ ...plain, ...source }, { headers, raw, receivedAt, covered })
}

function eventOf(...args: Parameters<typeof identified>) {
  const result = identified(...args)
  if (result.kind !== 'event') throw new Error(JSON.stringify(result))
  return result.event
}

const digest = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

test('reads id, type, time and key from the body', () => {
  const body = {
    id: 7,
    type: 'fill',
    time: '2026-01-30T10:00:00+01:00',
    network: 'base',
    address: `0x${'AB'.repeat(20)}`,
  }
  expect(eventOf({}, body)).toEqual({
    id: '7',
    type: 'fill',
    createdAt: '2026-01-30T09:00:00.000Z',
    key: `base 0x${'ab'.repeat(20)}`,
    stableDigest: null,
  })
})

test('without values: digest of the body, unknown, time of receipt, no order', () => {
  for (const body of [
    '{"a":1}',
    '[]',
    '"text"',
    '{"id":"","type":"","time":"soon"}',
    '{"id":{},"type":[],"network":"base"}',
  ]) {
    expect(eventOf({}, body)).toEqual({
      id: digest(body),
      type: 'unknown',
      createdAt: '2026-01-31T12:00:00.000Z',
      key: null,
      stableDigest: null,
    })
  }
})

test('an id of more than 255 characters or with a lone surrogate is replaced by the digest', () => {
  for (const id of ['x'.repeat(256), '\ud800']) {
    const body = JSON.stringify({ id })
    expect(eventOf({}, body).id).toBe(digest(body))
  }
  expect(eventOf({}, { id: '\u{1f600}'.repeat(255) }).id).toBe('\u{1f600}'.repeat(255))
})

test('large numbers keep all digits in ids and keys', () => {
  const event = eventOf({}, '{"id":18446744073709551615,"network":1e30,"address":0.10}')
  expect(event.id).toBe('18446744073709551615')
  expect(event.key).toBe('1e30 0.10')
})

test.each([
  ['1754229343', '2025-08-03T13:55:43.000Z'],
  ['1754229343763', '2025-08-03T13:55:43.763Z'],
  ['1754229343763123', '2025-08-03T13:55:43.763Z'],
  ['1754229343763123456', '2025-08-03T13:55:43.763Z'],
  ['"1754229343"', '2025-08-03T13:55:43.000Z'],
  ['"Sun, 03 Aug 2025 13:55:43 GMT"', '2025-08-03T13:55:43.000Z'],
  ['"2025-08-03T13:55:43"', '2025-08-03T13:55:43.000Z'],
  ['"2025-08-03 13:55:43.763123 +0000 UTC"', '2025-08-03T13:55:43.763Z'],
  ['"2025-08-03"', '2025-08-03T00:00:00.000Z'],
  ['"run 7 of 2025"', '2026-01-31T12:00:00.000Z'],
  ['12', '2026-01-31T12:00:00.000Z'],
  ['"9999999999999999999999"', '2026-01-31T12:00:00.000Z'],
])('the time %s becomes %s', (time, expected) => {
  expect(eventOf({}, `{"time":${time}}`).createdAt).toBe(expected)
})

test('an id from a header counts only if the signature covers it', () => {
  const source = { id: ['header.x-event-id', 'body.id'] }
  const headers = ['X-Event-Id', 'from the header']
  expect(eventOf(source, { id: 'b' }, headers, ['x-event-id']).id).toBe('from the header')
  expect(eventOf(source, { id: 'b' }, headers).id).toBe('b')
  expect(eventOf(source, { id: 'b' }, [...headers, 'x-event-id', 'again'], ['x-event-id']).id).toBe('b')
})

describe('items of an array', () => {
  const { id, type, createdAt, key, volatile, tests } = providers.helius
  const helius: IdentifiedSource = { id, type, createdAt, key, volatile, tests }
  const transfer = { signature: 's1', type: 'TRANSFER', timestamp: 1_674_080_473 }

  test('give the values in which they agree', () => {
    expect(eventOf(helius, [transfer])).toMatchObject({ id: 's1', type: 'TRANSFER' })
    const body = JSON.stringify([transfer, { ...transfer, signature: 's2' }])
    expect(eventOf(helius, body)).toMatchObject({
      id: digest(body),
      type: 'TRANSFER',
      createdAt: '2023-01-18T22:21:13.000Z',
    })
    expect(eventOf(helius, [transfer, { ...transfer, type: 'SWAP' }]).type).toBe('unknown')
    expect(eventOf(helius, [transfer, {}]).id).toMatch(/^sha256:/)
    expect(eventOf(helius, [])).toMatchObject({ type: 'unknown' })
    const rounded = '[{"signature":9007199254740992},{"signature":9007199254740993}]'
    expect(eventOf(helius, rounded).id).toBe(digest(rounded))
  })

  test('of raw transactions give the first signature', () => {
    expect(eventOf(helius, [{ blockTime: 1_674_080_473, transaction: { signatures: ['r1', 'r2'] } }])).toMatchObject({
      id: 'r1',
      createdAt: '2023-01-18T22:21:13.000Z',
    })
  })
})

describe('volatile paths', () => {
  const source = { id: null, volatile: ['retries', 'delivery.attempt'] }
  const bodyOf = (retries: number, attempt: number, amount = '18446744073709551615') =>
    `{"retries":${retries},"amount":${amount},"delivery":{"attempt":${attempt},"to":"a"},"logs":[{"retries":1}]}`

  test('of Stripe are the endpoints that have not acknowledged yet', () => {
    const { id, type, createdAt, key, volatile, tests } = providers.stripe
    const digestOf = (pending: number, amount = 1) =>
      eventOf({ id, type, createdAt, key, volatile, tests }, { id: 'evt_1', pending_webhooks: pending, amount })
        .stableDigest
    expect(digestOf(2)).toBe(digestOf(1))
    expect(digestOf(2, 2)).not.toBe(digestOf(1))
  })

  test('are no part of the digest', () => {
    const { id, stableDigest } = eventOf(source, bodyOf(0, 0))
    expect(eventOf(source, bodyOf(3, 9)).id).toBe(id)
    expect(stableDigest).toBe(id)
  })

  test('leave all other differences in it, also in the last digits', () => {
    const { id } = eventOf(source, bodyOf(0, 0))
    expect(eventOf(source, bodyOf(0, 0, '18446744073709551614')).id).not.toBe(id)
    expect(eventOf(source, bodyOf(0, 0).replace('{"retries":1}', '{"retries":2}')).id).not.toBe(id)
  })

  test('with an id of the sender only the digest ignores them', () => {
    const [first, second] = [0, 1].map((attempt) => eventOf({ volatile: ['try'] }, { id: 'a', try: attempt }))
    expect(first).toEqual(second)
    expect(eventOf({ volatile: ['try'] }, { id: 'a', try: 0, more: 1 }).stableDigest).not.toBe(first!.stableDigest)
  })
})

test.each([
  ['not_utf8', Buffer.from([0x22, 0xff, 0x22])],
  ['byte_order_mark', Buffer.from('\ufeff{}')],
  ['not_json', Buffer.from('{"id":1')],
  ['not_json', Buffer.from('')],
  ['too_deep', Buffer.from('['.repeat(65) + ']'.repeat(65))],
  ['own_type', Buffer.from('{"type":"inbox.warning"}')],
])('%s makes a body unusable', (reason, raw) => {
  expect(identify(plain, { headers: [], raw, receivedAt, covered: [] })).toEqual({ kind: 'unusable', reason })
})

test('a quarantined body is not read again as an event if its type was in a header', () => {
  const read = (text: string) =>
    readAsEvent({ raw: Buffer.from(text), receivedAt, secretLabel: 'hub/main' }, [{ name: 'hub', ...providers.github }])
  expect(read('{"action":"opened"}')).toBe('headers_missing')
  expect(read('{')).toBe('not_json')
  const loose = { raw: Buffer.from('7'), receivedAt, secretLabel: 'hub/main', reason: 'not_an_object' }
  expect(readAsEvent(loose, [{ name: 'hub', ...providers.quicknode }])).toBe('not_an_object')
})

test('a test delivery needs all its values', () => {
  const tests = [{ when: { 'body.stream': '', 'body.hook': true }, status: 204 }] as const
  expect(identified({ tests }, { stream: '', hook: 5 })).toEqual({ kind: 'test', status: 204 })
  for (const body of [{ stream: '' }, { hook: 5 }, { stream: 'a', hook: 5 }, { stream: null, hook: 5 }]) {
    expect(identified({ tests }, body)).toMatchObject({ kind: 'event' })
  }
})
