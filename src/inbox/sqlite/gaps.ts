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

/** The times in which no deliveries were taken, and what came later of the events that were created then. */
export function createGaps(sql: Statements, clock: Clock) {
  let watched: WatchedGap[] = []
  let isServing = false

  return {
    /** Deliveries are taken from now on: what lies between the last time that they were and now is a gap. */
    start(): void {
      const now = clock.now()
      const servedAt = sql.meta.get('served_at')?.value
      if (servedAt !== undefined && now - servedAt >= shortestGapMs) {
        sql.insertGap.run(servedAt, now, sql.meta.get('served_to_end')?.value ?? 0)
        sql.deleteGaps.run(mostKept)
      }
      watched = sql.gaps.all(now - watchedMs, mostWatched).map((gap) => ({ ...gap, arrived: 0 }))
      isServing = true
      sql.setMeta.run('served_at', now)
      sql.setMeta.run('served_to_end', 0)
    },
    /** They still are. */
    beat(): void {
      if (isServing) sql.setMeta.run('served_at', clock.now())
    },
    /** They are not any more. */
    end(): void {
      if (!isServing) return
      sql.setMeta.run('served_at', clock.now())
      sql.setMeta.run('served_to_end', 1)
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
