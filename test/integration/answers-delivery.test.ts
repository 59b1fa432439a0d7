import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { sqliteUrl, startTestApp, testSecret, type TestApp } from '../support/app.ts'
import { jsonOf, RawConnection } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

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

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ settings: { INBOX_DATABASE_URL: sqliteUrl }, handlers: { 'recorder.ts': recorder } })
})
afterAll(() => app[Symbol.asyncDispose]())

const header = 'X-Service-Signature'
const body = eventBytes({ id: 'evt_forged' })
const good = sign(body, testSecret)

test.each([
  ['missing', {}],
  ['repeated', { [header]: [good, good] }],
  ['of other bytes', { [header]: sign(Buffer.from('other'), testSecret) }],
])(
  'R75 R109 A30 A31 P2 a signature that is %s gets 401; nothing is stored, and the connection stays open',
  async (_, headers) => {
    using connection = await RawConnection.open(app.port)
    const { lastSeq, quarantined } = await app.inbox.stats()
    for (const bytes of [body, Buffer.from('junk')]) {
      const answer = await connection.request({ body: bytes, headers: bytes === body ? headers : { [header]: good } })
      const message =
        'the signature header must be one HMAC-SHA256 hex digest of the exact body bytes, made with a configured secret'
      expect([answer.status, jsonOf(answer)]).toEqual([401, { error: { code: 'signature_invalid', message } }])
    }
    expect(await app.inbox.stats()).toMatchObject({ lastSeq, quarantined })
    expect((await connection.request(delivery(eventBytes({ id: 'evt_after' })))).status).toBe(200)
  },
)

const digestOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const createdAt = '"created_at":"2026-01-31T14:03:22Z"'
const event = (id: string, rest = '"data":{}') =>
  Buffer.from(`{"id":${id},"type":"wallet.large_trade",${createdAt},${rest}}`)
const bytes = (...parts: readonly (string | Uint8Array)[]) => Buffer.concat(parts.map((part) => Buffer.from(part)))
const deep = '['.repeat(10_000) + ']'.repeat(10_000)

test.each([
  ['empty', 'not_json', bytes('')],
  ['not JSON', 'not_json', bytes('{"id":"evt_1"')],
  ['without data', 'not_an_envelope', event('"evt_1"', '"more":1')],
  ['10,000 levels deep', 'too_deep', event('"evt_1"', `"data":{"a":${deep}}`)],
  ['of an own type of the inbox', 'own_type', bytes(`{"id":"a","type":"inbox.warning",${createdAt},"data":{}}`)],
  ['with an id of 256 characters', 'bad_id', event(`"${'a'.repeat(256)}"`)],
  ['with a lone surrogate in its id', 'bad_id', event('"evt_\\ud800"')],
  ['not UTF-8', 'not_utf8', bytes(event('"evt_1"').subarray(0, -1), ',"name":"', Buffer.from([0xff]), '"}')],
  ['begun by a byte-order mark', 'byte_order_mark', bytes('\ufeff', event('"evt_1"'))],
])('an authentic body that is %s gets 200, and its exact bytes are quarantined', async (_, reason, raw) => {
  const { lastSeq } = await app.inbox.stats()
  using connection = await RawConnection.open(app.port)
  for (let time = 0; time < 2; time++) {
    const answer = await connection.request(delivery(raw))
    expect([answer.status, jsonOf(answer)]).toEqual([200, { status: 'quarantined', id: digestOf(raw) }])
  }
  const kept = await app.inbox.quarantined(digestOf(raw))
  expect(kept).toMatchObject({ reason, count: 2, sizeBytes: raw.length, secretLabel: 'main' })
  expect(Buffer.compare(kept?.raw ?? Buffer.from('other'), raw)).toBe(0)
  expect((await app.inbox.stats()).lastSeq).toBe(lastSeq)
})

test.each([
  ['of an unknown type', event('"evt_type"').toString().replace('wallet.large_trade', 'nft.minted'), 'evt_type'],
  ['with unknown fields', event('"evt_fields"', '"data":{"new":{}},"version":2').toString(), 'evt_fields'],
  ['with an id outside ASCII', event('"evt \\ud83d\\ude00 ü/%"').toString(), 'evt 😀 ü/%'],
])('R125 R127 an event %s gets 200, and handlers of all types run', async (_, text, id) => {
  using connection = await RawConnection.open(app.port)
  expect(jsonOf(await connection.request(delivery(Buffer.from(text))))).toEqual({ status: 'accepted', id })
  await until(async () => (await app.inbox.event(id))?.status === 'done', 'the event is handled')
  expect((await readFile(join(app.dir, 'seen.txt'), 'utf8')).split('\n')).toContain(id)
  expect(Buffer.from((await app.inbox.event(id))?.raw ?? '').toString()).toBe(text)
})
