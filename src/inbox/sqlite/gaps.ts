import type { Clock } from '../../base/clock.ts'
import { retryPeriodMs, outlookAfter, type Span } from '../../base/retry-schedule.ts'
import { maxSilenceMs, maxGapsKept, maxGapsWatched, minGapMs, watchedMs } from '../gap-limits.ts'
import { internalLabel, type Acknowledged, type GapRecord, type NewEvent } from '../port.ts'
import type { GapRow, Statements } from './statements.ts'

interface WatchedGap extends GapRow {
  arrived: number
  arrivedLost: number
}

/** Records gaps, and counts late events that were created in them. Call every method except `arrived` and `forget` in a transaction. */
export function createGaps(sql: Statements, clock: Clock) {
  let watched: WatchedGap[] = []
  let isServing = false

  /** When deliveries were last accepted: at the last heartbeat or event. Ignores an event from before the clock was set back. */
  function lastAccepted(): number {
    const received = sql.lastReceived.get()?.receivedAt ?? 0
    return Math.max(sql.meta.get('served_at')?.value ?? 0, received > clock.now() ? 0 : received)
  }

  function record({ from, to }: Span, kind: GapRecord['kind']): void {
    const { retriedUntil, lost } = outlookAfter({ from, to }, sql.outages.all(from - retryPeriodMs))
    sql.insertGap.run(from, to, kind, retriedUntil, lost?.from ?? null, lost?.to ?? null)
    sql.deleteGaps.run(maxGapsKept)
  }

  function watch(): void {
    watched = sql.gaps
      .all(clock.now() - watchedMs, maxGapsWatched)
      .map((gap) => ({ ...gap, arrived: 0, arrivedLost: 0 }))
  }

  return {
    /**
     * Records a gap for a restored file: events accepted since the backup are missing, and the sender doesn't retry them, as it got a 2xx.
     * The loss includes retries of earlier deliveries that were accepted after the backup.
     */
    opened(): void {
      const to = sql.meta.get('restored_at')?.value ?? 0
      if (to === 0) return
      sql.setMeta.run('restored_at', 0)
      const from = Math.min(lastAccepted(), to)
      if (from === 0) return
      sql.insertGap.run(from, to, 'restored', null, sql.firstRetried.get(from)?.from ?? from, to)
      sql.setMeta.run('served_at', to)
    },
    /** Deliveries are accepted from now on. Records the time since they were last accepted as a gap. */
    start(): void {
      const now = clock.now()
      const from = lastAccepted()
      const isFirst = sql.meta.get('served_at') === undefined
      if (!isFirst && now - from >= minGapMs)
        record({ from, to: now }, sql.meta.get('served_to_end')?.value === 1 ? 'stopped' : 'killed')
      watch()
      isServing = true
      sql.setMeta.run('served_at', now)
      sql.setMeta.run('served_to_end', 0)
    },
    /** Heartbeat while deliveries are accepted. Returns the gap if this process stood still or its clock jumped. */
    beat(): Span | null {
      if (!isServing) return null
      const now = clock.now()
      const servedAt = sql.meta.get('served_at')?.value ?? now
      const gap = now - servedAt > maxSilenceMs ? { from: servedAt, to: now } : null
      if (gap !== null) {
        record(gap, 'stood_still')
        watch()
      }
      sql.setMeta.run('served_at', now)
      return gap
    },
    /** Deliveries are no longer accepted. */
    end(): void {
      if (!isServing) return
      sql.setMeta.run('served_at', clock.now())
      sql.setMeta.run('served_to_end', 1)
    },
    acknowledge(): Acknowledged {
      const missingSeqs = sql.meta.get('missing_seqs')?.value ?? 0
      sql.setMeta.run('missing_seqs', 0)
      return { missingSeqs, gaps: sql.acknowledgeGaps.run(clock.now()).changes }
    },
    /** Counts a new event as late if it was created in a watched gap. */
    arrived({ createdAt, secretLabel }: Pick<NewEvent, 'createdAt' | 'secretLabel'>): void {
      // The inbox's own warnings are not late deliveries of the sender.
      if (watched.length === 0 || secretLabel === internalLabel) return
      const at = Date.parse(createdAt)
      for (const gap of watched) {
        const isLost = gap.lostFrom !== null && gap.lostTo !== null && at >= gap.lostFrom && at < gap.lostTo
        if (isLost) gap.arrivedLost++
        if (isLost || (at >= gap.from && at < gap.to)) gap.arrived++
      }
    },
    /** Stores the counts since the last call. Call in the transaction of their events. */
    flush(): void {
      for (const gap of watched) {
        if (gap.arrived > 0) sql.countArrivals.run(gap.arrived, gap.arrivedLost, clock.now(), gap.id)
        gap.arrived = 0
        gap.arrivedLost = 0
      }
    },
    /** Resets the counts. Call after a rollback. */
    forget(): void {
      for (const gap of watched) {
        gap.arrived = 0
        gap.arrivedLost = 0
      }
    },
  }
}
