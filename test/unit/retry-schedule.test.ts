import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  retryPeriodMs,
  outlookAfter,
  retryDelaysMs,
  type DowntimeOutlook,
  type Span,
} from '../../src/base/retry-schedule.ts'

const minute = 60_000
const hour = 60 * minute

/** Times of the attempts for an event, if each takes `failureMs` to fail. */
function attemptsOf(first: number, failureMs: number): number[] {
  return retryDelaysMs.reduce<number[]>((at, delay) => [...at, (at.at(-1) ?? 0) + failureMs + delay], [first])
}

/** Spans from the pause before each and its length. */
function gapsOf(steps: readonly { readonly after: number; readonly length: number }[]): Span[] {
  let at = 0
  return steps.map(({ after, length }) => {
    const from = at + after
    at = from + length
    return { from, to: at }
  })
}

const delaysMs = retryDelaysMs.reduce((sum, delay) => sum + delay, 0)
const short = { from: 12 * hour, to: 12 * hour + minute }
const lostFrom = short.from - retryPeriodMs

test.each<[string, Span, Span[], DowntimeOutlook]>([
  ['a minute', { from: 0, to: minute - 1 }, [], { retriedUntil: 2 * minute - 1 + 30_000, lost: null }],
  ['two hours', { from: 0, to: 2 * hour }, [], { retriedUntil: 4 * hour + 30_000, lost: null }],
  [
    'a day',
    { from: 0, to: 24 * hour },
    [],
    { retriedUntil: 32 * hour + 30_000, lost: { from: 0, to: 24 * hour - delaysMs } },
  ],
  [
    'eight hours after a gap of eight hours',
    { from: 8 * hour + 5 * minute, to: 16 * hour + 5 * minute },
    [{ from: 0, to: 8 * hour }],
    { retriedUntil: 24 * hour + 5 * minute + 30_000, lost: { from: 0, to: 5 * hour + 29 * minute } },
  ],
  [
    'a minute in which the last attempts of a gap of eight hours fall',
    short,
    [{ from: 0, to: 8 * hour }],
    { ...outlookAfter(short), lost: { from: lostFrom, to: lostFrom + minute + 30_000 } },
  ],
  [
    'ten hours, a day after another gap',
    { from: 34 * hour, to: 44 * hour },
    [{ from: 0, to: 10 * hour }],
    outlookAfter({ from: 34 * hour, to: 44 * hour }),
  ],
])('the outlook after a gap of %s', (_what, gap, before, outlook) => {
  expect(outlookAfter(gap, before)).toEqual(outlook)
})

test('the outlook is right for every event and any gaps', () => {
  const step = fc.record({
    after: fc.integer({ min: 1, max: 3 * hour }),
    length: fc.oneof(fc.integer({ min: 1, max: 10 * minute }), fc.integer({ min: 1, max: 24 * hour })),
  })
  const steps = fc.array(step, { minLength: 1, maxLength: 6 })
  const sent = fc.record({ in: fc.nat(5), at: fc.double({ min: 0, max: 1, noNaN: true }) })
  fc.assert(
    fc.property(steps, sent, fc.integer({ min: 0, max: 5_000 }), (given, first, failureMs) => {
      const gaps = gapsOf(given)
      const { from, to } = gaps[first.in % gaps.length]!
      const sentAt = from + Math.floor(first.at * (to - from - 1))
      const indexAt = (at: number) => gaps.findIndex((gap) => at >= gap.from && at < gap.to)
      const attempts = attemptsOf(sentAt, failureMs)
      const received = attempts.findIndex((at) => indexAt(at) < 0)
      const last = indexAt(attempts.at(received < 0 ? -1 : received - 1)!)
      const { retriedUntil, lost } = outlookAfter(gaps[last]!, gaps.slice(0, last))
      if (received < 0) expect(lost !== null && sentAt >= lost.from && sentAt < lost.to).toBe(true)
      else expect(attempts[received]).toBeLessThanOrEqual(retriedUntil)
    }),
    { numRuns: 1_000 },
  )
})
