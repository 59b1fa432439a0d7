import type { Clock } from '../../../base/clock.ts'
import { InboxError, messageOf } from '../../../base/errors.ts'
import type { IndexPort } from '../../index-port.ts'
import { indexOff } from '../../index-status.ts'
import type { Rows } from '../database.ts'
import type { EventFinder } from './finder.ts'
import { createIndexer } from './indexer.ts'
import { keepIndexing } from './keep-indexing.ts'
import { createIndexReads } from './reads.ts'
import { createSearch } from './search.ts'
import { readStatus } from './status.ts'

/**
 * Who fills the index: the leader by itself, in small pieces, with rests in between; or each read, before it, so that it finds all that
 * is stored (for tests on a clock that stands still).
 */
export type IndexFilling = 'by itself' | 'at reads'

export interface IndexOptions {
  readonly db: Rows
  readonly clock: Clock
  readonly isLeader: () => boolean
  readonly onWarning: (text: string) => void
  readonly filling?: IndexFilling
}

export interface Index {
  readonly views: Omit<IndexPort, 'rebuildIndex'>
  readonly find: EventFinder
  /** Throws it away, for the leader to begin anew. */
  rebuild(): Promise<void>
  close(): Promise<void>
}

/** The index of a cluster: tables beside those of the inbox, that no accept writes, filled after the commit by one replica. */
export function createIndex({ db, clock, isLeader, onWarning, filling = 'by itself' }: IndexOptions): Index {
  const elapsed = () => performance.now()
  const openedAt = clock.now()
  const reads = createIndexReads(db)
  const search = createSearch(db)
  const indexer = createIndexer(db, () => clock.now(), elapsed)
  const keeper = filling === 'by itself' ? keepIndexing({ clock, elapsed, indexer, isLeader, onWarning }) : null
  let bringingUp = Promise.resolve()

  /** One after the other: what one read has brought up another one need not. */
  function bringUp(): Promise<void> {
    if (keeper !== null) return Promise.resolve()
    const before = bringingUp.catch(() => {})
    return (bringingUp = before.then(async () => {
      while ((await indexer.step()) !== 'none');
      while (await indexer.prune());
    }))
  }

  async function indexStatus() {
    await bringUp()
    try {
      return await readStatus(db, openedAt, clock.now())
    } catch (error) {
      if (error instanceof InboxError && error.code === 'shutting_down') throw error
      return indexOff(messageOf(error))
    }
  }

  return {
    views: {
      indexStatus,
      activity: (query) => bringUp().then(() => reads.activity(query)),
      cadences: () => bringUp().then(() => reads.cadences()),
      drift: () => bringUp().then(() => reads.drift()),
      secretUses: () => bringUp().then(() => reads.secretUses()),
      knownWallets: () => bringUp().then(() => reads.knownWallets()),
    },
    find: { ...search, reach: (time) => bringUp().then(() => search.reach(time)) },
    rebuild: () => bringUp().then(() => indexer.clear()),
    async close() {
      await keeper?.close()
      await bringingUp.catch(() => {})
    },
  }
}
