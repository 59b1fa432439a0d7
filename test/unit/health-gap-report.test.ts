import { describe, expect, test } from 'vitest'
import { describeGap } from '../../src/health/gap-report.ts'
import { defaultSender, describeSchedule } from '../../src/health/senders.ts'
import type { GapRecord } from '../../src/inbox/port.ts'
import { undocumented, type Retries } from '../../src/sources/provider.ts'
import { outlookAfter } from '../../src/base/retry-schedule.ts'

const minute = 60_000
const hour = 60 * minute
const start = Date.UTC(2026, 0, 1, 12)

function gapOf(lengthMs: number, change: Partial<GapRecord> = {}): GapRecord {
  const span = { from: start, to: start + lengthMs }
  const none = { arrived: 0, arrivedLost: 0, lastArrivalAt: null, acknowledgedAt: null }
  return { ...span, kind: 'killed', ...outlookAfter(span), ...none, ...change }
}

const retryScheduleText = describeSchedule(defaultSender)
const linesOf = (gap: GapRecord) => describeGap(gap, [gap], [defaultSender])

describe('the gap report', () => {
  test('R81–R86 describes the retry schedule of the sender', () => {
    expect(retryScheduleText).toBe(
      'The sender retries a failed delivery 1 min, 5 min, 30 min, 2 h and 8 h after the previous failure. ' +
        'It drops the event when the sixth attempt fails, 10 h 36 min after the first.',
    )
  })

  test('describes the schedule of other senders as far as it is documented', () => {
    const textOf = (retries: Partial<Retries>) =>
      describeSchedule({ ...defaultSender, source: 'desk', retries: { ...undocumented, ...retries } })
    expect(textOf({ delaysMs: [60_000, 600_000] })).toMatch(/2 times within 11 min/)
    expect(textOf({ windowMs: hour })).toMatch(/a failed delivery within 1 h/)
    expect(textOf({ delaysMs: [] })).toBe('The sender never retries.')
    expect(textOf({ maxAttempts: 5 })).toBe('The sender makes up to 5 attempts. When it makes them is not documented.')
    expect(textOf({})).toMatch(/not documented, or set at the sender/)
  })

  test('of forty minutes has the retry for each part, and that nothing is lost', () => {
    expect(linesOf(gapOf(40 * minute)).filter((line) => line !== retryScheduleText)).toEqual([
      'Out of service for 40 min, from 2026-01-01 12:00:00 UTC to 2026-01-01 12:40:00 UTC: killed or crashed.',
      'Events first sent from 2026-01-01 12:39:00 UTC to 2026-01-01 12:40:00 UTC arrive with retry 1, 1 min after the previous attempt, by 2026-01-01 12:41:30 UTC.',
      'Events first sent from 2026-01-01 12:34:00 UTC to 2026-01-01 12:39:00 UTC arrive with retry 2, 5 min after the previous attempt, by 2026-01-01 12:45:30 UTC.',
      'Events first sent from 2026-01-01 12:04:00 UTC to 2026-01-01 12:34:00 UTC arrive with retry 3, 30 min after the previous attempt, by 2026-01-01 13:10:30 UTC.',
      'Events first sent from 2026-01-01 12:00:00 UTC to 2026-01-01 12:04:00 UTC arrive with retry 4, 2 h after the previous attempt, by 2026-01-01 14:40:30 UTC.',
      'The last retry arrives by 2026-01-01 14:40:30 UTC: nothing is lost.',
    ])
  })

  test('of a day has lost events, advice, and later arrivals', () => {
    const text = linesOf(gapOf(24 * hour, { arrived: 7, arrivedLost: 2, lastArrivalAt: start + 30 * hour })).join('\n')
    expect(text).toContain(
      'Lost: events first sent from 2026-01-01 12:00:00 UTC to 2026-01-02 01:24:00 UTC were dropped',
    )
    expect(text).toContain("replay the deliveries of that time in the upstream's dashboard")
    expect(text).toContain('onchain-inbox doctor --acknowledge')
    expect(text).toContain('7 events created in that time arrived since')
    expect(text).toContain('2 of them from the lost time')
    expect(text).not.toContain('nothing is lost')
  })

  test('of a restored backup says that the sender does not retry', () => {
    const restored = gapOf(hour, { kind: 'restored', retriedUntil: null, lost: { from: start, to: start + hour } })
    const [first, second, third] = linesOf(restored)
    expect(first).toMatch(/restored from a backup/)
    expect(second).toMatch(/does not send them again/)
    expect(third).toMatch(/^Lost: /)
  })
})
