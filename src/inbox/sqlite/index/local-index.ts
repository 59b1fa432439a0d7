import type { Database } from 'better-sqlite3'
import type { Clock } from '../../../base/clock.ts'
import type { IndexStatus } from '../../index-port.ts'
import { openMemoryIndex } from './file.ts'
import { localIndexHandle, type IndexHandle } from './handle.ts'
import { createIndexer } from './indexer.ts'
import { statusOf } from '../../index-status.ts'

/** An index without a thread and without a file: each read brings it up to what is stored. */
export function createLocalIndex(db: Database, clock: Pick<Clock, 'now'>) {
  let made: ReturnType<typeof make> | undefined

  function make() {
    const index = openMemoryIndex()
    const indexer = createIndexer(db, index)
    return { indexer, handle: localIndexHandle(index, bringUp) }
  }

  function bringUp(): void {
    const { indexer } = current()
    while (indexer.step() > 0);
    indexer.prune(clock.now())
  }

  function current() {
    return (made ??= make())
  }

  const handle: IndexHandle = {
    read: (work) => current().handle.read(work),
    close: () => made?.handle.close(),
  }
  return {
    handle,
    status(): IndexStatus {
      bringUp()
      return statusOf(current().indexer.progress(), null, clock.now(), clock.now())
    },
    rebuild(): void {
      made?.handle.close()
      made = undefined
    },
    close: () => handle.close(),
  }
}
