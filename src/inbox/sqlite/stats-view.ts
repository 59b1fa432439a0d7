import type { Database } from 'better-sqlite3'
import type { HandlerStats, InboxStats, RunCounts } from '../port.ts'
import { noCounts, type CountsByHandler } from '../handler-counts.ts'
import { createRunCounts } from './run-counts.ts'

type HandlerRow = Omit<HandlerStats, 'paused' | keyof RunCounts> & { readonly id: number; readonly paused: number }

/** So many are counted anew whenever they are asked for. Of more, what was counted last is given for some time. */
const fewRows = 20_000
/** Counting many takes one part in so many of the time, however often it is asked for. */
const shareOfTime = 20
const shortestKeptMs = 1_000
/** Nobody is given what was counted longer ago. */
const longestKeptMs = 60_000

/** Counts for people and metrics. A promise only where very much has to be counted for the first time. */
export function createStatsView(db: Database): () => InboxStats | Promise<InboxStats> {
  const pages = (name: string) => Number(db.pragma(name, { simple: true }))
  const newestSeq = db.prepare<[], { seq: number }>('SELECT seq FROM event ORDER BY seq DESC LIMIT 1')
  const handlers = db.prepare<[], HandlerRow>(
    `SELECT id, name AS handler, paused, concurrency, superseded, backfill_seq AS backfillSeq FROM handler ORDER BY name`,
  )
  const quarantinedCount = db.prepare<[], { count: number }>('SELECT count(*) AS count FROM quarantine')
  const conflictCount = db.prepare<[], { count: number }>(
    'SELECT count(*) AS count FROM conflict INDEXED BY conflict_at',
  )
  const receivedAtOfRun = db.prepare<[number], { received_at: number }>(
    'SELECT e.received_at FROM run r JOIN event e ON e.seq = r.event_seq WHERE r.id = ?',
  )
  const meta = db.prepare<[string], { value: number }>('SELECT value FROM meta WHERE name = ?')
  const runs = createKept(createRunCounts(db))
  const quarantined = keepLarge(() => quarantinedCount.get()?.count ?? 0)
  const conflicts = keepLarge(() => conflictCount.get()?.count ?? 0)

  function statsWith(counts: CountsByHandler): InboxStats {
    const oldestRun = Math.min(...[...counts.values()].map((own) => own.oldestRun))
    return {
      lastSeq: newestSeq.get()?.seq ?? 0,
      quarantined: quarantined(),
      conflicts: conflicts(),
      paused: meta.get('paused')?.value === 1,
      handlers: handlers.all().map(({ id, paused, ...row }) => {
        const { oldestRun: _, ...own } = counts.get(id) ?? noCounts
        return { ...row, paused: paused === 1, ...own }
      }),
      oldestOpenAt: oldestRun === Infinity ? null : (receivedAtOfRun.get(oldestRun)?.received_at ?? null),
      sizeBytes: (pages('page_count') - pages('freelist_count')) * pages('page_size'),
      missingSeqs: meta.get('missing_seqs')?.value ?? 0,
    }
  }

  return () => {
    const counts = runs()
    return counts instanceof Promise ? counts.then(statsWith) : statsWith(counts)
  }
}

/** Counts at once where there is little to count, else part after part, with turns of the event loop between them. */
function createKept({
  count,
  areFew,
}: ReturnType<typeof createRunCounts>): () => CountsByHandler | Promise<CountsByHandler> {
  let kept: { readonly counts: CountsByHandler; readonly at: number; readonly keptMs: number } | undefined
  let counting: Promise<CountsByHandler> | undefined

  async function countInParts(): Promise<CountsByHandler> {
    const parts = count()
    let workMs = 0
    for (;;) {
      const startedAt = performance.now()
      const { done, value } = parts.next()
      workMs += performance.now() - startedAt
      if (done) {
        kept = { counts: value, at: performance.now(), keptMs: Math.max(shortestKeptMs, workMs * shareOfTime) }
        return value
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  function countAnew(): Promise<CountsByHandler> {
    counting ??= countInParts().finally(() => (counting = undefined))
    return counting
  }

  return () => {
    if (areFew(fewRows)) {
      kept = undefined
      return complete(count())
    }
    const ageMs = kept === undefined ? Infinity : performance.now() - kept.at
    if (kept === undefined || ageMs > Math.max(longestKeptMs, 2 * kept.keptMs)) return countAnew()
    // What nobody waits for may fail: the next one who asks tries again.
    if (ageMs > kept.keptMs) countAnew().catch(() => {})
    return kept.counts
  }
}

function complete<T>(parts: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
  }
}

/** Gives what `look` counts. If that is much, the same is given again for some time, by how long the look took. */
function keepLarge(look: () => number): () => number {
  let kept: { readonly count: number; readonly until: number } | undefined
  return () => {
    const startedAt = performance.now()
    if (kept !== undefined && startedAt < kept.until) return kept.count
    const count = look()
    const endedAt = performance.now()
    kept = count > fewRows ? { count, until: endedAt + (endedAt - startedAt) * shareOfTime } : undefined
    return count
  }
}
