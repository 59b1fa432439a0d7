import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { retryDelaysMs } from '../../src/base/ladder.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createDeliveryStore, createTemporaryStorage, deliveryTables } from '../../src/emulator/data/delivery-store.ts'
import type { DeliveryStore } from '../../src/emulator/deliveries/port.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createDeliveryStage, outgoing, stageEndpoint } from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

type Stage = ReturnType<typeof createDeliveryStage>

function openStore(file: string) {
  const db = new Sqlite(file)
  onTestFinished(() => void db.close())
  if (db.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'delivery'`).get() === undefined) db.exec(deliveryTables)
  return createDeliveryStore(db)
}

/** A real store on a disk that can be full. */
function createFullDisk() {
  const storage = createTemporaryStorage()
  onTestFinished(() => storage.close())
  const disk = { isFull: false, writes: 0 }
  const store: DeliveryStore = {
    ...storage.deliveries,
    write(batch) {
      disk.writes++
      if (disk.isFull) throw new Error('database or disk is full')
      storage.deliveries.write(batch)
    },
  }
  return { disk, store }
}

/** Lets all retries fail. */
async function exhaustRetries({ deliveries, clock }: Stage): Promise<void> {
  for (const delayMs of [...retryDelaysMs, 0]) {
    await deliveries.idle()
    await clock.advance(delayMs)
  }
}

test('logs status, latency, headers, excerpt and reason of each attempt; the signature is cut', async () => {
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
  await using receiver = await createTestReceiver((response) => response.writeHead(status).end())
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
  await using receiver = await createTestReceiver((response) => response.writeHead(status).end())
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

test('R81 R82 R83 R84 R85 R86 a ladder continues after a restart, to the second and with the same bytes', async () => {
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

test('clear deletes all deliveries; their events can be sent again', async () => {
  await using receiver = await createTestReceiver(answerStatus(500))
  const { clock, deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)])
  send(outgoing())
  await deliveries.idle()
  deliveries.clear()
  await clock.advance(86_400_000)
  expect(receiver.requests).toHaveLength(1)
  expect(deliveries.list({}, 10)).toEqual([])
  expect(new Set(Object.values(deliveries.counts()))).toEqual(new Set([0]))
  send(outgoing())
  await deliveries.idle()
  expect(deliveries.list({}, 10)).toMatchObject([{ eventId: outgoing().id, attempts: 1 }])
})

test('R45 a failing listener harms no delivery: acknowledged events are not sent again', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { clock, deliveries, reports, send } = createDeliveryStage([stageEndpoint(receiver.url)])
  reports.push = () => {
    throw new Error('of the listener')
  }
  for (let n = 1; n <= 20; n++) send(outgoing(n))
  await deliveries.settled()
  await clock.advance(3_600_000)
  expect(receiver.requests).toHaveLength(20)
})

test('R89 a full disk loses no event and no retry', async () => {
  await using failing = await createTestReceiver(answerStatus(500))
  await using accepting = await createTestReceiver(answerStatus(200))
  const clock = createTestClock()
  const { disk, store } = createFullDisk()
  const endpoints = [stageEndpoint(failing.url, { id: 'wh_1' }), stageEndpoint(accepting.url, { id: 'wh_2' })]
  const { deliveries, send } = createDeliveryStage(endpoints, { clock, wall: clock, store })
  send(outgoing(1))
  await deliveries.idle()
  disk.isFull = true
  for (let n = 2; n <= 400; n++) send(outgoing(n))
  await accepting.received(10)
  // The first retry falls due while the store can't be read.
  await clock.advance(61_000)
  expect(() => deliveries.list({}, 1)).toThrow('disk is full')
  disk.isFull = false
  await clock.advance(2_000)
  await deliveries.idle()
  const ids = new Set(accepting.requests.map(({ body }) => JSON.parse(body.toString()).id))
  expect(ids.size).toBe(400)
  expect(deliveries.counts()).toMatchObject({ acknowledged: 400, pending: 400 })
  await clock.advance(12 * 3_600_000)
  await deliveries.settled()
  expect(deliveries.list({ endpoint: 'wh_1', state: 'undelivered' }, 1_000)).toHaveLength(400)
  expect(failing.requests).toHaveLength(400 * 6)
})

test('writes to a full disk are retried once per second', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const clock = createTestClock()
  const { disk, store } = createFullDisk()
  const { send } = createDeliveryStage([stageEndpoint(receiver.url)], { clock, wall: clock, store })
  disk.isFull = true
  for (let n = 1; n <= 200; n++) send(outgoing(n))
  await clock.advance(20)
  for (let n = 201; n <= 3_000; n++) send(outgoing(n))
  const before = disk.writes
  await clock.advance(10_000)
  expect(disk.writes - before).toBeLessThan(30)
  disk.isFull = false
})

test('R87 a replay that fails to be stored is reported as failed, and sent once there is space', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const clock = createTestClock()
  const { store } = createFullDisk()
  let replayWrites = 0
  const { deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)], {
    clock,
    wall: clock,
    store: {
      ...store,
      write(batch) {
        if (batch.deliveries.some(({ isReplay }) => isReplay) && ++replayWrites === 1) throw new Error('disk is full')
        store.write(batch)
      },
    },
  })
  send(outgoing())
  await deliveries.settled()
  const [{ deliveryId } = { deliveryId: '' }] = deliveries.list({}, 1)
  expect(() => deliveries.replay(deliveryId)).toThrow('disk is full')
  await deliveries.settled()
  await clock.advance(2_000)
  expect(receiver.requests).toHaveLength(2)
  expect(deliveries.list({}, 1)).toMatchObject([{ isReplay: true, state: 'acknowledged' }])
})

test('keeps the newest 100,000 settled deliveries, with their events and attempts', () => {
  const storage = createTemporaryStorage()
  onTestFinished(() => storage.close())
  const store = storage.deliveries
  const about = { endpointId: 'wh_1', url: '', isReplay: false, lastStatus: 200, lastFailure: null, createdAt: 0 }
  const settled = { state: 'acknowledged', attempts: 1, nextAttemptAt: null } as const
  const answer = { requestHeaders: {}, responseHeaders: {}, responseExcerpt: '', isExtra: false, faults: [] }
  const attempt = { ...answer, attempt: 1, at: 0, status: 200, failure: null, latencyMs: 1, nextAttemptAt: null }
  for (let from = 0; from < 105_000; from += 5_000) {
    const events = Array.from({ length: 5_000 }, (_, n) => ({ seq: from + n + 1, ...outgoing(from + n + 1) }))
    store.write({
      events,
      deliveries: events.map((event) => ({ ...about, ...settled, seq: event.seq, event })),
      attempts: events.map(({ seq }) => ({ delivery: seq, attempt })),
      worldSeq: 1,
    })
  }
  store.prune()
  expect(store.begin().counts).toMatchObject({ acknowledged: 100_000, attempts: 100_000 })
  expect([store.get(5_000), store.attempts(5_000)]).toEqual([null, []])
  expect(store.get(5_001)).not.toBeNull()
  expect(store.list({ event: outgoing(5_000).id }, 1)).toEqual([])
})
