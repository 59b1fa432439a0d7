import type { Cadence } from '../index-port.ts'

/** What is counted of one type on one network. */
export type CadenceCounts = Omit<Cadence, 'type' | 'network'>

/** From 2 s to 2^31 s, which is longer than any of this. */
const mostBuckets = 31

/** Counts an event that was received at a time; `known` is undefined for the first one. A clock that was set back makes no gap. */
export function addToCadence(known: CadenceCounts | undefined, at: number): CadenceCounts {
  if (known === undefined) return { firstAt: at, lastAt: at, count: 1, gaps: [] }
  const bucket = bucketOf(Math.max(0, at - known.lastAt))
  const gaps = Array.from({ length: Math.max(known.gaps.length, bucket + 1) }, (_, index) => {
    return (known.gaps[index] ?? 0) + (index === bucket ? 1 : 0)
  })
  return {
    firstAt: known.firstAt,
    lastAt: Math.max(known.lastAt, at),
    count: known.count + 1,
    gaps,
  }
}

function bucketOf(gapMs: number): number {
  return gapMs < 2_000 ? 0 : Math.min(mostBuckets - 1, Math.floor(Math.log2(gapMs / 1_000)))
}
