import type { Database } from 'better-sqlite3'
import type { Clock } from '../../clock.ts'
import { eventStatuses, runStates, type PruneLimits } from '../port.ts'
import { deriveEventStatus } from '../status.ts'
import type { HandlerTable } from './handlers.ts'
import type { Memo } from './memo.ts'
import type { Statements } from './statements.ts'

export interface PruneResult {
  readonly events: number
  /** Where to go on; null: nothing is left to prune. */
  readonly after: number | null
  /** Whether there is more than `maxBytes` still. */
  readonly isTooLarge: boolean
}

/** A transaction that deletes more would hold up acknowledgements. */
const mostPruned = 200
const mostLookedAt = 1_000
const pagesPerVacuum = 500
/** So many unused pages, or this part of all, are kept for what comes. */
const keptPages = 1_000
const keptShare = 0.1
/** What is younger is not pruned for its size: it may be looked at, or come again. */
const shortestKeptMs = 3_600_000

export interface PruningOptions {
  readonly db: Database
  readonly sql: Statements
  readonly memo: Memo
  readonly handlers: Pick<HandlerTable, 'isRegistered' | 'backfilling' | 'ids'>
  readonly clock: Clock
}

/** Takes old bodies out of the file, and gives the space back, a bounded piece at a time. */
export function createPruning({ db, sql, memo, handlers, clock }: PruningOptions) {
  const pages = (name: 'page_count' | 'freelist_count' | 'page_size') => Number(db.pragma(name, { simple: true }))

  /** What is in the file, without the space that is free in it. */
  function usedBytes(): number {
    return (pages('page_count') - pages('freelist_count')) * pages('page_size')
  }

  /** From there on in the accept sequence a new handler is still to get what is stored. One that was removed keeps nothing from going. */
  function firstBackfill(): number {
    const ids = handlers.isRegistered ? handlers.backfilling() : handlers.ids()
    return Math.min(Infinity, ...ids.map((id) => sql.backfill.get(id)?.nextSeq ?? Infinity))
  }

  /** Prunes some of the events behind `after` in the accept sequence that have ended. */
  function prune({ receivedBefore, maxBytes }: PruneLimits, after: number): PruneResult {
    const isTooLarge = maxBytes !== null && usedBytes() > maxBytes
    const now = clock.now()
    const before = Math.max(receivedBefore ?? -Infinity, isTooLarge ? now - shortestKeptMs : -Infinity)
    const end = firstBackfill()
    let events = 0
    let last = after
    const looked = sql.eventsWithBody.all(after, mostLookedAt)
    for (const { seq, receivedAt } of looked) {
      const isYoung = receivedAt >= before
      // They are in the order in which they came, so what comes behind it is younger; but for one that came while the clock was wrong.
      if (seq >= end || (isYoung && receivedAt <= now)) return { events, after: null, isTooLarge }
      last = seq
      if (isYoung) continue
      if (sql.unfinishedRun.get(seq) !== undefined) continue
      pruneOne(seq)
      if (++events === mostPruned) break
    }
    return { events, after: looked.length === 0 ? null : last, isTooLarge }
  }

  /** The event stays, with what became of it; all else about it goes. */
  function pruneOne(seq: number): void {
    const runs = sql.progressOf.all(seq).map((run) => ({ ...run, state: runStates[run.state] ?? 'done' }))
    sql.finalStatus.run(eventStatuses.indexOf(deriveEventStatus(runs)), seq)
    sql.deleteItems.run(seq)
    sql.deleteAttempts.run(seq)
    sql.deleteRuns.run(seq)
    sql.emptyConflicts.run(seq)
    sql.deleteBody.run(seq)
    // The number of a run is never given again.
    sql.setMeta.run('last_run_id', memo.nextRunId - 1)
  }

  /** Gives some of the free space back to the disk; true if there is more to give back. */
  function vacuum(): boolean {
    const kept = Math.max(keptPages, pages('page_count') * keptShare)
    const surplus = pages('freelist_count') - kept
    if (surplus <= 0) return false
    db.pragma(`incremental_vacuum(${Math.min(pagesPerVacuum, Math.ceil(surplus))})`)
    return surplus > pagesPerVacuum
  }

  return { prune, vacuum, usedBytes }
}
