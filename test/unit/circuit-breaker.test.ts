import { expect, it } from 'vitest'
import { CircuitBreaker } from '../../src/dispatch/circuit-breaker.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'

const stageGate = () => {
  const lines: string[] = []
  const write = (_fields: object, message: string) => void lines.push(message)
  const log = Object.assign(Object.create(silentLogger) as Logger, { warn: write, info: write })
  return { breaker: new CircuitBreaker({ failures: 2, cooldownMs: 1_000, capMs: 3_000 }), log, lines }
}

it('a breaker doubles its cooldown up to its cap, and logs when it opens and closes', () => {
  const { breaker, log, lines } = stageGate()
  breaker.failed([1], 0, log)
  breaker.failed([2], 0, log)
  for (const [run, now] of [
    [3, 1_000],
    [4, 3_000],
    [5, 7_000],
  ] as const) {
    breaker.enter(run)
    breaker.failed([run], now, log)
  }
  // Doubled twice, and then at its cap.
  expect(breaker.waitMs(7_000)).toBe(3_000)
  breaker.enter(6)
  breaker.succeeded(15_000, log)
  expect(lines).toEqual(['breaker opened, items wait', 'breaker closed, sending resumed'])
})

it('a breaker ends its cooldown if the clock was set back', () => {
  const { breaker, log } = stageGate()
  breaker.failed([1], 10_000_000, log)
  breaker.failed([2], 10_000_000, log)
  expect(breaker.waitMs(10_000_000)).toBe(1_000)
  expect(breaker.waitMs(9_000_000)).toBe(0)
})

it('a breaker reports reason, times and the last error', () => {
  const { breaker, log } = stageGate()
  expect(breaker.openState(0)).toBeNull()
  breaker.failed([1], 100, log, new Error('first'))
  breaker.pause(500, 200)
  expect(breaker.openState(300)).toEqual({ reason: 'pause', since: 200, until: 700, failures: 1, error: 'first' })
  expect(breaker.openState(700)).toBeNull()
  breaker.failed([2], 1_000, log, new Error('second'))
  breaker.enter(3)
  breaker.failed([3], 2_000, log, new Error(`third ${'x'.repeat(1_000)}`))
  const open = { reason: 'breaker', since: 1_000, failures: 3 }
  expect(breaker.openState(2_000)).toMatchObject({
    ...open,
    until: 4_000,
    error: expect.stringMatching(/^third x{100}/),
  })
  expect(breaker.openState(2_000)?.error?.length).toBeLessThan(250)
  breaker.pause(5_000, 2_000)
  expect(breaker.openState(9_000)).toMatchObject({ ...open, until: 4_000 })
  expect(breaker.openState(3_000)).toMatchObject({ ...open, until: 7_000 })
  breaker.succeeded(9_000, log)
  expect(breaker.openState(9_000)).toBeNull()
})
