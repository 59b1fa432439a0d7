import type { Clock } from '../../clock.ts'
import type { Statements } from './statements.ts'

/** A process is replaced in less. */
const shortestGapMs = 1_000
const mostKept = 1_000
/** So many of the last gaps, not longer ago than this, are watched for events that come after all. */
const mostWatched = 20
const watchedMs = 30 * 24 * 3_600_000

interface WatchedGap {
  readonly id: number
  readonly fromAt: number
  readonly toAt: number
  arrived: number
}

/** The times in which no process was at work, and what came later of the events that were created then. */
export function createGaps(sql: Statements, clock: Clock) {
  let watched: WatchedGap[] = []

  return {
    /** To be called once, in the first transaction. `seenAt`: when the process before was last known to live. */
    open(seenAt: number, cleanStop: boolean): void {
      const now = clock.now()
      if (seenAt > 0 && now - seenAt >= shortestGapMs) {
        sql.insertGap.run(seenAt, now, cleanStop ? 1 : 0)
        sql.deleteGaps.run(mostKept)
      }
      watched = sql.gaps.all(now - watchedMs, mostWatched).map((gap) => ({ ...gap, arrived: 0 }))
    },
    /** An event is new: it may be one that was awaited. */
    arrived(createdAt: string): void {
      if (watched.length === 0) return
      const at = Date.parse(createdAt)
      for (const gap of watched) if (at >= gap.fromAt && at < gap.toAt) gap.arrived++
    },
    /** Stores what was counted since the last call, in the transaction in which it came. */
    flush(): void {
      for (const gap of watched) {
        if (gap.arrived > 0) sql.countArrivals.run(gap.arrived, clock.now(), gap.id)
        gap.arrived = 0
      }
    },
    /** What was counted is not going to be stored. */
    forget(): void {
      for (const gap of watched) gap.arrived = 0
    },
  }
}
