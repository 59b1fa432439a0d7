import type { Database } from 'better-sqlite3'
import { readForIndex } from '../../insight/read.ts'
import type { CountedEvent, EventToIndex } from '../../index-counting.ts'
import type { Progress } from '../../index-status.ts'
import { partsOfKey } from '../../replay-filter.ts'
import { readMeta } from './file.ts'
import { createLedger } from './ledger.ts'
import { createIndexPruning } from './pruning.ts'
import { createShards } from './shards.ts'
import { textOf } from './terms.ts'

const mostPerBatch = 200
/** A batch ends early for these: the thread has to hear of a stop, and bodies may be large. */
const mostBatchMs = 15
const mostBatchBytes = 4 * 1024 * 1024

export type Indexer = ReturnType<typeof createIndexer>

/**
 * Brings an index up to what is stored: `db` is read, `index` is written, each batch together with how far it goes, so that a kill
 * between two leaves nothing twice or out. `elapsed`: milliseconds of a clock that is never set.
 */
export function createIndexer(db: Database, index: Database, elapsed: () => number = () => performance.now()) {
  const newestSeq = db.prepare<[], number>('SELECT seq FROM event ORDER BY seq DESC LIMIT 1').pluck()
  const eventsAfter = db.prepare<[number, number], EventToIndex>(
    `SELECT e.seq, e.id, e.type, e.key, e.received_at AS receivedAt, e.secret_label AS secretLabel, b.raw
     FROM event e LEFT JOIN body b ON b.seq = e.seq WHERE e.seq > ? ORDER BY e.seq LIMIT ?`,
  )
  const receivedAfter = db
    .prepare<[number], number>('SELECT received_at FROM event WHERE seq > ? ORDER BY seq LIMIT 1')
    .pluck()
  const putMeta = index.prepare<[string, unknown]>('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)')
  const addLive = index.prepare<[number]>('INSERT OR REPLACE INTO live (seq) VALUES (?)')
  const pages = (name: string) => Number(index.pragma(name, { simple: true }))
  const ledger = createLedger(index)
  const shards = createShards(index)
  const pruning = createIndexPruning(db, index, shards)
  let indexedSeq = Number(readMeta(index).get('seq') ?? 0)

  /** Runs a piece of work as one transaction. */
  function transact<T>(work: () => T): T {
    try {
      return index.transaction(work)()
    } catch (error) {
      shards.forget()
      ledger.reload()
      throw error
    }
  }

  /** Indexes some events; gives how many. */
  function step(): number {
    const { count, seq } = transact(() => {
      const until = elapsed() + mostBatchMs
      const batch: CountedEvent[] = []
      let bytes = 0
      let last: EventToIndex | undefined
      for (const event of eventsAfter.iterate(indexedSeq, mostPerBatch)) {
        batch.push(indexOne(event))
        bytes += event.raw?.length ?? 0
        last = event
        if (bytes > mostBatchBytes || elapsed() > until) break
      }
      const [first] = batch
      if (first === undefined || last === undefined) return { count: 0, seq: indexedSeq }
      ledger.add(batch)
      if (indexedSeq === 0) {
        putMeta.run('first_seq', first.seq)
        putMeta.run('first_id', first.id)
      }
      putMeta.run('seq', last.seq)
      putMeta.run('last_id', last.id)
      return { count: batch.length, seq: last.seq }
    })
    indexedSeq = seq
    return count
  }

  function indexOne({ seq, id, type, key, receivedAt, secretLabel, raw }: EventToIndex): CountedEvent {
    const { network, address } = partsOfKey(key)
    const { words, drift } = raw === null ? { words: [], drift: [] } : readForIndex(raw, { id, type })
    shards.put(seq, textOf(words, { type, network, address }))
    if (raw !== null) addLive.run(seq)
    return { seq, id, type, network, address, receivedAt, secretLabel, drift }
  }

  return {
    step,
    newestSeq: () => newestSeq.get() ?? 0,
    /** Takes out what was pruned of the database, a bounded piece at a time; gives how many events. */
    prune: (now: number) => transact(() => pruning.step(now)),
    progress(): Progress {
      return {
        indexedSeq,
        behind: Math.max(0, (newestSeq.get() ?? 0) - indexedSeq),
        waitingSince: receivedAfter.get(indexedSeq) ?? null,
        sizeBytes: pages('page_count') * pages('page_size'),
      }
    },
  }
}
