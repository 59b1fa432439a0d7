import { expect, test } from 'vitest'
import { createTestClock, type Clock } from '../../src/clock.ts'
import { createEndpointQueue } from '../../src/emulator/endpoint-queue.ts'
import { createDueHeap } from '../../src/emulator/heap.ts'
import type { PostResult } from '../../src/emulator/post.ts'

const refused: PostResult = { isAcknowledged: false, status: 500, failure: 'answered 500', latencyMs: 0 }

test('the heap gives items by due time, those of the same time in order of arrival, and none before its time', () => {
  const heap = createDueHeap<string>()
  const random = createTestClock(0, 7)
  const items = Array.from({ length: 2000 }, (_, n) => ({ dueAt: Math.floor(random.random() * 300), n }))
  for (const { dueAt, n } of items) heap.push(dueAt, `${dueAt}:${n}`)
  expect(heap.popDue(-1)).toBeUndefined()
  const popped = Array.from({ length: 2000 }, () => heap.popDue(heap.nextDueAt() ?? NaN))
  const sorted = items.toSorted((a, b) => a.dueAt - b.dueAt || a.n - b.n)
  expect(popped).toEqual(sorted.map(({ dueAt, n }) => `${dueAt}:${n}`))
  expect(heap.size).toBe(0)
  expect(heap.nextDueAt()).toBeNull()
})

test('fifty thousand pending retries hold one timer between them', async () => {
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
  const drained = Promise.withResolvers<void>()
  let results = 0
  const queue = createEndpointQueue<number>({
    clock: counting,
    post: () => Promise.resolve(refused),
    isRepeated: () => false,
    onResult: () => {
      if (++results === 50_001) drained.resolve()
    },
  })
  // One that waits for its second retry, 5 min away, when the first retries of the others come before it.
  queue.send(0)
  await clock.advance(60_000)
  for (let n = 1; n < 50_000; n++) queue.send(n)
  await drained.promise
  expect(queue.counts()).toMatchObject({ waiting: 50_000, inFlight: 0 })
  expect(most).toBe(1)
  queue.close()
  expect(armed).toBe(0)
})

test('a timer that comes early waits on until the retry is due', async () => {
  const clock = createTestClock()
  const early: Clock = { ...clock, after: (ms, fn) => clock.after(Math.min(ms, 7000), fn) }
  const startedAt: number[] = []
  const queue = createEndpointQueue<string>({
    clock: early,
    post: () => Promise.resolve(refused),
    isRepeated: () => false,
    onResult: (_delivery, at) => startedAt.push(at),
  })
  const t0 = clock.now()
  queue.send('event')
  await clock.advance(60_000)
  expect(startedAt.map((at) => at - t0)).toEqual([0, 60_000])
})
