import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import type { Inbox } from '../port.ts'
import { Jobs } from '../jobs.ts'
import type { Remote } from '../rpc.ts'
import { composeInbox, viewNames } from './compose.ts'
import { openMemoryStore, type OpenStore } from './open.ts'
import { createViews, type SqliteViews } from './views.ts'
import { createWriteSide, jobsOf } from './write-side.ts'
import { Writer, type WriterHealth } from './writer.ts'

export interface LocalOptions {
  readonly clock: Clock
  readonly onHealth?: (health: WriterHealth) => void
  /** Longest sleep before the clock is read again, in case it was set back. Default 5,000; Infinity for a clock that never is. */
  readonly clockCheckMs?: number
}

/** An inbox in memory, for tests and simulations: SQLite on `:memory:` in the caller's thread. Its events end with the process. */
export async function createMemoryInbox(options: LocalOptions): Promise<Inbox> {
  return createLocalSqliteInbox(await openMemoryStore(options), options)
}

/** A SQLite inbox without threads: the same store and writer on the caller's event loop, for simulations and tests. */
export function createLocalSqliteInbox(open: OpenStore, options: LocalOptions): Inbox {
  const failureListeners: ((error: Error) => void)[] = []
  const writer = new Writer({
    store: open.store,
    clock: options.clock,
    onCommit: () => open.committed(),
    onFailure: (error: InboxError) => failureListeners.forEach((listener) => listener(error)),
    ...(options.onHealth && { onHealth: options.onHealth }),
    ...(options.clockCheckMs !== undefined && { clockCheckMs: options.clockCheckMs }),
  })
  const jobs = new Jobs(jobsOf(writer, open.store), options.clock)
  const side = createWriteSide(writer, jobs)
  let closed: Promise<void> | undefined

  async function closeAll(): Promise<void> {
    jobs.stop()
    await writer.run(({ gaps }) => gaps.end()).catch(() => {})
    await writer.close()
    open.close()
  }

  jobs.poke()
  return {
    ...composeInbox(
      side,
      localViews(createViews(open.db, options.clock), () => closed !== undefined),
    ),
    health: () => (closed === undefined ? writer.health : { ok: false, reason: 'the inbox is closed' }),
    onFailure: (listener) => void failureListeners.push(listener),
    close: () => (closed ??= closeAll()),
  }
}

/** Views of this thread, answered as those of another thread are: later, and not once the inbox is closed. */
function localViews(views: SqliteViews, isClosed: () => boolean): Remote<SqliteViews> {
  const methods = viewNames.map((name) => {
    const view = views[name] as (...args: unknown[]) => unknown
    const answer = async (...args: unknown[]) => {
      const closed = new InboxError('shutting_down', 'the inbox is closed')
      if (isClosed()) throw closed
      try {
        return await view(...args)
      } catch (error) {
        // It may have been closed between two statements.
        throw isClosed() ? closed : error
      }
    }
    return [name, answer]
  })
  return Object.fromEntries(methods) as Remote<SqliteViews>
}
