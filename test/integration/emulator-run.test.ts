import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { eventTypes, parseEvent } from '../../schema/index.ts'
import { createTestClock } from '../../src/clock.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { createScaledClock } from '../../src/emulator/scaled-clock.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

const secret = 'whsec_0123456789abcdef'

test('R92–R102 a tour delivers one valid, signed event of each of the ten types', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  await using emulator = createEmulator({ seed: 'demo', endpoints: [{ url: receiver.url, secret }] })
  const events = emulator.tour()
  await emulator.deliveries.settled()
  const bodies = receiver.requests.map(({ body }) => body)
  const parsed = bodies.map((body) => parseEvent(JSON.parse(body.toString())))
  expect(parsed.map(({ type }) => type).toSorted()).toEqual(eventTypes.toSorted())
  expect(parsed.map(({ id }) => id).toSorted()).toEqual(events.map(({ id }) => id).toSorted())
  for (const { body, headers } of receiver.requests) {
    expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
    // R73: the signature fails over re-serialised JSON
    expect(JSON.stringify(JSON.parse(body.toString()))).not.toBe(body.toString())
  }
})

test('the same seed and clock give the same bytes, event for event', async () => {
  const run = async () => {
    const clock = createTestClock()
    await using receiver = await createTestReceiver(answerStatus(200))
    await using emulator = createEmulator({ seed: 'twice', clock, endpoints: [{ url: receiver.url, secret }] })
    for (let n = 0; n < 30; n++) {
      emulator.emit()
      await clock.advance(100)
    }
    await emulator.deliveries.settled()
    return receiver.requests.map(({ body }) => body.toString()).toSorted()
  }
  expect(await run()).toEqual(await run())
})

test('start emits at the rate, in world time, until stop; at rate 0 nothing comes by itself', async () => {
  const clock = createTestClock()
  await using receiver = await createTestReceiver(answerStatus(200))
  const endpoints = [{ url: receiver.url, secret }]
  await using quiet = createEmulator({ seed: 'demo', clock, rate: 0, endpoints })
  quiet.start()
  expect(clock.nextTimerAt()).toBeNull()
  await using emulator = createEmulator({ seed: 'demo', clock, rate: 4, endpoints })
  emulator.start()
  await clock.advance(10_000)
  await emulator.deliveries.settled()
  expect(receiver.requests).toHaveLength(41)
  await emulator.stop()
  await emulator.stop()
  await clock.advance(10_000)
  expect(receiver.requests).toHaveLength(41)
  expect(clock.nextTimerAt()).toBeNull()
})

test('start with a count is finished when every event is acknowledged or undelivered', async () => {
  const clock = createTestClock()
  await using receiver = await createTestReceiver((response, { body }) => {
    response.writeHead(body.includes('wallet.') ? 500 : 200).end()
  })
  await using emulator = createEmulator({ seed: 'demo', clock, rate: 10, endpoints: [{ url: receiver.url, secret }] })
  emulator.start(20)
  let isFinished = false
  const finished = emulator.finished().then(() => (isFinished = true))
  await clock.advance(2000)
  await emulator.deliveries.idle()
  const { waiting, acknowledged } = emulator.deliveries.counts()
  expect(waiting).toBeGreaterThan(0)
  expect(acknowledged + waiting).toBe(20)
  expect(isFinished).toBe(false)
  while (emulator.deliveries.counts().waiting > 0) {
    await clock.advance((clock.nextTimerAt() ?? clock.now()) - clock.now())
    await emulator.deliveries.idle()
  }
  await finished
  expect(emulator.deliveries.counts()).toEqual({ acknowledged, undelivered: waiting, waiting: 0, inFlight: 0 })
})

test('a scaled clock runs the world faster than the wall', async () => {
  const wall = createTestClock()
  const world = createScaledClock(60, wall)
  const t0 = world.now()
  let firedAt = 0
  world.after(60_000, () => (firedAt = world.now()))
  await wall.advance(999)
  expect(firedAt).toBe(0)
  await wall.advance(1)
  expect(firedAt - t0).toBe(60_000)
})
