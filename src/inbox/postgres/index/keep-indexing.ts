import type { Clock, Timer } from '../../../base/clock.ts'
import { messageOf } from '../../../base/errors.ts'
import { createPace } from '../../index-pace.ts'
import type { Indexer } from './indexer.ts'

export interface KeepIndexingOptions {
  readonly clock: Clock
  /** Milliseconds of a clock that is never set. */
  readonly elapsed: () => number
  readonly indexer: Indexer
  /** Whether it falls to this replica. That two believe so for a while harms nothing. */
  readonly isLeader: () => boolean
  readonly onWarning: (text: string) => void
}

const retryMs = 5_000
/** So often it looks for what was pruned, while there is nothing new. */
const pruneEveryMs = 1_000

/**
 * Indexes what comes, one small piece of work after the other, with rests in between. Where that fails it goes on trying, and all that
 * others see of it is a warning.
 */
export function keepIndexing({ clock, elapsed, indexer, isLeader, onWarning }: KeepIndexingOptions) {
  const pace = createPace()
  let warned: string | null = null
  let nextPruneAt = -Infinity
  let timer: Timer | undefined
  let turning = Promise.resolve()
  let isClosed = false

  function next(ms: number): void {
    if (isClosed) return
    timer = clock.after(ms, () => {
      turning = turn()
    })
  }

  async function turn(): Promise<void> {
    try {
      next(isLeader() ? await work() : pace.idleMs)
      warned = null
    } catch (error) {
      const text = messageOf(error)
      if (warned !== text && !isClosed) {
        onWarning(`the index is not brought up until it can be written again: ${text}. Nothing else is held up by that`)
      }
      warned = text
      next(retryMs)
    }
  }

  /** Gives how long to rest. */
  async function work(): Promise<number> {
    const startedAt = elapsed()
    const restMs = pace.sees(await indexer.newestSeq(), startedAt)
    if (restMs > 0) return restMs
    const step = await indexer.step()
    const isBusy = step === 'some' || (step === 'none' && (await prune(startedAt)))
    return isBusy ? pace.restAfter(elapsed() - startedAt) : pace.idleMs
  }

  /** Whether there is more to prune. */
  async function prune(at: number): Promise<boolean> {
    if (at < nextPruneAt) return false
    const hasMore = await indexer.prune()
    nextPruneAt = hasMore ? at : at + pruneEveryMs
    return hasMore
  }

  next(0)
  return {
    /** Waits for the piece of work under way. */
    async close(): Promise<void> {
      isClosed = true
      timer?.cancel()
      await turning
    },
  }
}
