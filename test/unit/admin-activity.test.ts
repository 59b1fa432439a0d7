import { expect, test } from 'vitest'
import { activityQuery, toActivityJson } from '../../src/admin/overview.ts'
import type { Activity } from '../../src/inbox/port.ts'

const now = Date.UTC(2026, 0, 31, 14, 3, 22, 500)
const minuteMs = 60_000

test('an hour has 60 buckets of a minute, a day 96 of 15 minutes, and the last one contains now', () => {
  for (const [window, minutes, buckets] of [
    ['hour', 1, 60],
    ['day', 15, 96],
  ] as const) {
    const { from, to, bucketMs } = activityQuery(window, now)
    expect([bucketMs, (to - from) / bucketMs]).toEqual([minutes * minuteMs, buckets])
    expect(to > now && to - bucketMs <= now).toBe(true)
    expect(from % bucketMs).toBe(0)
  }
})

test('buckets include empty ones, and measured responses', () => {
  const query = activityQuery('hour', now)
  const at = (bucket: number) => query.from + bucket * minuteMs
  const rows: Activity[] = [
    { at: at(0), type: 'a', network: 'base', count: 2 },
    { at: at(59), type: 'a', network: null, count: 1 },
    { at: at(59), type: 'b', network: 'base', count: 4 },
  ]
  const acks = [{ at: at(59), p50Ms: 1, p99Ms: 9, acknowledged: 5, refused: 1 }]
  const { buckets, by_type: byType, ...rest } = toActivityJson('hour', query, rows, acks)
  expect(rest).toEqual({ window: 'hour', bucket_s: 60 })
  expect(buckets).toHaveLength(60)
  expect(buckets[0]).toEqual({ at: '2026-01-31T13:04:00.000Z', events: 2, acks: null })
  expect(buckets[1]).toEqual({ at: '2026-01-31T13:05:00.000Z', events: 0, acks: null })
  expect(buckets[59]).toEqual({
    at: '2026-01-31T14:03:00.000Z',
    events: 5,
    acks: { p50_ms: 1, p99_ms: 9, acknowledged: 5, refused: 1 },
  })
  expect(byType.map(({ type, count, series }) => [type, count, series[0], series[59]])).toEqual([
    ['b', 4, 0, 4],
    ['a', 3, 2, 1],
  ])
})

test('the twenty largest types have a series, and the rest is summed up', () => {
  const query = activityQuery('day', now)
  const rows = Array.from({ length: 30 }, (_, n) => ({ at: query.from, type: `t${n}`, network: null, count: n + 1 }))
  const countsOf = (some: readonly Activity[]) =>
    toActivityJson('day', query, some, []).by_type.map(({ count }) => count)
  const largest = Array.from({ length: 20 }, (_, n) => 30 - n)
  expect(countsOf(rows.slice(10))).toEqual(largest)
  expect(countsOf(rows)).toEqual([...largest, 55])
  expect(toActivityJson('day', query, rows, []).by_type.at(-1)).toMatchObject({
    type: 'other',
    series: [55, ...Array<number>(95).fill(0)],
  })
})
