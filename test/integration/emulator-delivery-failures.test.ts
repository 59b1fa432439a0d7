import { expect, onTestFinished, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createTemporaryStorage } from '../../src/emulator/data/delivery-store.ts'
import type { DeliveryStore } from '../../src/emulator/deliveries/port.ts'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import { createDeliveryStage, outgoing, stageEndpoint } from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

/** A real store on a disk that can be full for a while. */
function createFullDisk() {
  const storage = createTemporaryStorage()
  onTestFinished(() => storage.close())
  const inner = storage.deliveries
  const disk = { isFull: false, tries: 0 }
  const store: DeliveryStore = {
    ...inner,
    write(batch) {
      disk.tries++
      if (disk.isFull) throw new Error('database or disk is full')
      inner.write(batch)
    },
  }
  return { disk, store }
}

test('R89 a disk that is full for a while loses no event and no retry, and ends nothing', async () => {
  await using one = await createTestReceiver(answerStatus(500))
  await using two = await createTestReceiver(answerStatus(200))
  const clock = createTestClock()
  const { disk, store } = createFullDisk()
  const endpoints = [stageEndpoint(one.url, { id: 'wh_1' }), stageEndpoint(two.url, { id: 'wh_2' })]
  const { deliveries, send } = createDeliveryStage(endpoints, { clock, wall: clock, store })
  send(outgoing(1))
  await deliveries.idle()
  disk.isFull = true
  for (let n = 2; n <= 400; n++) send(outgoing(n))
  await two.received(10)
  // The first retry falls due while nothing can be read.
  await clock.advance(61_000)
  expect(() => deliveries.list({}, 1)).toThrow('disk is full')
  disk.isFull = false
  await clock.advance(2_000)
  await deliveries.idle()
  const ids = new Set(two.requests.map(({ body }) => JSON.parse(body.toString()).id))
  expect(ids.size).toBe(400)
  expect(deliveries.counts()).toMatchObject({ acknowledged: 400, pending: 400 })
  await clock.advance(12 * 3_600_000)
  await deliveries.settled()
  expect(deliveries.list({ endpoint: 'wh_1', state: 'undelivered' }, 1_000)).toHaveLength(400)
  expect(one.requests).toHaveLength(400 * 6)
})

test('a disk that stays full is tried once a second, however much there is to write', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const clock = createTestClock()
  const { disk, store } = createFullDisk()
  const { send } = createDeliveryStage([stageEndpoint(receiver.url)], { clock, wall: clock, store })
  disk.isFull = true
  for (let n = 1; n <= 200; n++) send(outgoing(n))
  await clock.advance(20)
  for (let n = 201; n <= 3_000; n++) send(outgoing(n))
  const before = disk.tries
  await clock.advance(10_000)
  expect(disk.tries - before).toBeLessThan(30)
  disk.isFull = false
})

test('R45 a listener that throws harms no delivery: acknowledged events are not sent again', async () => {
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

test('R81 an attempt that a fault makes impossible is a failed one, and the ladder goes on', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const plain = createFaults({ seed: 'impossible' })
  const alter = () => {
    throw new RangeError('nothing can be made of it')
  }
  const { clock, deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)], {
    faults: {
      holdMs: () => 0,
      planAttempt: (target, attempt) => ({
        ...plain.planAttempt(target, attempt),
        twins: 2,
        ...(attempt === 1 && { alter }),
      }),
    },
  })
  send(outgoing())
  await deliveries.idle()
  expect(deliveries.list({}, 1)).toMatchObject([
    {
      attempts: 1,
      state: 'pending',
      nextAttemptAt: clock.now() + 60_000,
      lastFailure: expect.stringContaining('nothing can'),
    },
  ])
  await clock.advance(60_000)
  await deliveries.settled()
  expect(deliveries.list({}, 1)).toMatchObject([{ attempts: 2, state: 'acknowledged' }])
})

test('of deliveries that are settled the newest hundred thousand are kept, with their events and attempts', () => {
  const storage = createTemporaryStorage()
  onTestFinished(() => storage.close())
  const store = storage.deliveries
  const about = { endpointId: 'wh_1', url: '', isReplay: false, lastStatus: 200, lastFailure: null, createdAt: 0 }
  const attempt = {
    attempt: 1,
    at: 0,
    status: 200,
    failure: null,
    latencyMs: 1,
    isExtra: false,
    faults: [],
    nextAttemptAt: null,
    requestHeaders: {},
    responseHeaders: {},
    responseExcerpt: '',
  }
  for (let from = 0; from < 105_000; from += 5_000) {
    const events = Array.from({ length: 5_000 }, (_, n) => ({ seq: from + n + 1, ...outgoing(from + n + 1) }))
    store.write({
      events,
      deliveries: events.map((event) => {
        return { ...about, seq: event.seq, event, state: 'acknowledged', attempts: 1, nextAttemptAt: null }
      }),
      attempts: events.map(({ seq }) => ({ delivery: seq, attempt })),
      worldSeq: 1,
    })
  }
  store.prune()
  expect(store.begin().counts).toMatchObject({ acknowledged: 100_000, attempts: 100_000 })
  expect(store.get(5_000)).toBeNull()
  expect(store.attempts(5_000)).toEqual([])
  expect(store.get(5_001)).not.toBeNull()
  expect(store.list({ event: outgoing(5_000).id }, 1)).toEqual([])
})

test('R87 a replay that cannot be written down is refused, and comes all the same once there is space', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const clock = createTestClock()
  const { disk, store } = createFullDisk()
  const { deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)], { clock, wall: clock, store })
  send(outgoing())
  await deliveries.settled()
  const [{ deliveryId } = { deliveryId: '' }] = deliveries.list({}, 1)
  const write = store.write.bind(store)
  let writes = 0
  // The first one is of what came before, the second of the replay.
  Object.assign(store, {
    write(batch: Parameters<typeof write>[0]) {
      if (batch.deliveries.some(({ isReplay }) => isReplay) && ++writes === 1) throw new Error('disk is full')
      write(batch)
    },
  })
  expect(disk.isFull).toBe(false)
  expect(() => deliveries.replay(deliveryId)).toThrow('disk is full')
  await deliveries.settled()
  await clock.advance(2_000)
  expect(receiver.requests).toHaveLength(2)
  expect(deliveries.list({}, 1)).toMatchObject([{ isReplay: true, state: 'acknowledged' }])
})
