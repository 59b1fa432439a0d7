import type { Database } from 'better-sqlite3'
import { partsOfKey } from '../../replay-filter.ts'
import { eventsPerShard, shardName } from './schema.ts'
import type { Shards } from './shards.ts'
import { textOf } from './terms.ts'

const mostPerStep = 200
const keptTallyMs = 400 * 24 * 3_600_000
const tallyMinutesPerStep = 60
/** So many unused pages are kept for what comes. */
const keptPages = 1_000
const pagesPerVacuum = 200

interface PrunedEvent {
  readonly type: string
  readonly key: string | null
  readonly hasBody: number
}

/**
 * Takes the words of pruned events out of the index; they are still found by type, network and address. What was counted of them
 * stays. Most go in the order of the sequence, so those before the oldest body are at hand; for others it looks at all, bit by bit,
 * again and again.
 */
export function createIndexPruning(db: Database, index: Database, shards: Pick<Shards, 'put' | 'remove'>) {
  const oldestBody = db.prepare<[], number>('SELECT seq FROM body ORDER BY seq LIMIT 1').pluck()
  const eventAt = db.prepare<[number], PrunedEvent>(
    `SELECT e.type, e.key, b.seq IS NOT NULL AS hasBody FROM event e LEFT JOIN body b ON b.seq = e.seq WHERE e.seq = ?`,
  )
  const liveAfter = index
    .prepare<[number, number, number], number>('SELECT seq FROM live WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?')
    .pluck()
  const removeLive = index.prepare<[number]>('DELETE FROM live WHERE seq = ?')
  const dropTallies = index.prepare<[number, number]>(
    'DELETE FROM tally WHERE minute < min(?, (SELECT min(minute) FROM tally) / 60 * 60 + ?)',
  )
  const prunedShard = index
    .prepare<[number, number, number], number>(
      `SELECT n FROM shard WHERE is_pruned = 0 AND (n + 1) * ? <= (SELECT value FROM meta WHERE name = 'seq')
       AND NOT EXISTS (SELECT 1 FROM live WHERE seq > n * ? AND seq <= (n + 1) * ?) LIMIT 1`,
    )
    .pluck()
  const markPruned = index.prepare<[number]>('UPDATE shard SET is_pruned = 1 WHERE n = ?')
  let sweptTo = 0

  function takeOut(seq: number): void {
    const event = eventAt.get(seq)
    if (event?.hasBody === 1) return
    removeLive.run(seq)
    if (event === undefined) shards.remove(seq)
    else shards.put(seq, textOf([], { type: event.type, ...partsOfKey(event.key) }))
  }

  /** What was deleted takes space until the parts of its table are merged. */
  function shrinkOne(): void {
    const shard = prunedShard.get(eventsPerShard, eventsPerShard, eventsPerShard)
    if (shard === undefined) return
    index.exec(`INSERT INTO ${shardName(shard)} (${shardName(shard)}) VALUES ('optimize')`)
    markPruned.run(shard)
  }

  function giveBack(): void {
    const free = Number(index.pragma('freelist_count', { simple: true }))
    if (free > keptPages) index.pragma(`incremental_vacuum(${Math.min(free - keptPages, pagesPerVacuum)})`)
  }

  /** Gives how many events were taken out that lie before the oldest body: where that is none, there is time. */
  function step(now: number): number {
    const before = oldestBody.get() ?? Number.MAX_SAFE_INTEGER
    const old = liveAfter.all(0, before, mostPerStep)
    for (const seq of old) takeOut(seq)
    if (old.length > 0) return old.length
    const swept = liveAfter.all(sweptTo, Number.MAX_SAFE_INTEGER, mostPerStep)
    for (const seq of swept) takeOut(seq)
    sweptTo = swept.length < mostPerStep ? 0 : (swept.at(-1) ?? 0)
    shrinkOne()
    giveBack()
    // Whole hours: of one that is not kept any more the row of the hour is taken instead.
    dropTallies.run(Math.floor((now - keptTallyMs) / 3_600_000) * 60, tallyMinutesPerStep)
    return 0
  }

  return { step }
}
