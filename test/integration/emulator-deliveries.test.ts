import { createHmac } from 'node:crypto'
import { createServer, type AddressInfo } from 'node:net'
import {
  always,
  createDeliveryStage,
  outgoing,
  stageEndpoint,
  stageSecret as secret,
} from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver, type Answer } from './emulator-receiver.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createTestClock, type Clock, type TestClock } from '../../src/base/clock.ts'

const silence: Answer = () => {}

interface SetUpOptions {
  readonly repeats?: number
  readonly clock?: TestClock
  readonly wall?: Clock
}

async function setUp(answer: Answer, options: SetUpOptions = {}) {
  const receiver = await createTestReceiver(answer)
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  return { receiver, ...setUpFor([receiver.url], options) }
}

function setUpFor(urls: string[], { repeats = 0, ...clocks }: SetUpOptions = {}) {
  const endpoints = urls.map((url, index) => stageEndpoint(url, { id: `wh_${index}` }))
  return createDeliveryStage(endpoints, { ...clocks, ...(repeats > 0 && { faults: always({ repeats }) }) })
}

describe('one delivery', () => {
  test('R71, R72, R78, A47 is a POST of the exact bytes with their HMAC-SHA256 hex and no further headers', async () => {
    const { receiver, deliveries, send } = await setUp(answerStatus(200))
    const event = outgoing()
    send(event)
    await deliveries.idle()
    const [request] = receiver.requests
    expect(request?.method).toBe('POST')
    expect(request?.path).toBe('/webhooks')
    expect(request?.body).toEqual(event.body)
    expect(request?.headers).toEqual({
      host: new URL(receiver.url).host,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': String(event.body.length),
      'user-agent': expect.any(String),
      'x-service-signature': createHmac('sha256', secret).update(event.body).digest('hex'),
    })
  })

  test.each([200, 201, 202, 204, 299])('R43 answered %i is acknowledged and not retried', async (status) => {
    const { deliveries, reports, send } = await setUp(answerStatus(status))
    send(outgoing())
    await deliveries.settled()
    expect(reports).toMatchObject([{ outcome: 'acknowledged', status, failure: null, nextAttemptAt: null }])
    expect(deliveries.counts()).toEqual({
      acknowledged: 1,
      undelivered: 0,
      cancelled: 0,
      pending: 0,
      inFlight: 0,
      attempts: 1,
    })
  })

  test.each([300, 302, 400, 401, 404, 410, 429, 500, 503])('R44, R80 answered %i is a failure', async (status) => {
    const clock = createTestClock()
    const { receiver, deliveries, reports, send } = await setUp(
      answerStatus(status, { Location: '/elsewhere', 'Retry-After': '1' }),
      { clock },
    )
    send(outgoing())
    await deliveries.idle()
    expect(reports).toMatchObject([{ outcome: 'failed', status, nextAttemptAt: clock.now() + 60_000 }])
    expect(receiver.requests).toHaveLength(1)
  })

  test('R80 a refused or broken connection is a failure', async () => {
    const server = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const { deliveries, reports, send } = setUpFor([url])
    send(outgoing(1))
    await deliveries.idle()
    await new Promise((resolve) => server.close(resolve))
    send(outgoing(2))
    await deliveries.idle()
    expect(reports).toMatchObject([
      { outcome: 'failed', status: null, failure: expect.stringContaining('socket hang up') },
      { outcome: 'failed', status: null, failure: expect.stringContaining('ECONNREFUSED') },
    ])
  })

  test('R80 R115 an answer after 4,999 ms of silence is in time, 5,000 ms of silence are a failure', async () => {
    const wall = createTestClock()
    const answers: (() => void)[] = []
    const { receiver, deliveries, reports, send } = await setUp(
      (response) => answers.push(() => response.writeHead(200).end()),
      { wall },
    )
    send(outgoing(1))
    await receiver.received(1)
    await wall.advance(4999)
    expect(deliveries.counts().inFlight).toBe(1)
    answers[0]?.()
    await deliveries.idle()
    send(outgoing(2))
    await receiver.received(2)
    await wall.advance(5000)
    await deliveries.idle()
    expect(reports).toMatchObject([
      { outcome: 'acknowledged', status: 200, latencyMs: 4999 },
      { outcome: 'failed', status: null, latencyMs: 5000, failure: 'no answer within 5000 ms' },
    ])
  })

  test('A43 an answer seen too late is a failure even if the timer did not fire', async () => {
    const wall = createTestClock()
    const lateWall = { ...wall, now: () => wall.now(), after: () => ({ cancel() {} }) }
    const answers: (() => void)[] = []
    const { receiver, deliveries, reports, send } = await setUp(
      (response) => answers.push(() => response.writeHead(200).end()),
      { wall: lateWall },
    )
    send(outgoing())
    await receiver.received(1)
    await wall.advance(5001)
    answers[0]?.()
    await deliveries.idle()
    expect(reports).toMatchObject([{ outcome: 'failed', status: 200, latencyMs: 5001 }])
  })

  test('A43 the 5 s pass on the wall clock, however far the world clock moves', async () => {
    const clock = createTestClock()
    const answers: (() => void)[] = []
    const { receiver, deliveries, reports, send } = await setUp(
      (response) => answers.push(() => response.writeHead(200).end()),
      { clock },
    )
    send(outgoing())
    await receiver.received(1)
    await clock.advance(3_600_000)
    answers[0]?.()
    await deliveries.idle()
    expect(reports).toMatchObject([{ outcome: 'acknowledged', latencyMs: 0 }])
  })

  test('ends neither idle() nor settled() waiting once closed', async () => {
    const { receiver, deliveries, send } = await setUp(silence)
    send(outgoing())
    await receiver.received(1)
    const waiting = Promise.all([deliveries.idle(), deliveries.settled()])
    deliveries.close()
    deliveries.close()
    await waiting
  })
})

describe('the retry ladder', () => {
  test('R81 after a 5 s timeout at t0 the first retry comes at t0 + 65 s, not a millisecond before', async () => {
    const clock = createTestClock()
    const t0 = clock.now()
    const { receiver, deliveries, reports, send } = await setUp(silence, { clock, wall: clock })
    send(outgoing())
    await receiver.received(1)
    await clock.advance(5000)
    await deliveries.idle()
    await clock.advance(59_999)
    expect(deliveries.counts()).toMatchObject({ inFlight: 0, pending: 1 })
    await clock.advance(1)
    expect(deliveries.counts()).toMatchObject({ inFlight: 1, pending: 1 })
    await receiver.received(2)
    expect(clock.now() - t0).toBe(65_000)
    expect(reports).toMatchObject([{ at: t0, nextAttemptAt: t0 + 65_000 }])
  })

  test('R81 R82 R83 R84 R85 R86 R116 retries come after 1 min, 5 min, 30 min, 2 h, 8 h; after six attempts the event is undelivered', async () => {
    const clock = createTestClock()
    const t0 = clock.now()
    const { receiver, deliveries, reports, send } = await setUp(answerStatus(500), { clock })
    send(outgoing())
    await deliveries.idle()
    let attempts = 1
    for (const delayMs of [60_000, 300_000, 1_800_000, 7_200_000, 28_800_000]) {
      await clock.advance(delayMs - 1)
      expect(deliveries.counts()).toMatchObject({ inFlight: 0, pending: 1 })
      expect(reports).toHaveLength(attempts++)
      await clock.advance(1)
      await deliveries.idle()
      expect(reports).toHaveLength(attempts)
    }
    expect(reports.map(({ attempt, at, outcome }) => [attempt, (at - t0) / 1000, outcome])).toEqual([
      [1, 0, 'failed'],
      [2, 60, 'failed'],
      [3, 360, 'failed'],
      [4, 2160, 'failed'],
      [5, 9360, 'failed'],
      [6, 38_160, 'undelivered'],
    ])
    expect(reports.at(-1)?.nextAttemptAt).toBeNull()
    expect(deliveries.counts()).toEqual({
      acknowledged: 0,
      undelivered: 1,
      cancelled: 0,
      pending: 0,
      inFlight: 0,
      attempts: 6,
    })
    expect(clock.nextTimerAt()).toBeNull()
    await clock.advance(7 * 86_400_000)
    expect(receiver.requests).toHaveLength(6)
  })

  test('R45, R89 a retry answered 2xx stops the ladder; every delivery carries the same id, bytes and signature', async () => {
    const clock = createTestClock()
    const { receiver, deliveries, reports, send } = await setUp(
      (response, _request, index) => response.writeHead(index < 2 ? 503 : 200).end(),
      { clock },
    )
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
    const signature = receiver.requests[0]?.headers['x-service-signature']
    for (const { body, headers } of receiver.requests) {
      expect(body).toEqual(outgoing().body)
      expect(headers['x-service-signature']).toBe(signature)
    }
  })

  test('R78 an endpoint that fails is retried alone', async () => {
    const clock = createTestClock()
    await using good = await createTestReceiver(answerStatus(200))
    await using bad = await createTestReceiver(answerStatus(500))
    const { deliveries, send } = setUpFor([good.url, bad.url], { clock })
    send(outgoing())
    await deliveries.idle()
    await clock.advance(60_000)
    await deliveries.idle()
    expect([good.requests.length, bad.requests.length]).toEqual([1, 2])
  })
})

describe('more than one delivery', () => {
  test('R88, R89 with duplicates each acknowledged event comes twice, with the same id and bytes', async () => {
    const { receiver, deliveries, reports, send } = await setUp(answerStatus(200), { repeats: 1 })
    send(outgoing())
    await deliveries.settled()
    expect(receiver.requests.map(({ body }) => body)).toEqual([outgoing().body, outgoing().body])
    expect(reports.map(({ eventId, isExtra }) => [eventId, isExtra])).toEqual([
      [outgoing().id, false],
      [outgoing().id, true],
    ])
    expect(deliveries.counts().acknowledged).toBe(1)
  })

  test('R88 an extra delivery that fails is not retried and leaves the event acknowledged', async () => {
    const clock = createTestClock()
    const { deliveries, reports, send } = await setUp(
      (response, _request, index) => response.writeHead(index === 0 ? 200 : 500).end(),
      { clock, repeats: 1 },
    )
    send(outgoing())
    await deliveries.settled()
    expect(reports.map(({ outcome }) => outcome)).toEqual(['acknowledged', 'failed'])
    expect(deliveries.counts()).toMatchObject({ acknowledged: 1, undelivered: 0 })
    expect(clock.nextTimerAt()).toBeNull()
  })

  test('A44 no more than 10 at once go to one endpoint, and one slow endpoint does not hold up another', async () => {
    const held: (() => void)[] = []
    let atOnce = 0
    let most = 0
    await using slow = await createTestReceiver((response) => {
      most = Math.max(most, ++atOnce)
      const finish = () => {
        atOnce--
        response.writeHead(200).end()
      }
      if (held.length < 10) held.push(finish)
      else finish()
    })
    await using quick = await createTestReceiver(answerStatus(200))
    const { deliveries, send } = setUpFor([slow.url, quick.url])
    for (let n = 0; n < 35; n++) send(outgoing(n))
    await Promise.all([slow.received(10), quick.received(35)])
    expect(slow.requests).toHaveLength(10)
    expect(deliveries.list({ endpoint: 'wh_0', state: 'pending' }, 100)).toHaveLength(35)
    for (const finish of held) finish()
    await deliveries.settled()
    expect(slow.requests).toHaveLength(35)
    expect(most).toBe(10)
  })
})
