/** Buckets in an octave: each is 9 % wider than the one before. */
const perOctave = 8
const shortestMs = 0.1
const longestMs = 60_000

/** How many buckets there are: the first is up to 0.1 ms, the last takes all that is longer than a minute. */
export const ackBuckets = Math.ceil(Math.log2(longestMs / shortestMs) * perOctave) + 1

/** The bucket of a time in milliseconds. */
export function ackBucketOf(ms: number): number {
  if (!(ms > shortestMs)) return 0
  return Math.min(ackBuckets - 1, Math.ceil(Math.log2(ms / shortestMs) * perOctave))
}

/** The quantile `q` (0 to 1) in milliseconds, of what was counted, at most 9 % too long, and never above `maxMs`. Null: nothing was. */
export function ackQuantile(counts: ArrayLike<number>, q: number, maxMs: number): number | null {
  let total = 0
  for (let bucket = 0; bucket < ackBuckets; bucket++) total += counts[bucket] ?? 0
  if (total === 0) return null
  let below = 0
  for (let bucket = 0; bucket < ackBuckets; bucket++) {
    below += counts[bucket] ?? 0
    if (below >= q * total) return Math.min(maxMs, shortestMs * 2 ** (bucket / perOctave))
  }
  return maxMs
}
