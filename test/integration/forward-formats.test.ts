import { createHash } from 'node:crypto'
import { CloudEvent, HTTP } from 'cloudevents'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import { AppServer, type AppRequest } from '../support/app-server.ts'
import { deliver, eventBytes } from '../support/signed.ts'

const key = Buffer.from('0123456789abcdef01234567').toString('base64')
const nextKey = Buffer.from('another-key-of-24-bytes!').toString('base64')
const textKey = 'a-key-that-is-plain-text-for-once'

const forwards = {
  prefixed: { signature: 'standard-webhooks', secret: `whsec_${key}` },
  text: { signature: 'standard-webhooks', secret: textKey },
  rotating: { signature: 'standard-webhooks', secret: [`whsec_${key}`, `whsec_${nextKey}`] },
  structured: { format: 'cloudevents', cloudEventsSource: '/inbox' },
  plain: { signature: 'none', headers: { Authorization: 'Bearer abc', 'User-Agent': 'ours' } },
} as const

// More digits than a JavaScript number keeps.
const exact = Buffer.from(
  '{"id": "evt_1", "type": "wallet.large_trade", "created_at": "2026-01-02T03:04:05.5Z", "data": {"network": "ethereum", ' +
    '"wallet_address": "0xAbCdEf0123456789aBcDeF0123456789ABCDEF01", "amount_usd": 0.1000, "raw": 18446744073709551615}}',
)
const odd = Buffer.from(
  '{"id":"evt.1 \\"→\\"\\n","type":"wallet.→","created_at":"2026-01-02T03:04:05Z","data":{"x":1}}',
)
const oddId = 'evt.1 "→"\n'

const longId = '→'.repeat(255)

const enqueuing = `import { defineHandler } from 'onchain-inbox'
  export default defineHandler({ type: '*', run(event, ctx) {
    for (const sink of ['prefixed', 'structured']) ctx.enqueue(sink, { seen: event.id })
  } })`

const opened = new AsyncDisposableStack()
let requests: readonly AppRequest[]

/** One app for all tests. Each sink posts to a path of its name. */
beforeAll(async () => {
  const server = opened.use(await AppServer.start())
  const sinks = Object.entries(forwards).map(([name, options]) => {
    return [name, { kind: 'forward', url: new URL(`/${name}`, server.url).href, types: '*', ...options }]
  })
  const settings = { INBOX_SINKS: JSON.stringify(Object.fromEntries(sinks)) }
  const app = opened.use(await startTestApp({ settings, handlers: { 'enqueuing.mjs': enqueuing } }))
  for (const raw of [exact, odd, eventBytes({ id: longId })]) await deliver(app, raw)
  requests = await server.received(3 * sinks.length + 6)
})
afterAll(() => opened.disposeAsync())

/** The request for a sink with this idempotency key. */
function got(sink: keyof typeof forwards, idempotencyKey: string): AppRequest {
  const matching = requests.filter(
    ({ path, headers }) => path === `/${sink}` && headers['idempotency-key'] === idempotencyKey,
  )
  expect(matching).toHaveLength(1)
  return matching[0]!
}

const ofExact = (sink: keyof typeof forwards) => got(sink, `${sink}:evt_1`)
const ofOdd = (sink: keyof typeof forwards) => got(sink, encodeURIComponent(`${sink}:${oddId}`))
const headersOf = ({ headers }: AppRequest) => headers as Record<string, string>

describe('a forward signed by Standard Webhooks', () => {
  test.each([
    ['prefixed', new Webhook(`whsec_${key}`)],
    ['text', new Webhook(textKey, { format: 'raw' })],
    ['rotating', new Webhook(key)],
    ['rotating', new Webhook(nextKey)],
  ] as const)('verifies by the standardwebhooks package: secret %s', (sink, webhook) => {
    for (const request of [ofExact(sink), ofOdd(sink)]) {
      expect(webhook.verify(request.body, headersOf(request))).toHaveProperty('created_at')
      const other = Buffer.concat([request.body, Buffer.from(' ')])
      expect(() => webhook.verify(other, headersOf(request))).toThrow('No matching signature')
      expect(request.headers).not.toHaveProperty('x-service-signature')
    }
    expect(ofExact(sink).body).toEqual(exact)
    expect(ofExact(sink).headers['webhook-id']).toBe(`${sink}:evt_1`)
  })

  test('has no dots in its id, because dots separate the signed parts', () => {
    expect(ofOdd('prefixed').headers['webhook-id']).toBe('prefixed%3Aevt%2E1%20%22%E2%86%92%22%0A')
  })

  test('signs enqueued items', () => {
    const request = got('prefixed', 'enqueuing:evt_1:0')
    expect(new Webhook(key).verify(request.body, headersOf(request))).toEqual({ seen: 'evt_1' })
  })
})

describe('a forward as CloudEvents', () => {
  test('is parsed by the cloudevents package', () => {
    const request = ofExact('structured')
    const event = HTTP.toEvent({ headers: request.headers, body: request.body.toString() })
    if (!(event instanceof CloudEvent)) throw new Error('not a CloudEvent')
    expect(event.validate()).toBe(true)
    expect(event).toMatchObject({
      specversion: '1.0',
      id: 'evt_1',
      type: 'wallet.large_trade',
      source: '/inbox',
      subject: 'ethereum:0xabcdef0123456789abcdef0123456789abcdef01',
      time: '2026-01-02T03:04:05.500Z',
      data: { network: 'ethereum', amount_usd: 0.1 },
    })
    // The body keeps every digit, and its signature is valid.
    expect(request.body.toString()).toContain('"amount_usd":0.1000,"raw":18446744073709551615}')
    expect(request.headers['x-service-signature']).toBe(sign(request.body, testSecret))
  })

  test('keeps any id and type', () => {
    const event: unknown = JSON.parse(ofOdd('structured').body.toString())
    expect(event).toMatchObject({ id: oddId, type: 'wallet.→', data: { x: 1 } })
  })

  test('gives enqueued items their own type', () => {
    const item: unknown = JSON.parse(got('structured', 'enqueuing:evt_1:1').body.toString())
    expect(item).toMatchObject({ id: 'enqueuing:evt_1:1', type: 'onchain-inbox.item', data: { seen: 'evt_1' } })
  })
})

test('a forward replaces long ids by their digest', () => {
  const digest = (text: string) => `sha256-${createHash('sha256').update(encodeURIComponent(text)).digest('hex')}`
  const request = got('prefixed', digest(`prefixed:${longId}`))
  expect(request.headers['x-inbox-event-id']).toBe(digest(longId))
  new Webhook(key).verify(request.body, headersOf(request))
})

test('a forward sends configured headers, and no signature with `none`', () => {
  const { headers, body } = ofExact('plain')
  expect(headers).toMatchObject({ authorization: 'Bearer abc', 'user-agent': 'ours' })
  expect(headers).not.toHaveProperty('x-service-signature')
  expect(body).toEqual(exact)
})
