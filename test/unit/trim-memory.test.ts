import { performance } from 'node:perf_hooks'
import { afterEach, expect, test, vi } from 'vitest'
import { trimMemory } from '../../src/base/trim-memory.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('collects garbage in the first quiet half-minute after a start or a busy period, else every two minutes', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const load = vi.spyOn(performance, 'eventLoopUtilization')
  const makeGarbage = () => void Array.from({ length: 100_000 }, (_, index) => ({ index }))
  const isCollected = (utilization: number) => {
    load.mockReturnValue({ utilization, idle: 0, active: 0 })
    makeGarbage()
    const before = process.memoryUsage().heapUsed
    vi.advanceTimersByTime(30_000)
    return before - process.memoryUsage().heapUsed > 1_000_000
  }
  trimMemory()
  expect([0.5, 0.01, 0.01, 0.5, 0.01].map(isCollected)).toEqual([false, true, false, false, true])
  for (const utilization of [0.01, 0.5]) {
    expect(Array.from({ length: 4 }, () => isCollected(utilization))).toEqual([false, false, false, true])
  }
})
