import { createHmac } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { Endpoint } from '../../src/emulator/accounts/accounts.ts'
import type { Delivery } from '../../src/emulator/deliveries/delivery.ts'
import {
  always,
  createDeliveryStage,
  outgoing,
  stageEndpoint,
  stageSecret as secret,
  type DeliveryStageOptions,
} from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver, type Answer } from './emulator-receiver.ts'

const signature = (body: Buffer, key: string) => createHmac('sha256', key).update(body).digest('hex')

async function setUp(answer: Answer, options: DeliveryStageOptions = {}, endpoint: Partial<Endpoint> = {}) {
  const receiver = await createTestReceiver(answer)
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  return { receiver, ...createDeliveryStage([stageEndpoint(receiver.url, endpoint)], options) }
}

/** A receiver that responds 200 only when the test calls `answer`. */
async function setUpWaiting(options: DeliveryStageOptions = {}) {
  const answers: (() => void)[] = []
  const stage = await setUp(() => new Promise((resolve) => answers.push(() => resolve({ status: 200 }))), options)
  return { ...stage, answer: (index = 0) => answers[index]?.() }
}

describe('one delivery', () => {
  test('R71 R72 R78 A47 is a POST of the exact bytes with their HMAC-SHA256 hex and no further headers', async () => {
    const { receiver, deliveries, send } = await setUp(answerStatus(200))
    const event = outgoing()
    send(event)
    await deliveries.idle()
    expect(receiver.requests).toEqual([
      {
        method: 'POST',
        path: '/webhooks',
        body: event.body,
        headers: {
          host: new URL(receiver.url).host,
          connection: 'keep-alive',
          'content-type': 'application/json',
          'content-length': String(event.body.length),
          'user-agent': expect.any(String),
          'x-service-signature': signature(event.body, secret),
        },
      },
    ])
  })

  test.each([200, 201, 202, 204, 299])('R43 answered %i is acknowledged and not retried', async (status) => {
    const { deliveries, reports, send } = await setUp(answerStatus(status))
    send(outgoing())
    await deliveries.settled()
    expect(reports).toMatchObject([{ outcome: 'acknowledged', status, failure: null, nextAttemptAt: null }])
    const none = { undelivered: 0, cancelled: 0, pending: 0, inFlight: 0, duplicates: 0 }
    expect(deliveries.counts()).toEqual({ ...none, acknowledged: 1, attempts: 1 })
  })

  test.each([300, 302, 400, 401, 404, 410, 429, 500, 503])('R44 R80 answered %i has failed', async (status) => {
    const answer = answerStatus(status, { Location: '/elsewhere', 'Retry-After': '1' })
    const { clock, receiver, deliveries, reports, send } = await setUp(answer)
    send(outgoing())
    await deliveries.idle()
    expect(reports).toMatchObject([{ outcome: 'failed', status, nextAttemptAt: clock.now() + 60_000 }])
    expect(receiver.requests).toHaveLength(1)
  })

  test('R80 R81 R115 an answer after 4,999 ms is in time; after 5,000 ms of silence the retry comes 60 s later', async () => {
    const clock = createTestClock()
    const { receiver, deliveries, reports, send, answer } = await setUpWaiting({ clock, wall: clock })
    send(outgoing(1))
    await receiver.received(1)
    await clock.advance(4999)
    expect(deliveries.counts().inFlight).toBe(1)
    answer()
    await deliveries.idle()
    const t0 = clock.now()
    send(outgoing(2))
    await receiver.received(2)
    await clock.advance(5000)
    await deliveries.idle()
    expect(reports).toMatchObject([
      { outcome: 'acknowledged', status: 200, latencyMs: 4999 },
      { outcome: 'failed', status: null, latencyMs: 5000, at: t0, nextAttemptAt: t0 + 65_000 },
    ])
    expect(reports[1]?.failure).toBe('no answer within 5000 ms')
  })
})

test('an attempt that throws ends its delivery; a callback that throws changes nothing', async () => {
  let calls = 0
  const alter = (body: Buffer) => (++calls === 1 ? expect.fail('in the fault') : body)
  const { deliveries, reports, send } = await setUp(answerStatus(200), { faults: always({ alter }) })
  reports.push = () => expect.fail('in the callback')
  for (const n of [1, 2]) send(outgoing(n))
  await deliveries.settled()
  expect(deliveries.list({ state: 'undelivered' }, 2)).toMatchObject([{ lastFailure: 'in the fault' }])
  expect(deliveries.list({ state: 'acknowledged' }, 2)).toMatchObject([{ lastFailure: null }])
})

describe('the retry ladder', () => {
  test.each([
    ['', false],
    [', across restarts', true],
  ])(
    'R81 R82 R83 R84 R85 R86 R116 retries after 1 min, 5 min, 30 min, 2 h and 8 h; then the event is undelivered%s',
    async (_title, isRestarted) => {
      const { clock, receiver, ...first } = await setUp(answerStatus(500))
      const t0 = clock.now()
      let { deliveries, store } = first
      const reports = [first.reports]
      first.send(outgoing())
      await deliveries.idle()
      for (const [index, delayMs] of [60_000, 300_000, 1_800_000, 7_200_000, 28_800_000].entries()) {
        await clock.advance(delayMs - 1)
        if (isRestarted) {
          deliveries.close()
          // As the next process reads them from the data file.
          const stored = deserialize(serialize(store.all())) as Delivery[]
          const next = createDeliveryStage([stageEndpoint(receiver.url)], { clock, stored })
          next.deliveries.start()
          ;({ deliveries, store } = next)
          reports.push(next.reports)
        }
        expect(deliveries.counts()).toMatchObject({ inFlight: 0, pending: 1, attempts: index + 1 })
        await clock.advance(1)
        await deliveries.idle()
      }
      expect(reports.flat().map(({ attempt, at, outcome }) => [attempt, (at - t0) / 1000, outcome])).toEqual([
        [1, 0, 'failed'],
        [2, 60, 'failed'],
        [3, 360, 'failed'],
        [4, 2160, 'failed'],
        [5, 9360, 'failed'],
        [6, 38_160, 'undelivered'],
      ])
      expect(reports.flat().at(-1)?.nextAttemptAt).toBeNull()
      const none = { acknowledged: 0, cancelled: 0, pending: 0, inFlight: 0, duplicates: 0 }
      expect(deliveries.counts()).toEqual({ ...none, undelivered: 1, attempts: 6 })
      expect(clock.nextTimerAt()).toBeNull()
      await clock.advance(7 * 86_400_000)
      expect(receiver.requests.map((request) => request.body)).toEqual(Array(6).fill(outgoing().body))
    },
  )

  test('R45 R89 a retry answered 2xx ends the ladder; all deliveries have the same bytes and signature', async () => {
    const { clock, receiver, deliveries, reports, send } = await setUp((index) => ({ status: index < 2 ? 503 : 200 }))
    send(outgoing())
    await deliveries.idle()
    await clock.advance(60_000)
    await deliveries.idle()
    await clock.advance(300_000)
    await deliveries.settled()
    expect(reports.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'acknowledged'])
    expect(clock.nextTimerAt()).toBeNull()
    await clock.advance(86_400_000)
    expect(receiver.requests).toHaveLength(3)
    for (const { body, headers } of receiver.requests) {
      expect(body).toEqual(outgoing().body)
      expect(headers['x-service-signature']).toBe(signature(body, secret))
    }
  })
})

describe('extra deliveries', () => {
  test('R88 R89 an acknowledged event is sent again with the same bytes; a failure of that changes nothing', async () => {
    const { clock, receiver, deliveries, reports, send } = await setUp(
      (index) => ({ status: index === 0 ? 200 : 500 }),
      { faults: always({ copiesAfterwards: 1 }) },
    )
    send(outgoing())
    await deliveries.settled()
    expect(receiver.requests.map(({ body }) => body)).toEqual([outgoing().body, outgoing().body])
    expect(reports).toMatchObject([
      { outcome: 'acknowledged', isExtra: false },
      { outcome: 'failed', isExtra: true },
    ])
    expect(deliveries.counts()).toMatchObject({ acknowledged: 1, undelivered: 0, attempts: 2, duplicates: 1 })
    expect(clock.nextTimerAt()).toBeNull()
  })

  test('R88 a dropped acknowledgement is retried; twins are sent at once', async () => {
    const { clock, receiver, deliveries, send } = await setUp(answerStatus(200), {
      faults: always({ dropsAck: true, copiesAtOnce: 2 }),
    })
    send(outgoing())
    await deliveries.idle()
    expect(receiver.requests).toHaveLength(3)
    const [{ deliveryId } = { deliveryId: '' }] = deliveries.list({}, 1)
    const failure = 'answered 200; the fault drop-ack discarded it'
    expect(deliveries.read(deliveryId)).toMatchObject({
      state: 'pending',
      nextAttemptAt: clock.now() + 60_000,
      log: [
        { status: 200, failure, faults: ['of the test'], isExtra: false },
        { isExtra: true, nextAttemptAt: null },
        { isExtra: true },
      ],
    })
  })
})

describe('several endpoints', () => {
  test('R63 A24 R78 each has its own secret and its own ladder, also at the same URL', async () => {
    await using good = await createTestReceiver(answerStatus(200))
    await using bad = await createTestReceiver(answerStatus(500))
    const { clock, deliveries, send } = createDeliveryStage([
      stageEndpoint(good.url, { id: 'wh_1', secret: 'secret-one' }),
      stageEndpoint(good.url, { id: 'wh_2', secret: 'secret-two' }),
      stageEndpoint(bad.url, { id: 'wh_3' }),
    ])
    const { body } = outgoing()
    send(outgoing())
    await deliveries.idle()
    await clock.advance(60_000)
    await deliveries.idle()
    expect(good.requests.map((request) => request.body)).toEqual([body, body])
    const signatures = good.requests.map(({ headers }) => String(headers['x-service-signature']))
    const expected = ['secret-one', 'secret-two'].map((key) => signature(body, key))
    expect(signatures.toSorted()).toEqual(expected.toSorted())
    expect(bad.requests).toHaveLength(2)
  })

  test('A44 at most 10 deliveries run at once per endpoint; a slow endpoint does not delay another', async () => {
    const held: (() => void)[] = []
    let atOnce = 0
    let peak = 0
    await using slow = await createTestReceiver(async () => {
      peak = Math.max(peak, ++atOnce)
      if (held.length < 10) await new Promise<void>((resolve) => held.push(resolve))
      atOnce--
      return { status: 200 }
    })
    await using quick = await createTestReceiver(answerStatus(200))
    const endpoints = [stageEndpoint(slow.url, { id: 'wh_slow' }), stageEndpoint(quick.url, { id: 'wh_quick' })]
    const { deliveries, send } = createDeliveryStage(endpoints)
    for (let n = 0; n < 35; n++) send(outgoing(n))
    await Promise.all([slow.received(10), quick.received(35)])
    expect(slow.requests).toHaveLength(10)
    expect(deliveries.list({ endpoint: 'wh_slow', state: 'pending' }, 100)).toHaveLength(35)
    for (const finish of held) finish()
    await deliveries.settled()
    expect([slow.requests.length, peak]).toEqual([35, 10])
  })

  test('A45 deleting an endpoint cancels its retries; settled deliveries still count', async () => {
    const { clock, receiver, deliveries, endpoints, send } = await setUp((index) => ({
      status: index === 0 ? 200 : 500,
    }))
    send(outgoing(1))
    await deliveries.settled()
    send(outgoing(2))
    await deliveries.idle()
    endpoints.clear()
    deliveries.endpointsChanged()
    expect(deliveries.counts()).toMatchObject({ acknowledged: 1, undelivered: 0, cancelled: 1, pending: 0 })
    await deliveries.settled()
    expect(clock.nextTimerAt()).toBeNull()
    await clock.advance(3_600_000)
    expect(receiver.requests).toHaveLength(2)
    expect(deliveries.list({ state: 'cancelled' }, 10)).toMatchObject([{ eventId: outgoing(2).id, attempts: 1 }])
  })

  test('A45 deleting an endpoint cancels a delivery in flight', async () => {
    const { receiver, deliveries, endpoints, send, answer } = await setUpWaiting()
    send(outgoing())
    await receiver.received(1)
    endpoints.clear()
    deliveries.endpointsChanged()
    expect(deliveries.counts()).toMatchObject({ cancelled: 1, pending: 0, inFlight: 1 })
    answer()
    await deliveries.settled()
    expect(deliveries.counts()).toMatchObject({ cancelled: 1, pending: 0, inFlight: 0 })
  })

  test('A32 A45 a changed endpoint gets its retry at the new URL, signed with the new secret', async () => {
    const old = await setUp(answerStatus(500))
    await using fresh = await createTestReceiver(answerStatus(200))
    old.send(outgoing())
    await old.deliveries.idle()
    old.endpoints.set('wh_1', stageEndpoint(fresh.url, { secret: 'secret-of-later' }))
    await old.clock.advance(60_000)
    await old.deliveries.settled()
    expect([old.receiver.requests.length, fresh.requests.length]).toEqual([1, 1])
    expect(fresh.requests[0]?.headers['x-service-signature']).toBe(signature(outgoing().body, 'secret-of-later'))
    expect(old.deliveries.list({}, 1)).toMatchObject([{ url: fresh.url, state: 'acknowledged' }])
  })
})
