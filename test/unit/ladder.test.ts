import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { outlookAfter, retryDelaysMs } from '../../src/ladder.ts'

const minute = 60_000
const hour = 60 * minute

/** When the sender tries an event that it first sends at a time, while each attempt takes so long to fail. */
function attemptsOf(first: number, failureMs: number): number[] {
  return retryDelaysMs.reduce<number[]>((at, delay) => [...at, (at.at(-1) ?? 0) + failureMs + delay], [first])
}

describe('the outlook after a gap', () => {
  test('of a minute: everything has come again within some minutes', () => {
    expect(outlookAfter({ from: 0, to: minute - 1 })).toEqual({ retriedUntil: 2 * minute - 1 + 30_000, lost: null })
  })

  test('of two hours: everything comes again, the last of it two hours later', () => {
    expect(outlookAfter({ from: 0, to: 2 * hour })).toEqual({ retriedUntil: 4 * hour + 30_000, lost: null })
  })

  test('of a day: what was first sent in its first part is lost', () => {
    const ladder = retryDelaysMs.reduce((sum, delay) => sum + delay, 0)
    expect(outlookAfter({ from: 0, to: 24 * hour })).toEqual({
      retriedUntil: 32 * hour + 30_000,
      lost: { from: 0, to: 24 * hour - ladder },
    })
  })

  test('holds for every event, however long its attempts took to fail', () => {
    const gap = fc.record({
      length: fc.integer({ min: 1, max: 48 * hour }),
      first: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(gap, fc.integer({ min: 0, max: 5_000 }), ({ length, first }, failureMs) => {
        const sentAt = Math.floor(first * (length - 1))
        const { retriedUntil, lost } = outlookAfter({ from: 0, to: length })
        const received = attemptsOf(sentAt, failureMs).find((at) => at >= length)
        if (received === undefined) expect(lost !== null && sentAt < lost.to).toBe(true)
        else expect(received).toBeLessThanOrEqual(retriedUntil)
      }),
      { numRuns: 2_000 },
    )
  })
})
