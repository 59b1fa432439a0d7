import { expect, test } from 'vitest'
import { createTestClock, type Clock } from '../../src/base/clock.ts'
import { createEndpointQueue, type EndpointQueue } from '../../src/emulator/deliveries/endpoint-queue.ts'
import type { StoredDelivery } from '../../src/emulator/deliveries/port.ts'

/** A queue over an array instead of a store. Each first attempt fails and is due again a minute later; the second succeeds. */
function createStage(clock: Clock, count: number) {
  const event = { seq: 1, id: 'evt_a', type: 'pump.graduation', body: Buffer.from('{}') }
  const about = { event, endpointId: 'wh_1', url: '', isReplay: false, lastStatus: null, lastFailure: null }
  const all = Array.from({ length: count }, (_, index): StoredDelivery => {
    return { ...about, seq: index + 1, state: 'pending', attempts: 0, createdAt: 0, nextAttemptAt: clock.now() }
  })
  const pending = () => all.filter(({ nextAttemptAt }) => nextAttemptAt !== null)
  const madeAt: number[] = []
  let longest = 0
  const drained = Promise.withResolvers<void>()
  const queue: EndpointQueue = createEndpointQueue({
    clock,
    wall: clock,
    parallel: 10,
    due(now, limit) {
      const found = pending()
        .filter(({ nextAttemptAt }) => nextAttemptAt! <= now)
        .slice(0, limit)
      longest = Math.max(longest, found.length)
      return found
    },
    nextDueAt: (now) =>
      pending().reduce<number | null>(
        (least, { nextAttemptAt: at }) => (at! > now && at! < (least ?? Infinity) ? at : least),
        null,
      ),
    async attempt(delivery) {
      await Promise.resolve()
      madeAt.push(clock.now())
      delivery.attempts++
      delivery.nextAttemptAt = delivery.attempts === 1 ? clock.now() + 60_000 : null
    },
    onChange() {
      if (queue.isIdle()) drained.resolve()
    },
    onError(error) {
      throw error
    },
  })
  return { queue, all, madeAt, drained: drained.promise, longest: () => longest }
}

test('20,000 pending retries share one timer, and a few hundred are in memory', async () => {
  const clock = createTestClock()
  let armed = 0
  let most = 0
  const counting: Clock = {
    ...clock,
    after(ms, fn) {
      most = Math.max(most, ++armed)
      let isArmed = true
      const disarm = () => {
        if (isArmed) armed--
        isArmed = false
      }
      const timer = clock.after(ms, () => {
        disarm()
        fn()
      })
      return {
        cancel() {
          disarm()
          timer.cancel()
        },
      }
    },
  }
  const { queue, all, madeAt, drained, longest } = createStage(counting, 20_000)
  queue.wake()
  await drained
  expect(madeAt).toHaveLength(20_000)
  expect(all.every(({ attempts, nextAttemptAt }) => attempts === 1 && nextAttemptAt !== null)).toBe(true)
  expect([armed, most]).toEqual([1, 1])
  expect(longest()).toBeLessThan(1_000)
  queue.close()
  expect(armed).toBe(0)
})

test('an early timer waits until the retry is due', async () => {
  const clock = createTestClock()
  const early: Clock = { ...clock, after: (ms, fn) => clock.after(Math.min(ms, 7000), fn) }
  const { queue, madeAt, drained } = createStage(early, 1)
  const t0 = clock.now()
  queue.wake()
  await drained
  await clock.advance(60_000)
  expect(madeAt.map((at) => at - t0)).toEqual([0, 60_000])
})
