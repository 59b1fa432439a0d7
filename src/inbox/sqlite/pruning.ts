import type { Database } from 'better-sqlite3'
import type { Clock } from '../../base/clock.ts'
import type { ActionStep } from '../operator-actions.ts'
import { eventStatuses, type PruneLimits } from '../port.ts'
import { statusOf } from '../status.ts'
import type { HandlerTable } from './handlers.ts'
import type { WriterCounters } from './writer-counters.ts'
import type { KeptBody, Statements } from './statements.ts'

/** A transaction that deletes more would hold up acknowledgements. */
const mostPruned = 200
const mostLookedAt = 1_000
const pagesPerVacuum = 500
/** So many unused pages, or this part of all, are kept for what comes. */
const keptPages = 1_000
const keptShare = 0.1
/** What is younger is not pruned for its size: it may be looked at, or come again. */
const shortestKeptMs = 3_600_000
/** Of the size that the file may have, so much is left to the newest bodies, whatever else takes its space. */
const eventsShare = 1 / 2
const quarantineShare = 1 / 4

export interface PruningOptions {
  readonly db: Database
  readonly sql: Statements
  readonly counters: WriterCounters
  readonly handlers: Pick<HandlerTable, 'isRegistered' | 'backfilling' | 'ids'>
  readonly clock: Clock
}

/** Takes old bodies out of the file, and gives the space back, a bounded piece at a time. */
export function createPruning({ db, sql, counters, handlers, clock }: PruningOptions) {
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

  function isLargerThan(maxBytes: number | null): boolean {
    return maxBytes !== null && usedBytes() > maxBytes
  }

  /** Judges the bodies of a table by their age, and by how many bytes came after them. `ahead`: it came while the clock was wrong. */
  function createJudge({ receivedBefore, maxBytes }: PruneLimits, total: number, share: number) {
    const now = clock.now()
    const isTooLarge = isLargerThan(maxBytes)
    const keptBytes = (maxBytes ?? 0) * share
    return (body: KeptBody): 'old' | 'young' | 'ahead' => {
      const { receivedAt } = body
      const isSurplus = isTooLarge && receivedAt < now - shortestKeptMs && total - body.total >= keptBytes
      if (isSurplus || receivedAt < (receivedBefore ?? -Infinity)) return 'old'
      return receivedAt > now ? 'ahead' : 'young'
    }
  }

  /** Bodies come in the order in which they were received: so what comes behind a young one is younger. */
  function pruneSome(
    bodies: readonly KeptBody[],
    after: number,
    prune: (body: KeptBody) => 'pruned' | 'kept' | 'end',
  ): ActionStep {
    let [pruned, last] = [0, after]
    for (const body of bodies) {
      const result = prune(body)
      if (result === 'end') return { done: pruned, after: null }
      last = body.seq
      if (result === 'pruned' && ++pruned === mostPruned) break
    }
    return { done: pruned, after: bodies.length === 0 ? null : last }
  }

  /** Prunes some of the events behind `after` in the accept sequence that have ended. */
  function pruneEvents(limits: PruneLimits, after: number): ActionStep {
    const judge = createJudge(limits, counters.bodyBytes, eventsShare)
    const end = firstBackfill()
    return pruneSome(sql.eventsWithBody.all(after, mostLookedAt), after, (body) => {
      const verdict = judge(body)
      if (body.seq >= end || verdict === 'young') return 'end'
      if (verdict === 'ahead' || sql.unfinishedRun.get(body.seq) !== undefined) return 'kept'
      pruneOne(body.seq)
      return 'pruned'
    })
  }

  /** Prunes some of the bodies in quarantine behind `after`. */
  function pruneQuarantined(limits: PruneLimits, after: number): ActionStep {
    const judge = createJudge(limits, sql.lastQuarantined.get()?.total ?? 0, quarantineShare)
    return pruneSome(sql.oldQuarantined.all(after, mostLookedAt), after, (body) => {
      const verdict = judge(body)
      if (verdict !== 'old') return verdict === 'young' ? 'end' : 'kept'
      sql.pruneQuarantined.run(body.seq)
      return 'pruned'
    })
  }

  /** The event stays, with what became of it; all else about it goes. */
  function pruneOne(seq: number): void {
    sql.finalStatus.run(eventStatuses.indexOf(statusOf(null, sql.progressOf.all(seq))), seq)
    sql.deleteItems.run(seq)
    sql.deleteAttempts.run(seq)
    sql.deleteRuns.run(seq)
    sql.emptyConflicts.run(seq)
    sql.deleteBody.run(seq)
    // The number of a run is never given again.
    sql.setMeta.run('last_run_id', counters.nextRunId - 1)
  }

  /** Gives some of the free space back to the disk; true if there is more to give back. */
  function vacuum(): boolean {
    const kept = Math.max(keptPages, pages('page_count') * keptShare)
    const surplus = pages('freelist_count') - kept
    if (surplus <= 0) return false
    db.pragma(`incremental_vacuum(${Math.min(pagesPerVacuum, Math.ceil(surplus))})`)
    return surplus > pagesPerVacuum
  }

  return { pruneEvents, pruneQuarantined, isLargerThan, vacuum }
}
