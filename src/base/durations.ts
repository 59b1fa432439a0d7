/** Upper ends of the buckets that durations are counted in, in milliseconds; one more bucket takes what is longer. */
export const durationEdgesMs: readonly number[] = [0, 1, 2, 3, 4, 5].flatMap((power) =>
  [1, 1.5, 2, 3, 5, 7].map((step) => step * 10 ** power),
)

/** Counts by bucket, as many as there are edges and one. */
export type DurationCounts = number[]

export function noDurations(): DurationCounts {
  return Array.from({ length: durationEdgesMs.length + 1 }, () => 0)
}

/** Counts a duration in milliseconds. */
export function countDuration(counts: DurationCounts, ms: number): void {
  const bucket = durationBucket(ms)
  counts[bucket] = (counts[bucket] ?? 0) + 1
}

/** The bucket of a duration in milliseconds. */
export function durationBucket(ms: number): number {
  const index = durationEdgesMs.findIndex((edge) => ms <= edge)
  return index === -1 ? durationEdgesMs.length : index
}

/** Adds counts to others, bucket by bucket. */
export function addDurations(to: DurationCounts, counts: readonly number[]): void {
  for (const [bucket, count] of counts.entries()) to[bucket] = (to[bucket] ?? 0) + count
}

/** The quantile `q` (0 to 1) in milliseconds, to within its bucket; null where nothing was counted. */
export function durationQuantile(counts: readonly number[], q: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let below = 0
  for (const [bucket, count] of counts.entries()) {
    const isHere = count > 0 && below + count >= q * total
    if (isHere) {
      const from = durationEdgesMs[bucket - 1] ?? 0
      const to = durationEdgesMs[bucket] ?? from
      return from + (to - from) * Math.max(0, (q * total - below) / count)
    }
    below += count
  }
  return durationEdgesMs.at(-1) ?? 0
}
