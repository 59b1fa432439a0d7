import { setTimeout as wait } from 'node:timers/promises'
import { InboxError } from '../../base/errors.ts'

interface Call<T, R> {
  readonly items: readonly T[]
  readonly resolve: (results: readonly R[]) => void
  readonly reject: (error: unknown) => void
}

export interface TransactionQueueOptions<T, R> {
  /** Commits items in one transaction. Returns a result per item, in order. */
  readonly commit: (items: readonly T[]) => Promise<readonly R[]>
  /** Bytes that an item adds to the statement, about. */
  readonly bytesOf: (item: T) => number
  /** If a transaction takes longer, the next one starts in parallel, so that a slow call delays no others. Default: never in parallel. */
  readonly patienceMs?: number
}

/** Limits of one transaction. One call may exceed them, because it is committed as a whole. */
const maxItems = 1_000
const maxBytes = 8 * 1024 * 1024
/**
 * While fewer items than this wait, the next transaction starts after a rest of this share of the last one's time. So it gets the calls
 * that the last one's results cause.
 */
const enoughItems = 100
const restShare = 0.5
const maxRestMs = 20

/**
 * Commits calls in order, one transaction after the other. Calls that arrive during a transaction go into the next one, so under load
 * there are few large transactions instead of many small ones.
 */
export function createTransactionQueue<T, R>({ commit, bytesOf, patienceMs }: TransactionQueueOptions<T, R>) {
  const waiting: Call<T, R>[] = []
  let running: Promise<void> | undefined
  /** Ends when all calls until now have ended. */
  let last: Promise<unknown> = Promise.resolve()

  async function commitCalls(calls: readonly Call<T, R>[]): Promise<void> {
    try {
      const results = await commit(calls.flatMap(({ items }) => items))
      let from = 0
      for (const { items, resolve } of calls) resolve(results.slice(from, (from += items.length)))
    } catch (error) {
      // An error that isn't from the database belongs to one call, so each call is committed separately.
      if (calls.length > 1 && !(error instanceof InboxError)) for (const call of calls) await commitCalls([call])
      else for (const { reject } of calls) reject(error)
    }
  }

  /** Takes the calls of the next transaction, in order. */
  function take(): Call<T, R>[] {
    let [calls, items, bytes] = [0, 0, 0]
    for (const call of waiting) {
      items += call.items.length
      bytes += call.items.reduce((sum, item) => sum + bytesOf(item), 0)
      if (calls > 0 && (items > maxItems || bytes > maxBytes)) break
      calls++
    }
    return waiting.splice(0, calls)
  }

  async function commitAll(): Promise<void> {
    while (waiting.length > 0) {
      const calls = take()
      const startedAt = performance.now()
      await withPatience(commitCalls(calls))
      const isLone = calls.length === 1 && calls[0]?.items.length === 1
      if (isLone || countItems(waiting) >= enoughItems) continue
      await wait(Math.min(maxRestMs, (performance.now() - startedAt) * restShare))
    }
    running = undefined
  }

  async function withPatience(committed: Promise<void>): Promise<void> {
    if (patienceMs === undefined) return committed
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, patienceMs)
    await Promise.race([committed, late.promise])
    clearTimeout(timer)
  }

  return {
    /** Adds the items of one call. Rejects with the error of `commit`. */
    add: (items: readonly T[]): Promise<readonly R[]> => {
      if (items.length === 0) return Promise.resolve([])
      const added = new Promise<readonly R[]>((resolve, reject) => {
        waiting.push({ items, resolve, reject })
        running ??= commitAll()
      })
      last = Promise.allSettled([last, added])
      return added
    },
    /** Resolves when all calls until now have ended. */
    flushed: () => last,
  }
}

function countItems<T, R>(calls: readonly Call<T, R>[]): number {
  return calls.reduce((sum, { items }) => sum + items.length, 0)
}
