import type { AckBucket } from '../../health/port.ts'
import type { Activity, ActivityQuery } from '../../inbox/index-port.ts'
import type { ActivityJson } from '../answers/health.ts'
import { isoTime } from '../json/common.ts'

const minuteMs = 60_000
const spans = {
  hour: { bucketMs: minuteMs, buckets: 60 },
  day: { bucketMs: 15 * minuteMs, buckets: 96 },
} as const

const mostSeries = 20
/** What the series of all that have none of their own is called. */
const others = 'other'

/** The buckets of a window that ends with the one that `now` is in. */
export function activityQuery(window: ActivityJson['window'], now: number): ActivityQuery {
  const { bucketMs, buckets } = spans[window]
  const to = (Math.floor(now / bucketMs) + 1) * bucketMs
  return { from: to - buckets * bucketMs, to, bucketMs }
}

/** A bucket for each, also where nothing came; the twenty largest series of types and of networks, and the rest as one. */
export function toActivityJson(
  window: ActivityJson['window'],
  { from, to, bucketMs }: ActivityQuery,
  rows: readonly Activity[],
  acks: readonly AckBucket[],
): ActivityJson {
  const length = Math.round((to - from) / bucketMs)
  const placeOf = (at: number) => Math.floor((at - from) / bucketMs)
  const within = rows.filter(({ at }) => at >= from && at < to)
  const ackAt = new Map(acks.map((bucket) => [placeOf(bucket.at), bucket]))
  const totals = seriesOf(within, length, placeOf)

  return {
    window,
    bucket_s: bucketMs / 1_000,
    buckets: totals.map((count, place) => ({
      at: isoTime(from + place * bucketMs),
      events: count,
      acks: toAcksJson(ackAt.get(place)),
    })),
    by_type: largest(within, ({ type }) => type, length, placeOf).map(({ name, ...row }) => ({
      type: name ?? others,
      ...row,
    })),
    by_network: largest(within, ({ network }) => network, length, placeOf).map(({ name, ...row }) => ({
      network: name,
      ...row,
    })),
  }
}

function toAcksJson(bucket: AckBucket | undefined): ActivityJson['buckets'][number]['acks'] {
  return bucket === undefined ? null : { p50_ms: bucket.p50Ms, p99_ms: bucket.p99Ms, refused: bucket.refused }
}

interface Series {
  readonly name: string | null
  readonly count: number
  readonly series: number[]
}

function largest(
  rows: readonly Activity[],
  nameOf: (row: Activity) => string | null,
  length: number,
  placeOf: (at: number) => number,
): readonly Series[] {
  const all = [...Map.groupBy(rows, nameOf)]
    .map(([name, own]) => ({ name, ...summed(own) }))
    .toSorted((a, b) => b.count - a.count || (a.name ?? '').localeCompare(b.name ?? '', 'en'))
  const rest = all.slice(mostSeries).flatMap(({ rows: own }) => own)
  const shown = rest.length === 0 ? all : [...all.slice(0, mostSeries), { name: others, ...summed(rest) }]
  return shown.map(({ name, count, rows: own }) => ({ name, count, series: seriesOf(own, length, placeOf) }))
}

function summed(rows: readonly Activity[]) {
  return { rows, count: rows.reduce((sum, { count }) => sum + count, 0) }
}

function seriesOf(rows: readonly Activity[], length: number, placeOf: (at: number) => number): number[] {
  const series = Array.from({ length }, () => 0)
  for (const { at, count } of rows) {
    const place = placeOf(at)
    series[place] = (series[place] ?? 0) + count
  }
  return series
}
