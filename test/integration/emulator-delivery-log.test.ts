import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createDeliveryStore } from '../../src/emulator/data/delivery-store.ts'
import { deliveryTables } from '../../src/emulator/data/delivery-store.ts'
import { retryDelaysMs } from '../../src/base/ladder.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { always, createDeliveryStage, outgoing, stageEndpoint } from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

function openStore(file: string) {
  const db = new Sqlite(file)
  onTestFinished(() => void db.close())
  if (db.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'delivery'`).get() === undefined) db.exec(deliveryTables)
  return createDeliveryStore(db)
}

test('every attempt is logged with status, latency, headers, excerpt of the answer and reason; the signature is cut short', async () => {
  await using receiver = await createTestReceiver((response, _request, index) => {
    response.writeHead(index === 0 ? 500 : 200, { 'X-Answer': 'yes' }).end('because\u001b[31m')
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
  const [first, second, ...more] = read?.log ?? []
  expect(more).toEqual([])
  expect(first).toMatchObject({
    attempt: 1,
    at: t0,
    status: 500,
    failure: 'answered 500',
    isExtra: false,
    latencyMs: 0,
  })
  expect(first).toMatchObject({ nextAttemptAt: t0 + 60_000, responseExcerpt: expect.stringMatching(/^because/) })
  expect(first?.responseExcerpt).not.toContain('\u001b')
  expect(first?.responseHeaders).toMatchObject({ 'x-answer': 'yes' })
  expect(first?.requestHeaders).toEqual({
    'Content-Type': 'application/json',
    'User-Agent': 'onchain-inbox-emulator',
    'X-Service-Signature': expect.stringMatching(/^[0-9a-f]{8}…$/),
  })
  expect(second).toMatchObject({ attempt: 2, at: t0 + 60_000, status: 200, failure: null, nextAttemptAt: null })
})

test('R46 R86 R87 an undelivered event can be replayed: same id and bytes, one attempt, no ladder', async () => {
  let status = 500
  await using receiver = await createTestReceiver((response) => response.writeHead(status).end())
  const { clock, deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)])
  send(outgoing())
  for (const delayMs of [...retryDelaysMs, 0]) {
    await deliveries.idle()
    await clock.advance(delayMs)
  }
  const [undelivered] = deliveries.list({ state: 'undelivered' }, 10)
  expect(undelivered).toMatchObject({ attempts: 6, state: 'undelivered' })

  expect(deliveries.replay(undelivered!.deliveryId)).toMatchObject({ state: 'pending', isReplay: true })
  await deliveries.settled()
  expect(receiver.requests).toHaveLength(7)
  expect(clock.nextTimerAt()).toBeNull()
  expect(deliveries.list({}, 1)).toMatchObject([{ state: 'undelivered', attempts: 1, isReplay: true }])

  status = 200
  expect(deliveries.replay(undelivered!.deliveryId)).toMatchObject({ isReplay: true })
  await deliveries.settled()
  expect(deliveries.list({}, 1)).toMatchObject([{ state: 'acknowledged', isReplay: true, eventId: outgoing().id }])
  expect(receiver.requests.map(({ body }) => body.toString())).toEqual(Array(8).fill(outgoing().body.toString()))
  expect(deliveries.replay('dlv_999999999999')).toBeNull()
  expect(deliveries.replay('nonsense')).toBeNull()
})

test('R87 a bulk replay since a time takes what is undelivered since then, and not what was replayed with success', async () => {
  let status = 500
  await using receiver = await createTestReceiver((response) => response.writeHead(status).end())
  const { clock, deliveries, endpoints, send } = createDeliveryStage([stageEndpoint(receiver.url)])
  const giveUp = async () => {
    for (const delayMs of [...retryDelaysMs, 0]) {
      await deliveries.idle()
      await clock.advance(delayMs)
    }
  }
  send(outgoing(1))
  await giveUp()
  const since = clock.now()
  for (const n of [2, 3]) send(outgoing(n))
  send(outgoing(4, 'pump.graduation'))
  await giveUp()
  status = 200
  expect(deliveries.replayAll({ since, type: 'pump.graduation' }, true)).toEqual({ matched: 1, replayed: 0 })
  expect(deliveries.replayAll({ since, endpoint: 'wh_other' }, true).matched).toBe(0)
  expect(deliveries.replayAll({ since }, true).matched).toBe(3)
  await deliveries.settled()
  const before = receiver.requests.length
  expect(deliveries.replayAll({ since }, false)).toEqual({ matched: 3, replayed: 3 })
  await deliveries.settled()
  expect(receiver.requests.slice(before).map(({ body }) => JSON.parse(body.toString()).id)).toEqual(
    [2, 3, 4].map((n) => outgoing(n).id),
  )
  expect(deliveries.replayAll({ since }, false)).toEqual({ matched: 0, replayed: 0 })
  expect(deliveries.replayAll({ since: 0 }, true).matched).toBe(1)
  endpoints.clear()
  deliveries.endpointsChanged()
  expect(deliveries.replayAll({ since: 0 }, true).matched).toBe(0)
  expect(deliveries.replay('dlv_000000000001')).toBe('gone')
})

test('R81 R82 R83 R84 R85 R86 a ladder goes on where it was when the process ended: to the second, with the same bytes', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'deliveries.db')
  await using receiver = await createTestReceiver(answerStatus(503))
  const clock = createTestClock()
  const t0 = clock.now()
  const endpoints = [stageEndpoint(receiver.url)]
  const first = createDeliveryStage(endpoints, { clock, store: openStore(file) })
  first.send(outgoing())
  await first.deliveries.idle()
  await clock.advance(60_000)
  await first.deliveries.idle()
  await clock.advance(299_000)
  first.deliveries.close()

  const second = createDeliveryStage(endpoints, { clock, store: openStore(file) })
  expect(second.deliveries.counts()).toMatchObject({ pending: 1, attempts: 2 })
  second.deliveries.start()
  await second.deliveries.idle()
  expect(receiver.requests).toHaveLength(2)
  await clock.advance(1_000)
  for (const delayMs of [...retryDelaysMs.slice(2), 0]) {
    await second.deliveries.idle()
    await clock.advance(delayMs)
  }
  expect(second.reports.map(({ attempt, at, outcome }) => [attempt, (at - t0) / 1000, outcome])).toEqual([
    [3, 360, 'failed'],
    [4, 2160, 'failed'],
    [5, 9360, 'failed'],
    [6, 38_160, 'undelivered'],
  ])
  expect(receiver.requests.map(({ body }) => body.toString())).toEqual(Array(6).fill(outgoing().body.toString()))
  second.deliveries.close()
})

test('a start cancels pending deliveries of a deleted endpoint', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'deliveries.db')
  await using receiver = await createTestReceiver(answerStatus(500))
  const first = createDeliveryStage([stageEndpoint(receiver.url)], { store: openStore(file) })
  first.send(outgoing())
  await first.deliveries.idle()
  first.deliveries.close()
  const second = createDeliveryStage([], { store: openStore(file) })
  second.deliveries.start()
  await second.deliveries.settled()
  expect(second.deliveries.list({}, 10)).toMatchObject([{ state: 'cancelled', nextAttemptAt: null }])
  second.deliveries.close()
})

test('the list is newest first, in pages, by state, endpoint, event and type', async () => {
  await using good = await createTestReceiver(answerStatus(200))
  await using bad = await createTestReceiver(answerStatus(500))
  const { deliveries, send } = createDeliveryStage([
    stageEndpoint(good.url, { id: 'wh_good' }),
    stageEndpoint(bad.url, { id: 'wh_bad' }),
  ])
  for (let n = 1; n <= 3; n++) send(outgoing(n))
  send(outgoing(4, 'pump.graduation'))
  await deliveries.idle()
  const ids = (found: ReturnType<typeof deliveries.list>) => found.map(({ deliveryId }) => Number(deliveryId.slice(4)))
  expect(ids(deliveries.list({}, 3))).toEqual([8, 7, 6])
  expect(ids(deliveries.list({ after: 'dlv_000000000006' }, 3))).toEqual([5, 4, 3])
  expect(ids(deliveries.list({ state: 'failed' }, 9))).toEqual([8, 6, 4, 2])
  expect(ids(deliveries.list({ state: 'acknowledged' }, 9))).toEqual([7, 5, 3, 1])
  expect(ids(deliveries.list({ endpoint: 'wh_bad', type: 'pump.graduation' }, 9))).toEqual([8])
  expect(ids(deliveries.list({ event: outgoing(2).id }, 9))).toEqual([4, 3])
})

test('logs the faults of an attempt, and retries after a dropped acknowledgement (R88)', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { clock, deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)], {
    faults: always({ dropsAck: true, twins: 2 }),
  })
  send(outgoing())
  await deliveries.idle()
  expect(receiver.requests).toHaveLength(3)
  const [{ deliveryId } = { deliveryId: '' }] = deliveries.list({}, 1)
  expect(deliveries.read(deliveryId)).toMatchObject({
    state: 'pending',
    nextAttemptAt: clock.now() + 60_000,
    log: [
      {
        status: 200,
        failure: 'answered 200; the fault drop-ack discarded it',
        faults: ['of the test'],
        isExtra: false,
      },
      { isExtra: true, nextAttemptAt: null },
      { isExtra: true },
    ],
  })
})

test('after everything is put back nothing of before is sent or known', async () => {
  await using receiver = await createTestReceiver(answerStatus(500))
  const { clock, deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)])
  send(outgoing())
  await deliveries.idle()
  deliveries.clear()
  await clock.advance(86_400_000)
  expect(receiver.requests).toHaveLength(1)
  expect(deliveries.list({}, 10)).toEqual([])
  expect(deliveries.counts()).toEqual({
    acknowledged: 0,
    undelivered: 0,
    cancelled: 0,
    pending: 0,
    inFlight: 0,
    attempts: 0,
  })
  // The same id may arise again, in another course of time.
  send(outgoing())
  await deliveries.idle()
  expect(deliveries.list({}, 10)).toMatchObject([{ eventId: outgoing().id, attempts: 1 }])
})
