import { createHmac } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createTestClock } from '../../src/clock.ts'
import { createDeliveries, type Endpoint } from '../../src/emulator/deliveries.ts'
import { silentLogger } from '../../src/log.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

function setUp() {
  const clock = createTestClock()
  const deliveries = createDeliveries({ clock, wall: createTestClock(), log: silentLogger })
  onTestFinished(() => deliveries.close())
  return { clock, deliveries }
}

function endpoint(url: string, changes: Partial<Endpoint> = {}): Endpoint {
  return { id: 'wh_1', accountId: 'acct_a', url, secret: 'secret-of-the-test', events: ['*'], ...changes }
}

function outgoing(type: string, accountId: string | null = null) {
  return { id: `evt_${type}`, type, accountId, body: Buffer.from(`{"type": "${type}"}`) }
}

const signature = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest('hex')

test('R62, R78, R91 an event goes to each endpoint subscribed to its type, or to all types, and to no other', async () => {
  await using some = await createTestReceiver(answerStatus(200))
  await using all = await createTestReceiver(answerStatus(200))
  await using other = await createTestReceiver(answerStatus(200))
  const { deliveries } = setUp()
  deliveries.use([
    endpoint(some.url, { id: 'wh_1', events: ['token.price_alert', 'pump.graduation'] }),
    endpoint(all.url, { id: 'wh_2' }),
    endpoint(other.url, { id: 'wh_3', events: ['wallet.large_trade'] }),
  ])
  for (const type of ['token.price_alert', 'pump.graduation', 'token.of_the_future']) deliveries.send(outgoing(type))
  await deliveries.settled()
  const bodies = (receiver: typeof some) => receiver.requests.map(({ body }) => body.toString()).toSorted()
  expect(bodies(some)).toEqual(['{"type": "pump.graduation"}', '{"type": "token.price_alert"}'])
  expect(bodies(all)).toHaveLength(3)
  expect(bodies(other)).toEqual([])
})

test('R63 each endpoint is signed for with its own secret', async () => {
  await using one = await createTestReceiver(answerStatus(200))
  await using two = await createTestReceiver(answerStatus(200))
  const { deliveries } = setUp()
  deliveries.use([
    endpoint(one.url, { id: 'wh_1', secret: 'secret-one' }),
    endpoint(two.url, { id: 'wh_2', secret: 'secret-two' }),
  ])
  const event = outgoing('token.price_alert')
  deliveries.send(event)
  await deliveries.settled()
  expect(one.requests[0]?.headers['x-service-signature']).toBe(signature(event.body, 'secret-one'))
  expect(two.requests[0]?.headers['x-service-signature']).toBe(signature(event.body, 'secret-two'))
})

test('A24 the same URL twice gets two deliveries with the same bytes', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { deliveries } = setUp()
  deliveries.use([endpoint(receiver.url, { id: 'wh_1' }), endpoint(receiver.url, { id: 'wh_2' })])
  deliveries.send(outgoing('token.price_alert'))
  await deliveries.settled()
  expect(receiver.requests.map(({ body }) => body.toString())).toEqual(Array(2).fill('{"type": "token.price_alert"}'))
})

test('an event of one account goes to the endpoints of that account alone', async () => {
  await using own = await createTestReceiver(answerStatus(200))
  await using foreign = await createTestReceiver(answerStatus(200))
  const { deliveries } = setUp()
  deliveries.use([endpoint(own.url), endpoint(foreign.url, { id: 'wh_2', accountId: 'acct_b' })])
  deliveries.send(outgoing('token.price_alert', 'acct_a'))
  await deliveries.settled()
  expect([own.requests.length, foreign.requests.length]).toEqual([1, 0])
})

test('A45 of an endpoint that is gone the retries are cancelled, and what was settled still counts', async () => {
  await using receiver = await createTestReceiver((response, _request, index) => {
    response.writeHead(index === 0 ? 200 : 500).end()
  })
  const { clock, deliveries } = setUp()
  deliveries.use([endpoint(receiver.url)])
  deliveries.send(outgoing('token.price_alert'))
  await deliveries.settled()
  deliveries.send(outgoing('pump.graduation'))
  await deliveries.idle()
  expect(deliveries.counts()).toMatchObject({ acknowledged: 1, waiting: 1 })
  deliveries.use([])
  expect(deliveries.counts()).toEqual({ acknowledged: 1, undelivered: 0, waiting: 0, inFlight: 0 })
  await deliveries.settled()
  expect(clock.nextTimerAt()).toBeNull()
  await clock.advance(3_600_000)
  expect(receiver.requests).toHaveLength(2)
})

test('A32, A45 an endpoint that has changed gets its retry at the new URL, signed with the new secret', async () => {
  await using old = await createTestReceiver(answerStatus(500))
  await using fresh = await createTestReceiver(answerStatus(200))
  const { clock, deliveries } = setUp()
  deliveries.use([endpoint(old.url)])
  const event = outgoing('token.price_alert')
  deliveries.send(event)
  await deliveries.idle()
  deliveries.use([endpoint(fresh.url, { secret: 'secret-of-later' })])
  await clock.advance(60_000)
  await deliveries.settled()
  expect([old.requests.length, fresh.requests.length]).toEqual([1, 1])
  expect(fresh.requests[0]?.headers['x-service-signature']).toBe(signature(event.body, 'secret-of-later'))
})

test('a URL that is none for HTTP is refused, and the endpoints stay as they were', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { deliveries } = setUp()
  deliveries.use([endpoint(receiver.url)])
  expect(() => deliveries.use([endpoint('ftp://example.com/', { id: 'wh_9' })])).toThrow(
    'webhook URL: expected http:// or https://',
  )
  deliveries.send(outgoing('token.price_alert'))
  await deliveries.settled()
  expect(receiver.requests).toHaveLength(1)
})
