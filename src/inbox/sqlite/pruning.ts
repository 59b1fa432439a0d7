import { pruneBounds as bounds, type ActionStep } from '../operator-actions.ts'
import { eventStatuses, type PruneLimits } from '../port.ts'
import { statusOf } from '../status.ts'
import type { StoreContext } from './context.ts'
import type { StoredBody } from './statements.ts'

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

  /** Classifies bodies by age and by the bytes after them. `future`: its time is in the future, because the clock was wrong. */
  function createClassifier({ receivedBefore, maxBytes }: PruneLimits, total: number, share: number) {
    const now = clock.now()
    const isTooLarge = isLargerThan(maxBytes)
    const keptBytes = (maxBytes ?? 0) * share
    return (body: StoredBody): 'old' | 'young' | 'future' => {
      const { receivedAt } = body
      const isSurplus = isTooLarge && receivedAt < now - bounds.minAgeMs && total - body.total >= keptBytes
      if (isSurplus || receivedAt < (receivedBefore ?? -Infinity)) return 'old'
      return receivedAt > now ? 'future' : 'young'
    }
  }

  /** Prunes bodies until `prune` returns `end`. Bodies are in order of receipt, so all bodies after a young one are younger. */
  function pruneSome(
    bodies: readonly StoredBody[],
    after: number,
    prune: (body: StoredBody) => 'pruned' | 'kept' | 'end',
  ): ActionStep {
    let [pruned, last] = [0, after]
    for (const body of bodies) {
      const result = prune(body)
      if (result === 'end') return { done: pruned, after: null }
      last = body.seq
      if (result === 'pruned' && ++pruned === bounds.maxPruned) break
    }
    return { done: pruned, after: bodies.length === 0 ? null : last }
  }

  /** Prunes some of the ended events after an accept-sequence number. */
  function pruneEvents(limits: PruneLimits, after: number): ActionStep {
    const classify = createClassifier(limits, counters.bodyBytes, bounds.eventsShare)
    const end = firstBackfill()
    return pruneSome(sql.eventsWithBody.all(after, bounds.maxScanned), after, (body) => {
      const verdict = classify(body)
      if (body.seq >= end || verdict === 'young') return 'end'
      if (verdict === 'future' || sql.unfinishedRun.get(body.seq) !== undefined) return 'kept'
      pruneOne(body.seq)
      return 'pruned'
    })
  }

  /** Prunes some of the quarantined bodies after a number. */
  function pruneQuarantined(limits: PruneLimits, after: number): ActionStep {
    const classify = createClassifier(limits, sql.lastQuarantined.get()?.total ?? 0, bounds.quarantineShare)
    return pruneSome(sql.oldQuarantined.all(after, bounds.maxScanned), after, (body) => {
      const verdict = classify(body)
      if (verdict !== 'old') return verdict === 'young' ? 'end' : 'kept'
      sql.pruneQuarantined.run(body.seq)
      return 'pruned'
    })
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
