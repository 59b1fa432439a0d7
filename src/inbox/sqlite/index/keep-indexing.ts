import Sqlite, { type Database } from 'better-sqlite3'
import type { Clock, Timer } from '../../../base/clock.ts'
import { messageOf } from '../../../base/errors.ts'
import type { IndexStatus } from '../../index-port.ts'
import { classifyFailure } from '../failure.ts'
import { createIndexer, type Indexer } from './indexer.ts'
import { createPace } from '../../index-pace.ts'
import { statusOf } from '../../index-status.ts'

export interface KeepIndexingOptions {
  readonly clock: Clock
  /** Milliseconds of a clock that is never set. */
  readonly elapsed: () => number
  /** Opens the index for writing, a new one if need be, and says why what was there was thrown away. */
  readonly open: () => { readonly db: Database; readonly index: Database; readonly reason: string | null }
  readonly throwAway: () => void
  readonly onWarning: (text: string) => void
}

interface Opened {
  readonly index: Database
  readonly indexer: Indexer
  /** Nothing waits for longer than this: milliseconds since 1970. */
  readonly since: number
}

const retryMs = 5_000
/** So often it looks for what was pruned, while there is nothing new. */
const pruneEveryMs = 1_000
/** A damaged index is made anew at once, but not again and again. */
const rebuildEveryMs = 60_000

/**
 * Indexes what comes, one small piece of work after the other, with rests in between. Where that fails it goes on trying; a damaged
 * index is made anew. Whatever happens, all that others see of it is a warning.
 */
export function keepIndexing({ clock, elapsed, open, throwAway, onWarning }: KeepIndexingOptions) {
  const pace = createPace()
  let opened: Opened | undefined
  let offReason: string | null = 'it is being opened'
  let warned: string | null = null
  let rebuiltAt = -Infinity
  let nextPruneAt = -Infinity
  let timer: Timer | undefined
  let isClosed = false

  function next(ms: number): void {
    timer?.cancel()
    if (!isClosed) timer = clock.after(ms, turn)
  }

  function turn(): void {
    try {
      next(work(current().indexer))
      offReason = null
      warned = null
    } catch (error) {
      next(recover(error))
    }
  }

  function current(): Opened {
    if (opened !== undefined) return opened
    const { db, index, reason } = open()
    if (reason !== null) onWarning(`the index is made anew: ${reason}`)
    opened = { index, indexer: createIndexer(db, index, elapsed), since: clock.now() }
    return opened
  }

  /** Gives how long to rest. */
  function work(indexer: Indexer): number {
    const startedAt = elapsed()
    const restMs = pace.sees(indexer.newestSeq(), startedAt)
    if (restMs > 0) return restMs
    const isBusy = indexer.step() > 0 || prune(indexer, startedAt)
    return isBusy ? pace.restAfter(elapsed() - startedAt) : pace.idleMs
  }

  /** Whether there is more to prune. */
  function prune(indexer: Indexer, at: number): boolean {
    if (at < nextPruneAt) return false
    const hasMore = indexer.prune(clock.now()) > 0
    nextPruneAt = hasMore ? at : at + pruneEveryMs
    return hasMore
  }

  /** Gives how long to wait before it tries again. */
  function recover(error: unknown): number {
    closeIndex()
    const failure = classifyFailure(error)
    const isDamaged = failure === 'fatal' || (failure === 'bug' && error instanceof Sqlite.SqliteError)
    const text = messageOf(error)
    if (isDamaged && elapsed() - rebuiltAt > rebuildEveryMs) {
      rebuiltAt = elapsed()
      onWarning(`the index is made anew: it is damaged: ${text}`)
      try {
        throwAway()
        return 0
      } catch {
        // It cannot be written either: it is off, and tried again.
      }
    }
    offReason = `it cannot be written: ${text}`
    if (warned !== text)
      onWarning(`the index is off until it can be written again: ${text}. Nothing else is held up by that`)
    warned = text
    return retryMs
  }

  function closeIndex(): void {
    try {
      opened?.index.close()
    } catch {
      // Whatever it still wanted to write is indexed again.
    }
    opened = undefined
  }

  next(0)
  return {
    status: (): IndexStatus => statusOf(opened?.indexer.progress(), offReason, opened?.since ?? 0, clock.now()),
    /** Throws the index away, and begins anew. `reason`: of damage that was found; null: somebody asked for it. */
    rebuild(reason: string | null): void {
      if (reason !== null) onWarning(`the index is made anew: it is damaged: ${reason}`)
      closeIndex()
      throwAway()
      offReason = 'it is being opened'
      next(0)
    },
    close(): void {
      isClosed = true
      timer?.cancel()
      closeIndex()
    },
  }
}
