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
  ['JSON null', 'not_an_envelope', bytes('null')],
  ['without data', 'not_an_envelope', event('"evt_1"', '"more":1')],
  ['10,000 levels deep', 'too_deep', event('"evt_1"', `"data":{"a":${deep}}`)],
  ['10,000 levels deep and no object', 'too_deep', bytes(deep)],
  [
    'of a type that is for warnings of the inbox itself',
    'own_type',
    bytes(`{"id":"a","type":"inbox.warning",${createdAt},"data":{}}`),
  ],
  ['without an id', 'bad_id', bytes(`{"type":"a",${createdAt},"data":{}}`)],
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

describe('a receiver', () => {
  let app: TestApp
  const seen = async () => (await readFile(join(app.dir, 'seen.txt'), 'utf8')).split('\n').filter(Boolean)
  const isDone = async (id: string) => (await app.inbox.event(id))?.status === 'done'
  beforeAll(async () => {
    app = await startTestApp({ settings: { INBOX_DATABASE_URL: sqliteUrl }, handlers: { 'recorder.ts': recorder } })
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
  })

  describe('an event', () => {
    test.each([
      ['of an unknown type', event('"evt_type"').toString().replace('wallet.large_trade', 'nft.minted'), 'evt_type'],
      ['with unknown fields', event('"evt_fields"', '"data":{"new":{}},"version":2').toString(), 'evt_fields'],
      ['with an id outside ASCII', event('"evt \\ud83d\\ude00 ü/%"').toString(), 'evt 😀 ü/%'],
    ])('R125 R127 %s gets 200 and goes to the handlers for everything', async (_, text, id) => {
      const body = Buffer.from(text)
      expect(jsonOf(await rawRequest(app.port, delivery(body)))).toEqual({ status: 'accepted', id })
      await until(() => isDone(id), 'the event is handled')
      expect(await seen()).toContain(id)
      expect(Buffer.compare((await app.inbox.event(id))?.raw ?? Buffer.alloc(0), body)).toBe(0)
    })
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
