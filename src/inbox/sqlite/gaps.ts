import type { Clock } from '../../base/clock.ts'
import { ladderMs, outlookAfter, type Span } from '../../base/ladder.ts'
import { maxSilenceMs, maxGapsKept, maxGapsWatched, minGapMs, watchedMs } from '../gap-limits.ts'
import { internalLabel, type Acknowledged, type GapRecord, type NewEvent } from '../port.ts'
import type { GapRow, Statements } from './statements.ts'

interface WatchedGap extends GapRow {
  arrived: number
  arrivedLost: number
}

/** The times in which no deliveries were taken, and what came later of the events that were created then. */
export function createGaps(sql: Statements, clock: Clock) {
  let watched: WatchedGap[] = []
  let isServing = false

  /** When deliveries are last known to have been taken: at a heartbeat, or when the last event came, unless the clock was set back since. */
  function lastTaken(): number {
    const received = sql.lastReceived.get()?.receivedAt ?? 0
    return Math.max(sql.meta.get('served_at')?.value ?? 0, received > clock.now() ? 0 : received)
  }

  function record({ from, to }: Span, kind: GapRecord['kind']): void {
    const { retriedUntil, lost } = outlookAfter({ from, to }, sql.outages.all(from - ladderMs))
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
     * The file is open. If it was restored from a backup, what was accepted since that was made is gone, and the sender, who was
     * answered 200, does not try it again; nor does it what failed before, and was taken only then.
     */
    opened(): void {
      const to = sql.meta.get('restored_at')?.value ?? 0
      if (to === 0) return
      sql.setMeta.run('restored_at', 0)
      const from = Math.min(lastTaken(), to)
      if (from === 0) return
      sql.insertGap.run(from, to, 'restored', null, sql.firstRetried.get(from)?.from ?? from, to)
      sql.setMeta.run('served_at', to)
    },
    /** Deliveries are taken from now on: what lies between the last time that they were and now is a gap. */
    start(): void {
      const now = clock.now()
      const from = lastTaken()
      const isFirst = sql.meta.get('served_at') === undefined
      if (!isFirst && now - from >= minGapMs)
        record({ from, to: now }, sql.meta.get('served_to_end')?.value === 1 ? 'stopped' : 'killed')
      watch()
      isServing = true
      sql.setMeta.run('served_at', now)
      sql.setMeta.run('served_to_end', 0)
    },
    /** They still are. Gives the time in which this process, or its clock, stood still, if it did. */
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
    /** They are not any more. */
    end(): void {
      if (!isServing) return
      sql.setMeta.run('served_at', clock.now())
      sql.setMeta.run('served_to_end', 1)
    },
    /** What is missing or lost was seen to. */
    acknowledge(): Acknowledged {
      const missingSeqs = sql.meta.get('missing_seqs')?.value ?? 0
      sql.setMeta.run('missing_seqs', 0)
      return { missingSeqs, gaps: sql.acknowledgeGaps.run(clock.now()).changes }
    },
    /** An event is new: it may be one that was awaited. */
    arrived({ createdAt, secretLabel }: Pick<NewEvent, 'createdAt' | 'secretLabel'>): void {
      // The inbox's own warnings make up for nothing that the sender sent.
      if (watched.length === 0 || secretLabel === internalLabel) return
      const at = Date.parse(createdAt)
      for (const gap of watched) {
        const isLost = gap.lostFrom !== null && gap.lostTo !== null && at >= gap.lostFrom && at < gap.lostTo
        if (isLost) gap.arrivedLost++
        if (isLost || (at >= gap.from && at < gap.to)) gap.arrived++
      }
    },
    /** Stores what was counted since the last call, in the transaction in which it came. */
    flush(): void {
      for (const gap of watched) {
        if (gap.arrived > 0) sql.countArrivals.run(gap.arrived, gap.arrivedLost, clock.now(), gap.id)
        gap.arrived = 0
        gap.arrivedLost = 0
      }
    },
    /** What was counted is not going to be stored. */
    forget(): void {
      for (const gap of watched) {
        gap.arrived = 0
        gap.arrivedLost = 0
      }
    },
  }
}
