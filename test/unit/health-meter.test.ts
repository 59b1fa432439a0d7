import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createMeter } from '../../src/health/meter.ts'
import { createMeters } from '../../src/health/senders.ts'
import { resolveSources } from '../../src/sources/settings.ts'

const minute = 60_000
const hour = 60 * minute

describe('the meter', () => {
  test('R79 counts a response after more than 5 s as a failure', () => {
    const meter = createMeter(createTestClock())
    expect(meter.summary(hour)).toMatchObject({ successRate: null, p50Ms: null, maxMs: null })
    meter.acknowledged(5_000)
    meter.acknowledged(5_000.1)
    meter.refused()
    meter.rejected('mismatch')
    expect(meter.summary(minute)).toMatchObject({ deliveries: 3, acknowledged: 1, late: 1, refused: 1 })
    expect(meter.summary(minute).successRate).toBeCloseTo(1 / 3)
    expect(meter.totals()).toEqual({ acknowledged: 1, late: 1, refused: 1, unusable: 0 })
    expect(meter.mismatches(minute)).toBe(1)
  })

  test('R79 counts unusable events as failures if they are answered 422', () => {
    const clock = createTestClock()
    const meters = [createMeter(clock), createMeter(clock, 422)] as const
    for (const meter of meters) meter.stored('quarantined')
    meters[0].acknowledged(5)
    expect(meters[0].summary(minute)).toMatchObject({ deliveries: 1, unusable: 0, successRate: 1 })
    expect(meters[1].summary(minute)).toMatchObject({ deliveries: 1, unusable: 1, successRate: 0, maxMs: null })
    expect(meters[1].totals()).toEqual({ acknowledged: 0, late: 0, refused: 0, unusable: 1 })
    const now = clock.now()
    expect(meters[1].acks({ from: now - hour, to: now + 1, bucketMs: minute })).toMatchObject([
      { acknowledged: 0, refused: 1 },
    ])
  })

  test('counts possible deliveries among rejects by reason, and none as a delivery', async () => {
    const clock = createTestClock()
    const meter = createMeter(clock)
    const reasons = [
      'body_too_large',
      'body_too_large',
      'content_encoding_unsupported',
      'bad_request',
      'body_incomplete',
    ]
    for (const reason of [...reasons, 'not_found', 'method_not_allowed', 'missing', 'mismatch']) meter.rejected(reason)
    const counted = { body_too_large: 2, content_encoding_unsupported: 1, bad_request: 1, body_incomplete: 1 }
    expect(meter.rejections(5 * minute)).toMatchObject(counted)
    expect(meter.summary(hour)).toMatchObject({ deliveries: 0, successRate: null })
    await clock.advance(5 * minute + 1_000)
    expect(meter.rejections(5 * minute)).toMatchObject({ body_too_large: 0, body_incomplete: 0 })
  })

  test('keeps seconds for an hour and minutes for a day', async () => {
    const clock = createTestClock()
    const meter = createMeter(clock)
    meter.acknowledged(10)
    await clock.advance(hour - 1_000)
    expect(meter.summary(hour).deliveries).toBe(1)
    expect(meter.summary(59 * minute).deliveries).toBe(0)
    await clock.advance(2_000)
    meter.acknowledged(20)
    expect(meter.summary(hour)).toMatchObject({ deliveries: 1, maxMs: 20, windowMs: hour })
    const day = { from: clock.now() - 24 * hour, to: clock.now() + 1, bucketMs: 15 * minute }
    expect(meter.acks(day)).toHaveLength(2)
    await clock.advance(23 * hour)
    expect(meter.acks({ ...day, from: clock.now() - 24 * hour, to: clock.now() })).toHaveLength(1)
  })

  test('counts requests without a valid signature; at a source also those without its headers or keys', () => {
    const source = resolveSources({ desk: { provider: 'github', path: '/a', secrets: 'a-long-secret' } }, []).sources
    const { senders } = createMeters({
      clock: createTestClock(),
      unusableStatus: 200,
      hasDefaultSource: true,
      sources: source,
    })
    for (const { meter } of senders)
      for (const reason of ['mismatch', 'missing', 'malformed', 'repeated', 'unknown_key', 'old_timestamp'])
        meter.rejected(reason)
    expect(senders.map(({ meter }) => meter.mismatches(hour))).toEqual([1, 5])
  })

  test('groups responses into buckets, and skips empty ones', async () => {
    const clock = createTestClock()
    const from = clock.now()
    const meter = createMeter(clock)
    meter.acknowledged(10)
    await clock.advance(minute)
    meter.acknowledged(100)
    meter.refused()
    await clock.advance(9 * minute)
    meter.acknowledged(6_000)
    const buckets = meter.acks({ from, to: from + 15 * minute, bucketMs: 5 * minute })
    expect(buckets).toEqual([
      { at: from, p50Ms: 10, p99Ms: 100, acknowledged: 2, refused: 1 },
      { at: from + 10 * minute, p50Ms: 6_000, p99Ms: 6_000, acknowledged: 0, refused: 1 },
    ])
  })
})
