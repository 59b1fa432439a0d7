import { expect, test } from 'vitest'
import { retryDelaysMs } from '../../src/base/retry-schedule.ts'
import { createDeliveryStage, outgoing, stageEndpoint } from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

type Stage = ReturnType<typeof createDeliveryStage>

/** Lets all retries fail. */
async function exhaustRetries({ deliveries, clock }: Stage): Promise<void> {
  for (const delayMs of [...retryDelaysMs, 0]) {
    await deliveries.idle()
    await clock.advance(delayMs)
  }
}

test('logs status, latency, headers, excerpt and reason of each attempt; the signature is cut', async () => {
  await using receiver = await createTestReceiver((index) => {
    return { status: index === 0 ? 500 : 200, headers: { 'X-Answer': 'yes' }, body: 'because\u001b[31m' }
  })
  const { clock, deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)])
  const t0 = clock.now()
  send(outgoing())
  await deliveries.idle()
  await clock.advance(60_000)
  await deliveries.settled()
  const [{ deliveryId } = { deliveryId: '' }] = deliveries.list({}, 10)
  const read = deliveries.read(deliveryId)
  expect(read).toMatchObject({ state: 'acknowledged', attempts: 2, lastStatus: 200, lastFailure: null })
  expect(read?.body).toEqual(outgoing().body)
  const first = { attempt: 1, at: t0, status: 500, failure: 'answered 500', isExtra: false, latencyMs: 0 }
  expect(read?.log).toMatchObject([
    { ...first, nextAttemptAt: t0 + 60_000, responseHeaders: { 'x-answer': 'yes' } },
    { attempt: 2, at: t0 + 60_000, status: 200, failure: null, nextAttemptAt: null },
  ])
  expect(read?.log[0]?.responseExcerpt).toBe('because\\u001b[31m')
  expect(read?.log[0]?.requestHeaders).toEqual({
    'Content-Type': 'application/json',
    'User-Agent': 'onchain-inbox-emulator',
    'X-Service-Signature': expect.stringMatching(/^[0-9a-f]{8}…$/),
  })
})

test('the list is newest first, in pages, by state, endpoint, event and type', async () => {
  await using good = await createTestReceiver(answerStatus(200))
  await using bad = await createTestReceiver(answerStatus(500))
  const endpoints = [stageEndpoint(good.url, { id: 'wh_good' }), stageEndpoint(bad.url, { id: 'wh_bad' })]
  const { deliveries, send } = createDeliveryStage(endpoints)
  for (let n = 1; n <= 3; n++) send(outgoing(n))
  send(outgoing(4, 'pump.graduation'))
  await deliveries.idle()
  const numbers = (filter: Parameters<typeof deliveries.list>[0], limit = 9) =>
    deliveries.list(filter, limit).map(({ deliveryId }) => Number(deliveryId.slice(4)))
  expect(numbers({}, 3)).toEqual([8, 7, 6])
  expect(numbers({ after: 'dlv_000000000006' }, 3)).toEqual([5, 4, 3])
  expect(numbers({ state: 'failed' })).toEqual([8, 6, 4, 2])
  expect(numbers({ state: 'acknowledged' })).toEqual([7, 5, 3, 1])
  expect(numbers({ endpoint: 'wh_bad', type: 'pump.graduation' })).toEqual([8])
  expect(numbers({ event: outgoing(2).id })).toEqual([4, 3])
})

test('R46 R86 R87 a replay of an undelivered event has the same id and bytes, and one attempt', async () => {
  let status = 500
  await using receiver = await createTestReceiver(() => ({ status }))
  const stage = createDeliveryStage([stageEndpoint(receiver.url)])
  const { clock, deliveries, send } = stage
  send(outgoing())
  await exhaustRetries(stage)
  const [undelivered] = deliveries.list({ state: 'undelivered' }, 10)
  expect(undelivered).toMatchObject({ attempts: 6, state: 'undelivered' })

  expect(deliveries.replay(undelivered!.deliveryId)).toMatchObject({ state: 'pending', isReplay: true })
  await deliveries.settled()
  expect(clock.nextTimerAt()).toBeNull()
  expect(deliveries.list({}, 1)).toMatchObject([{ state: 'undelivered', attempts: 1, isReplay: true }])

  status = 200
  expect(deliveries.replay(undelivered!.deliveryId)).toMatchObject({ isReplay: true })
  await deliveries.settled()
  expect(deliveries.list({}, 1)).toMatchObject([{ state: 'acknowledged', isReplay: true, eventId: outgoing().id }])
  expect(receiver.requests.map(({ body }) => body.toString())).toEqual(Array(8).fill(outgoing().body.toString()))
  for (const id of ['dlv_999999999999', 'nonsense']) expect(deliveries.replay(id)).toBeNull()
})

test('R87 a bulk replay sends events undelivered since a time, unless a replay has succeeded', async () => {
  let status = 500
  await using receiver = await createTestReceiver(() => ({ status }))
  const stage = createDeliveryStage([stageEndpoint(receiver.url)])
  const { clock, deliveries, endpoints, send } = stage
  send(outgoing(1))
  await exhaustRetries(stage)
  const since = clock.now()
  for (const n of [2, 3]) send(outgoing(n))
  send(outgoing(4, 'pump.graduation'))
  await exhaustRetries(stage)
  status = 200
  expect(deliveries.replayAll({ since, type: 'pump.graduation' }, true)).toEqual({ matched: 1, replayed: 0 })
  expect(deliveries.replayAll({ since, endpoint: 'wh_other' }, true).matched).toBe(0)
  expect(deliveries.replayAll({ since }, true).matched).toBe(3)
  const before = receiver.requests.length
  expect(deliveries.replayAll({ since }, false)).toEqual({ matched: 3, replayed: 3 })
  await deliveries.settled()
  const ids = receiver.requests.slice(before).map(({ body }) => JSON.parse(body.toString()).id)
  expect(ids).toEqual([2, 3, 4].map((n) => outgoing(n).id))
  expect(deliveries.replayAll({ since }, false)).toEqual({ matched: 0, replayed: 0 })
  expect(deliveries.replayAll({ since: 0 }, true).matched).toBe(1)
  endpoints.clear()
  deliveries.endpointsChanged()
  expect(deliveries.replayAll({ since: 0 }, true).matched).toBe(0)
  expect(deliveries.replay('dlv_000000000001')).toBe('gone')
})

test('keeps the newest 10,000 settled deliveries', async () => {
  const { deliveries } = createDeliveryStage([])
  for (let n = 1; n <= 11_000; n++) deliveries.send(outgoing(n), [stageEndpoint('http://127.0.0.1:9/')])
  await deliveries.settled()
  expect(deliveries.counts().cancelled).toBe(11_000)
  expect(deliveries.list({}, 20_000)).toHaveLength(10_000)
  expect(deliveries.list({ event: outgoing(1_000).id }, 1)).toEqual([])
  expect(deliveries.list({ event: outgoing(1_001).id }, 1)).toMatchObject([{ state: 'cancelled' }])
})
