/** Counting much takes one part in so many of the time, however often it is asked for. */
const shareOfTime = 20
const shortestKeptMs = 1_000
/** Nobody is given what was counted longer ago. */
const longestKeptMs = 60_000

/**
 * Gives what `count` counts, which takes long; and the same again for some time, by how long it took, while it is counted anew in the
 * background. `elapsed`: milliseconds of a clock that is never set.
 */
export function createKept<T>(
  count: () => Promise<T>,
  elapsed: () => number = () => performance.now(),
): () => Promise<T> {
  let kept: { readonly value: T; readonly at: number; readonly keptMs: number } | undefined
  let counting: Promise<T> | undefined

  async function countAnew(): Promise<T> {
    const startedAt = elapsed()
    const value = await count()
    const at = elapsed()
    kept = { value, at, keptMs: Math.max(shortestKeptMs, (at - startedAt) * shareOfTime) }
    return value
  }

  return async () => {
    const ageMs = kept === undefined ? Infinity : elapsed() - kept.at
    if (kept !== undefined && ageMs <= kept.keptMs) return kept.value
    counting ??= countAnew().finally(() => (counting = undefined))
    if (kept === undefined || ageMs > Math.max(longestKeptMs, 2 * kept.keptMs)) return counting
    // What nobody waits for may fail: the next one who asks tries again.
    counting.catch(() => {})
    return kept.value
  }
}
