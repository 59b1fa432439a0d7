import type { HandlerRoute } from '../port.ts'
import type { Database } from './database.ts'
import {
  beatenWithin,
  commonOf,
  fromStoredSet,
  handlerSetOf,
  isSameSet,
  openBackfills,
  toStoredSet,
  type HandlerSet,
  type StoredSet,
} from './handler-sets.ts'

export interface PeersOptions {
  readonly db: Database
  /** Of this process. */
  readonly replicaId: string
  /** After so long a replica that says nothing does not count. */
  readonly silentMs: number
}

/** What this replica tells the others of its handlers, and what they tell. */
export interface Peers {
  /**
   * Tells which handlers it has from now on. `take` puts them in the place of those that it had, and resolves when nothing goes on that
   * was begun with the old ones. Throws `store_unavailable`; then `take` was not called, and the old ones stay.
   */
  register(routes: readonly HandlerRoute[], take: () => Promise<void>): Promise<void>
  /** Reads what the others have, and says again what was not heard; to be called with each heartbeat. Throws `store_unavailable`. */
  beat(): Promise<void>
  /**
   * To be waited for before an accept: a process that stood still for so long that it may not count any more is heard first. What this
   * cannot see is a standstill right after it: hence `say` looks back. Throws `store_unavailable`.
   */
  counted(): Promise<void>
  /**
   * Whether it is this replica that creates the runs of a replay or a backfill by a handler; null: by all of them. It is the one that
   * has run longest of those that have the handler as the newest one does; none, as long as none of them has it. Two may think so for a moment.
   */
  leads(handler: string | null): boolean
}

interface PeerRow {
  readonly id: string
  readonly handlers: StoredSet | null
}

export function createPeers({ db, replicaId, silentMs }: PeersOptions): Peers {
  /** What is true of this replica, and, where `isSaid`, told. */
  let own: HandlerSet | undefined
  let isSaid = false
  /** The accept sequence, when this replica is last known to have counted. */
  let countedSeq = 0
  let countedAt = -Infinity
  /** Those that are alive and have registered, the one that started first before the others. */
  let living: readonly { readonly id: string; readonly handlers: HandlerSet }[] = []
  let readAt = -Infinity
  let lastTurn: Promise<unknown> = Promise.resolve()

  /** One after the other: what is told last has to be what is true last. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = lastTurn.then(task)
    lastTurn = result.catch(() => {})
    return result
  }

  /** In one act, so that each accept comes before it or after it. `afterSeq`: when it last counted; null where it never stopped to. */
  async function say(handlers: HandlerSet, afterSeq: number | null): Promise<void> {
    isSaid = false
    const at = performance.now()
    const { said, lastSeq } = await db.alone(async (trx) => {
      const rows = await trx.query(`UPDATE inbox.replica SET handlers = $2 WHERE id = $1 RETURNING id`, [
        replicaId,
        toStoredSet(handlers),
      ])
      await openBackfills(trx, afterSeq === null ? null : { afterSeq, handlers })
      const [counter] = await trx.query<{ lastSeq: number }>(`SELECT last_seq AS "lastSeq" FROM inbox.counter`)
      return { said: rows.length === 1, lastSeq: counter?.lastSeq ?? 0 }
    })
    own = handlers
    isSaid = said
    countedSeq = lastSeq
    countedAt = at
  }

  async function read(): Promise<boolean> {
    const at = performance.now()
    const rows = await db.query<PeerRow & { readonly lastSeq: number }>(
      `SELECT r.id, r.handlers, c.last_seq AS "lastSeq" FROM inbox.counter c CROSS JOIN inbox.replica r
       WHERE ${beatenWithin('$2')} OR r.id = $1 ORDER BY r.started_at, r.id`,
      [replicaId, silentMs],
    )
    living = rows.flatMap(({ id, handlers }) => (handlers === null ? [] : [{ id, handlers: fromStoredSet(handlers) }]))
    readAt = at
    const mine = rows.find(({ id }) => id === replicaId)
    if (mine === undefined || mine.handlers === null) return false
    countedSeq = mine.lastSeq
    countedAt = at
    return true
  }

  async function replace(before: HandlerSet, next: HandlerSet, take: () => Promise<void>): Promise<void> {
    if (isSaid && isSameSet(before, next)) return take()
    // What it has only before or after is not had while it changes.
    await say(commonOf(before, next), null)
    await take()
    own = next
    // What is not heard now is said again with the next heartbeat.
    await say(next, null).catch(() => {})
  }

  async function beat(): Promise<void> {
    const counts = await read()
    if (own === undefined || (counts && isSaid)) return
    // What it has accepted since then may lack runs of handlers that others have.
    await say(own, countedSeq)
    await read()
  }

  return {
    register: (routes, take) =>
      inTurn(async () => {
        const next = handlerSetOf(routes)
        if (own !== undefined) {
          // What it has accepted while it did not count is looked back at before its handlers are others.
          await beat()
          await replace(own, next, take)
        } else {
          await say(next, null)
          await take()
        }
        // Else with the next heartbeat.
        await read().catch(() => {})
      }),
    beat: () => inTurn(beat),
    async counted() {
      const isLate = () => own !== undefined && performance.now() - countedAt > silentMs / 2
      if (isLate()) await inTurn(async () => (isLate() ? beat() : undefined))
    },
    leads(handler) {
      if (performance.now() - readAt >= silentMs) return false
      const newest = living.findLast(({ handlers }) => handler === null || handlers.has(handler))
      const isAsNewest = (handlers: HandlerSet, of: HandlerSet) =>
        handler === null ? isSameSet(handlers, of) : handlers.get(handler) === of.get(handler)
      const first = living.find(({ handlers }) => newest !== undefined && isAsNewest(handlers, newest.handlers))
      return first?.id === replicaId
    },
  }
}
