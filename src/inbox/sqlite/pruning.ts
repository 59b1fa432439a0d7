import { chooseBodies } from '../choose-bodies.ts'
import { pruneBounds as bounds, type ActionStep } from '../operator-actions.ts'
import { eventStatuses, type PruneLimits } from '../port.ts'
import { statusOf } from '../status.ts'
import type { StoreContext } from './context.ts'

const pagesPerVacuum = 500
/** Free pages to keep for new data: this number or this share of all pages, the larger of both. */
const keptPages = 1_000
const keptShare = 0.1

/** Prunes old bodies and returns free space to the disk, in bounded steps. */
export function createPruning({ db, sql, counters, handlers, clock }: StoreContext) {
  const pages = (name: 'page_count' | 'freelist_count' | 'page_size') => Number(db.pragma(name, { simple: true }))

  /** Size of the file without its free pages. */
  function usedBytes(): number {
    return (pages('page_count') - pages('freelist_count')) * pages('page_size')
  }

  /** First accept-sequence number that a backfill still needs; Infinity if none. Backfills of removed handlers don't count. */
  function firstBackfill(): number {
    const ids = handlers.isRegistered ? handlers.backfilling() : handlers.ids()
    return Math.min(Infinity, ...ids.map((id) => sql.backfill.get(id)?.nextSeq ?? Infinity))
  }

  function isLargerThan(maxBytes: number | null): boolean {
    return maxBytes !== null && usedBytes() > maxBytes
  }

  /** What all steps have in common. The file shrinks with each step, so a step may take all old bodies. */
  const choiceOf = (limits: PruneLimits) => ({
    limits,
    now: clock.now(),
    surplus: isLargerThan(limits.maxBytes) ? Infinity : 0,
    freedBy: () => 0,
  })

  /** Prunes some of the ended events after an accept-sequence number. */
  function pruneEvents(limits: PruneLimits, from: number): ActionStep {
    const { chosen, after } = chooseBodies(sql.eventsWithBody.all(from, bounds.maxScanned), {
      ...choiceOf(limits),
      lastTotal: counters.bodyBytes,
      share: bounds.eventsShare,
      firstNeeded: firstBackfill(),
      isOpen: ({ seq }) => sql.unfinishedRun.get(seq) !== undefined,
    })
    for (const { seq } of chosen) pruneOne(seq)
    return { done: chosen.length, after }
  }

  /** Prunes some of the quarantined bodies after a number. */
  function pruneQuarantined(limits: PruneLimits, from: number): ActionStep {
    const { chosen, after } = chooseBodies(sql.oldQuarantined.all(from, bounds.maxScanned), {
      ...choiceOf(limits),
      lastTotal: sql.lastQuarantined.get()?.total ?? 0,
      share: bounds.quarantineShare,
      firstNeeded: Infinity,
      isOpen: () => false,
    })
    for (const { seq } of chosen) sql.pruneQuarantined.run(seq)
    return { done: chosen.length, after }
  }

  /** Deletes an event's body and runs, and stores its final status. */
  function pruneOne(seq: number): void {
    sql.finalStatus.run(eventStatuses.indexOf(statusOf(null, sql.progressOf.all(seq))), seq)
    sql.deleteItems.run(seq)
    sql.deleteAttempts.run(seq)
    sql.deleteRuns.run(seq)
    sql.emptyConflicts.run(seq)
    sql.deleteBody.run(seq)
    // A run id must never be reused.
    sql.setMeta.run('last_run_id', counters.nextRunId - 1)
  }

  /** Returns some free pages to the disk. Returns true if there are more. */
  function vacuum(): boolean {
    const kept = Math.max(keptPages, pages('page_count') * keptShare)
    const surplus = pages('freelist_count') - kept
    if (surplus <= 0) return false
    db.pragma(`incremental_vacuum(${Math.min(pagesPerVacuum, Math.ceil(surplus))})`)
    return surplus > pagesPerVacuum
  }

  return { pruneEvents, pruneQuarantined, isLargerThan, vacuum }
}
