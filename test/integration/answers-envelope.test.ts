import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sqliteUrl, startTestApp, type TestApp } from '../support/app.ts'
import { jsonOf, RawConnection, rawRequest } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

const digestOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const createdAt = '"created_at":"2026-01-31T14:03:22Z"'
const event = (id: string, rest = '"data":{}') =>
  Buffer.from(`{"id":${id},"type":"wallet.large_trade",${createdAt},${rest}}`)
const bytes = (...parts: readonly (string | Uint8Array)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
const levels = 10_000
const deep = '['.repeat(levels) + ']'.repeat(levels)

const unusable: readonly (readonly [name: string, reason: string, body: Buffer])[] = [
  ['empty', 'not_json', bytes('')],
  ['not JSON', 'not_json', bytes('{"id":"evt_1"')],
  ['two JSON texts', 'not_json', bytes(event('"evt_1"'), '{}')],
  ['JSON null', 'not_an_envelope', bytes('null')],
  ['a JSON list', 'not_an_envelope', bytes('[', event('"evt_1"'), ']')],
  ['a JSON string', 'not_an_envelope', bytes('"evt_1"')],
  ['without data', 'not_an_envelope', event('"evt_1"', '"more":1')],
  ['with a list as data', 'not_an_envelope', event('"evt_1"', '"data":[]')],
  ['with null as data', 'not_an_envelope', event('"evt_1"', '"data":null')],
  ['without a type', 'not_an_envelope', bytes(`{"id":"evt_1",${createdAt},"data":{}}`)],
  ['with a number as type', 'not_an_envelope', bytes(`{"id":"evt_1","type":1,${createdAt},"data":{}}`)],
  ['with a time in no format', 'not_an_envelope', bytes('{"id":"evt_1","type":"a","created_at":"now","data":{}}')],
  [
    'with a time on a day that there is not',
    'not_an_envelope',
    bytes('{"id":"evt_1","type":"a","created_at":"2026-02-30T00:00:00Z","data":{}}'),
  ],
  ['10,000 levels deep', 'too_deep', event('"evt_1"', `"data":{"a":${deep}}`)],
  ['10,000 levels deep and no object', 'too_deep', bytes(deep)],
  [
    'of a type that is for warnings of the inbox itself',
    'own_type',
    bytes(`{"id":"a","type":"inbox.warning",${createdAt},"data":{}}`),
  ],
  ['without an id', 'bad_id', bytes(`{"type":"a",${createdAt},"data":{}}`)],
  ['with a number as id', 'bad_id', event('7')],
  ['with null as id', 'bad_id', event('null')],
  ['with an empty id', 'bad_id', event('""')],
  ['with an id of 256 characters', 'bad_id', event(`"${'a'.repeat(256)}"`)],
  ['with a lone surrogate in its id', 'bad_id', event('"evt_\\ud800"')],
  ['not UTF-8', 'not_utf8', bytes(event('"evt_1"').subarray(0, -1), ',"name":"', Buffer.from([0xff]), '"}')],
  ['begun by a byte-order mark', 'byte_order_mark', bytes('\ufeff', event('"evt_1"'))],
]

const recorder = `
import { appendFileSync } from 'node:fs'
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  run(event) {
    appendFileSync(new URL('../seen.txt', import.meta.url), event.id + '\\n')
  },
})
`

describe.each([['memory:'], [sqliteUrl]])('over %s', (database) => {
  let app: TestApp
  const seen = async () => (await readFile(join(app.dir, 'seen.txt'), 'utf8')).split('\n').filter(Boolean)
  const isDone = async (id: string) => (await app.inbox.event(id))?.status === 'done'
  beforeAll(async () => {
    app = await startTestApp({ settings: { INBOX_DATABASE_URL: database }, handlers: { 'recorder.ts': recorder } })
  })
  afterAll(() => app[Symbol.asyncDispose]())

  describe('an authentic body that is', () => {
    test.each(unusable)('%s gets 200, is kept in quarantine as it came, and is no event', async (_, reason, body) => {
      const { lastSeq } = await app.inbox.stats()
      using connection = await RawConnection.open(app.port)
      const answer = await connection.request(delivery(body))
      expect(answer.status).toBe(200)
      expect(jsonOf(answer)).toEqual({ status: 'quarantined', id: digestOf(body) })

      const again = await connection.request(delivery(body))
      expect(jsonOf(again)).toEqual({ status: 'quarantined', id: digestOf(body) })

      const { data } = await app.inbox.quarantine({ limit: 100 })
      expect(data.map(({ id }) => id)).toContain(digestOf(body))
      const kept = await app.inbox.quarantined(digestOf(body))
      expect(kept).toMatchObject({ reason, count: 2, sizeBytes: body.length, secretLabel: 'main' })
      expect(Buffer.compare(kept?.raw ?? Buffer.from('other'), body)).toBe(0)
      expect((await app.inbox.stats()).lastSeq).toBe(lastSeq)
    })

    test('unusable under an id leaves that id to a good body, which alone is dispatched', async () => {
      const bad = event('"evt_mended"', '"data":[]')
      const good = event('"evt_mended"')
      expect(jsonOf(await rawRequest(app.port, delivery(bad)))).toEqual({ status: 'quarantined', id: digestOf(bad) })
      expect(jsonOf(await rawRequest(app.port, delivery(good)))).toEqual({ status: 'accepted', id: 'evt_mended' })
      await until(() => isDone('evt_mended'), 'the good body is handled')
      expect((await seen()).filter((id) => id === 'evt_mended')).toEqual(['evt_mended'])
    })

    test('in quarantine under a digest can not be taken for an event with that id', async () => {
      const bad = bytes('not an event')
      const namesake = eventBytes({ id: digestOf(bad) })
      await rawRequest(app.port, delivery(bad))
      expect(jsonOf(await rawRequest(app.port, delivery(namesake)))).toEqual({ status: 'accepted', id: digestOf(bad) })
      const again = await rawRequest(app.port, delivery(bad))
      expect(jsonOf(again)).toEqual({ status: 'quarantined', id: digestOf(bad) })
    })
  })

  describe('an event', () => {
    test.each([
      ['of an unknown type', event('"evt_type"').toString().replace('wallet.large_trade', 'nft.minted'), 'evt_type'],
      ['with unknown fields', event('"evt_fields"', '"data":{"new":{}},"version":2').toString(), 'evt_fields'],
      ['with an id of 255 characters', event(`"${'b'.repeat(255)}"`).toString(), 'b'.repeat(255)],
      ['with an id of 255 characters beyond 16 bits', event(`"${'😀'.repeat(255)}"`).toString(), '😀'.repeat(255)],
      ['with an id outside ASCII', event('"evt \\ud83d\\ude00 ü/%"').toString(), 'evt 😀 ü/%'],
    ])('R125 R127 %s gets 200 and goes to the handlers for everything', async (_, text, id) => {
      const body = Buffer.from(text)
      expect(jsonOf(await rawRequest(app.port, delivery(body)))).toEqual({ status: 'accepted', id })
      await until(() => isDone(id), 'the event is handled')
      expect(await seen()).toContain(id)
      expect(Buffer.compare((await app.inbox.event(id))?.raw ?? Buffer.alloc(0), body)).toBe(0)
    })

    test('R90 that comes again gets 200 as a duplicate and is handled once', async () => {
      using connection = await RawConnection.open(app.port)
      const body = eventBytes({ id: 'evt_again' })
      const answers = []
      for (let times = 0; times < 3; times++) answers.push(await connection.request(delivery(body)))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
      expect(answers.map(jsonOf)).toEqual(
        ['accepted', 'duplicate', 'duplicate'].map((status) => ({ status, id: 'evt_again' })),
      )
      await until(() => isDone('evt_again'), 'the event is handled')
      expect((await seen()).filter((id) => id === 'evt_again')).toHaveLength(1)
      expect(await app.inbox.event('evt_again')).toMatchObject({ duplicates: 2, conflicts: 0 })
    })

    test('whose id comes again with another body gets 200, the first body is kept and the conflict can be seen', async () => {
      const [first, second] = [1, 2].map((amount) => eventBytes({ id: 'evt_two', data: { amount_usd: amount } }))
      const { conflicts } = await app.inbox.stats()
      expect(jsonOf(await rawRequest(app.port, delivery(first!)))).toEqual({ status: 'accepted', id: 'evt_two' })
      expect(jsonOf(await rawRequest(app.port, delivery(second!)))).toEqual({ status: 'duplicate', id: 'evt_two' })
      const stored = await app.inbox.event('evt_two')
      expect(stored).toMatchObject({ duplicates: 0, conflicts: 1 })
      expect(Buffer.from(stored!.raw)).toEqual(first)
      expect((await app.inbox.stats()).conflicts).toBe(conflicts + 1)
    })
  })

  test('nothing of the quarantine was given to a handler', async () => {
    const quarantined = (await app.inbox.quarantine({ limit: 100 })).data.length
    expect(quarantined).toBeGreaterThan(unusable.length)
    const { data } = await app.inbox.events({ limit: 100 })
    for (const { id } of data) await until(() => isDone(id), 'the events are handled')
    expect((await seen()).toSorted()).toEqual(data.map(({ id }) => id).toSorted())
  })
})

test('INBOX_UNUSABLE_STATUS=422 answers so to an unusable body, which is kept all the same', async () => {
  await using app = await startTestApp({ settings: { INBOX_UNUSABLE_STATUS: '422' } })
  using connection = await RawConnection.open(app.port)
  const body = bytes('no JSON')
  const answer = await connection.request(delivery(body))
  expect(answer.status).toBe(422)
  expect(jsonOf(answer)).toEqual({ status: 'quarantined', id: digestOf(body) })
  expect((await app.inbox.quarantine({ limit: 10 })).data.map(({ id }) => id)).toEqual([digestOf(body)])
  expect((await connection.request(delivery(eventBytes({ id: 'evt_1' })))).status).toBe(200)
})
