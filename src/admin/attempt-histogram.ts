import type { Histogram, Registry } from 'prom-client'
import type { SettledCount } from '../dispatch/runner-protocol.ts'
import { addDurations, durationEdgesMs, noDurations, type DurationCounts } from '../base/durations.ts'

const name = 'inbox_attempt_duration_seconds'
/** Of the finer buckets that attempts are counted in. */
const shownEdgesMs: ReadonlySet<number> = new Set([
  1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 100_000, 300_000,
])

interface Row {
  readonly handler: string
  totalMs: number
  readonly durations: DurationCounts
}

/**
 * How long attempts of a handler took, as a histogram. They come counted from the handlers' thread, many at a time: a Histogram of
 * prom-client could take them one by one only, so it is written here as the registry would write one.
 */
export function createAttemptHistogram(registry: Registry): { add(counted: SettledCount): void } {
  const rows = new Map<string, Row>()

  function valuesOf({ handler, totalMs, durations }: Row) {
    let count = 0
    const buckets = durations.flatMap((ofBucket, bucket) => {
      count += ofBucket
      const edgeMs = durationEdgesMs[bucket] ?? Infinity
      if (edgeMs !== Infinity && !shownEdgesMs.has(edgeMs)) return []
      const le = edgeMs === Infinity ? '+Inf' : edgeMs / 1_000
      return [{ metricName: `${name}_bucket`, labels: { handler, le }, value: count }]
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: { handler }, value: totalMs / 1_000 },
      { metricName: `${name}_count`, labels: { handler }, value: count },
    ]
  }

  const help = 'Time that attempts of a handler took'
  const metric = {
    name,
    help,
    async get() {
      return { name, help, type: 'histogram', aggregator: 'sum', values: [...rows.values()].flatMap(valuesOf) }
    },
  }
  registry.registerMetric(metric as unknown as Histogram)

  return {
    add({ handler, totalMs, durations }) {
      const row = rows.get(handler) ?? { handler, totalMs: 0, durations: noDurations() }
      row.totalMs += totalMs
      addDurations(row.durations, durations)
      rows.set(handler, row)
    },
  }
}
