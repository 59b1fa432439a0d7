import { describe, expect, it } from 'vitest'
import { Gate } from '../../src/dispatch/gate.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'

describe('a gate', () => {
  const stageGate = () => {
    const lines: string[] = []
    const write = (_fields: object, message: string) => void lines.push(message)
    const log = Object.assign(Object.create(silentLogger) as Logger, { warn: write, info: write })
    return { gate: new Gate({ failures: 2, cooldownMs: 1_000, capMs: 3_000 }), log, lines }
  }

  it('doubles its time up to its cap, and leaves one line when it opens and one when it closes', () => {
    const { gate, log, lines } = stageGate()
    gate.failed([1], 0, log)
    gate.failed([2], 0, log)
    for (const [run, now] of [
      [3, 1_000],
      [4, 3_000],
      [5, 7_000],
    ] as const) {
      gate.enter(run)
      gate.failed([run], now, log)
    }
    // Doubled twice, and then at its cap.
    expect(gate.waitMs(7_000)).toBe(3_000)
    gate.enter(6)
    gate.succeeded(15_000, log)
    expect(lines).toEqual([
      'the sink fails; its items wait, and now and then one of them is tried',
      'the sink works again; what waited is sent',
    ])
  })

  it('opens at once for a clock that was set back', () => {
    const { gate, log } = stageGate()
    gate.failed([1], 10_000_000, log)
    gate.failed([2], 10_000_000, log)
    expect(gate.waitMs(10_000_000)).toBe(1_000)
    expect(gate.waitMs(9_000_000)).toBe(0)
  })

  it('heeds the failures of its try alone while it is open', () => {
    const { gate, log } = stageGate()
    gate.failed([1], 0, log)
    gate.failed([2], 0, log)
    gate.failed([7], 500, log)
    expect(gate.waitMs(500)).toBe(500)
    gate.enter(3)
    expect(gate.room(1_000)).toBe(0)
    gate.failed([8], 1_000, log)
    expect(gate.room(1_000)).toBe(0)
    gate.leave(3)
    expect(gate.room(1_000)).toBe(1)
  })

  it('says why it is shut, since when, until when, and what the last send failed with', () => {
    const { gate, log } = stageGate()
    expect(gate.shut(0)).toBeNull()
    gate.failed([1], 100, log, new Error('first'))
    gate.pause(500, 200)
    expect(gate.shut(300)).toEqual({ reason: 'pause', since: 200, until: 700, failures: 1, error: 'first' })
    expect(gate.shut(700)).toBeNull()
    gate.failed([2], 1_000, log, new Error('second'))
    gate.enter(3)
    gate.failed([3], 2_000, log, new Error(`third ${'x'.repeat(1_000)}`))
    const open = { reason: 'breaker', since: 1_000, failures: 3 }
    expect(gate.shut(2_000)).toMatchObject({ ...open, until: 4_000, error: expect.stringMatching(/^third x{100}/) })
    expect(gate.shut(2_000)?.error?.length).toBeLessThan(250)
    gate.pause(5_000, 2_000)
    expect(gate.shut(9_000)).toMatchObject({ ...open, until: 4_000 })
    expect(gate.shut(3_000)).toMatchObject({ ...open, until: 7_000 })
    gate.succeeded(9_000, log)
    expect(gate.shut(9_000)).toBeNull()
  })
})
