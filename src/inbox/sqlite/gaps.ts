import type { Clock } from '../../base/clock.ts'
import { retryPeriodMs, outlookAfter, type Span } from '../../base/retry-schedule.ts'
import { createGapWatch, maxSilenceMs, maxGapsKept, maxGapsWatched, minGapMs, watchedMs } from '../gap-watch.ts'
import type { Acknowledged, GapRecord } from '../port.ts'
import type { Statements } from './statements.ts'

/** Records gaps, and counts late events that were created in them. Call every method except `arrived` and `forget` in a transaction. */
export function createGaps(sql: Statements, clock: Clock) {
  const late = createGapWatch()
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
    late.watch(sql.gaps.all(clock.now() - watchedMs, maxGapsWatched))
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
    arrived: (event: Parameters<typeof late.arrived>[0]) => late.arrived(event),
    /** Stores the counts since the last call. Call in the transaction of their events. */
    flush(): void {
      for (const { id, arrived, arrivedLost } of late.take())
        sql.countArrivals.run(arrived, arrivedLost, clock.now(), id)
    },
    /** Resets the counts. Call after a rollback. */
    forget: () => void late.take(),
  }
}
