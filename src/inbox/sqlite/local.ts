import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import { viewNames, type Inbox } from '../port.ts'
import { remote } from '../rpc.ts'
import type { Views } from '../views/views.ts'
import { composeInbox } from './inbox.ts'
import { openMemoryStore, type OpenStore } from './open.ts'
import { createViews } from './views.ts'
import { createWriteSide } from './write-side.ts'
import type { WriterOptions } from './writer.ts'

/** For a clock that is never set back, `clockCheckMs` can be Infinity. */
type LocalOptions = Pick<WriterOptions, 'onHealth' | 'clockCheckMs'> & { readonly clock: Clock }

/** An inbox in memory, for tests and simulations: SQLite on `:memory:` in the caller's thread. Its events end with the process. */
export async function createMemoryInbox(options: LocalOptions): Promise<Inbox> {
  return createLocalSqliteInbox(await openMemoryStore(options), options)
}

/** A SQLite inbox without threads: the same store and writer on the caller's event loop, for simulations and tests. */
export function createLocalSqliteInbox(open: OpenStore, options: LocalOptions): Inbox {
  const failed = Promise.withResolvers<Error>()
  const writeSide = createWriteSide(open, { ...options, onFailure: failed.resolve })
  const views = createViews(open.db, options.clock)
  let closed: Promise<void> | undefined

  /** Asynchronous like a call to another thread. Rejects once the inbox is closed. */
  async function read(name: string, args: readonly unknown[]): Promise<unknown> {
    const error = new InboxError('shutting_down', 'the inbox is closed')
    if (closed !== undefined) throw error
    try {
      return await (views[name as keyof Views] as (...args: readonly unknown[]) => unknown)(...args)
    } catch (thrown) {
      // The inbox may have been closed between two statements.
      throw closed === undefined ? thrown : error
    }
  }

  return {
    ...composeInbox(writeSide, remote<Views>(read, viewNames)),
    health: () => (closed === undefined ? writeSide.health() : { ok: false, reason: 'the inbox is closed' }),
    onFailure: (listener) => void failed.promise.then(listener),
    close: () => (closed ??= writeSide.close()),
  }
}
