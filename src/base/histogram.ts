const steps = [1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.25, 2.5, 2.75, 3, 3.3, 3.6, 4, 4.5, 5, 5.5, 6, 6.5, 7.2, 8, 9]

/** Upper bounds of the buckets in milliseconds, from 0.1 ms to 5 min. Each is at most 15 % above the previous one. */
const edgesMs: readonly number[] = [-1, 0, 1, 2, 3, 4, 5]
  .flatMap((power) => steps.map((step) => step * 10 ** power))
  .filter((edge) => edge <= 300_000)

/** The members of a histogram that it keeps when it is sent to another thread. */
export interface HistogramData {
  /** Observations per bucket. The last bucket takes everything above 5 min. */
  readonly counts: Uint32Array
  readonly totalMs: number
  readonly maxMs: number
}

/** Counts durations in milliseconds. Observing allocates nothing. */
export class Histogram implements HistogramData {
  readonly counts = new Uint32Array(edgesMs.length + 1)
  totalMs = 0
  maxMs = 0

  observe(ms: number): void {
    const bucket = bucketOf(ms)
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.totalMs += ms
    if (ms > this.maxMs) this.maxMs = ms
  }

  add({ counts, totalMs, maxMs }: HistogramData): void {
    for (const [bucket, count] of counts.entries()) this.counts[bucket] = (this.counts[bucket] ?? 0) + count
    this.totalMs += totalMs
    this.maxMs = Math.max(this.maxMs, maxMs)
  }

  /** Number of observations up to `ms`, which must be a bucket's upper bound; all of them for Infinity. */
  countUpTo(ms: number): number {
    return this.counts.subarray(0, bucketOf(ms) + 1).reduce((sum, count) => sum + count, 0)
  }

  /** Quantile `q` (0 to 1) in milliseconds, at most 15 % too high and never above the maximum; null without observations. */
  quantile(q: number): number | null {
    const total = this.countUpTo(Infinity)
    if (total === 0) return null
    let below = 0
    const bucket = this.counts.findIndex((count) => (below += count) > 0 && below >= q * total)
    return Math.min(this.maxMs, edgesMs[bucket] ?? Infinity)
  }
}

function bucketOf(ms: number): number {
  let [low, high] = [0, edgesMs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ms <= (edgesMs[middle] ?? Infinity)) high = middle
    else low = middle + 1
  }
  return low
}
