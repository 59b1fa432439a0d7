import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { safeText } from '../../base/log.ts'
import type { Rows } from './database.ts'

export interface ReaperOptions {
  readonly db: Rows
  readonly clock: Clock
  readonly silentMs: number
  readonly onWarning: (text: string) => void
  readonly onReaped: () => void
}

/** Takes runs from replicas that are silent. Each replica has one. */
export interface Reaper {
  /**
   * To be called after each beat of this replica, with when the others last beat, as their texts in the database. Silence is what this
   * process itself has listened to for `silentMs` without a break, so that neither a clock that is set nor an outage looks like it.
   */
  heard(beats: ReadonlyMap<string, string>): void
  /** Takes the runs of those that were silent. One call at a time; it may be under way while more is heard. Throws as `query`. */
  reap(): Promise<void>
  /** What is heard next begins anew: this process could not listen. */
  forget(): void
  /** Ends all that this replica itself still has under way. */
  reapOwn(replicaId: string): Promise<void>
}

/** What a break in listening may be, as a share of `silentMs`: beats come every fifth. */
const breakShare = 0.6

export function createReaper({ db, clock, silentMs, onWarning, onReaped }: ReaperOptions): Reaper {
  /** Since when, as `performance.now()`, it has been as it is: by replica, and null for the beat of one that is not listed. */
  const since = new Map<string, { readonly beat: string | null; readonly at: number }>()
  let heardAt = -Infinity

  async function reap(owner: string): Promise<void> {
    const runs = await db.query<{ handler: string; event_id: string; error_message: string | null }>(
      'SELECT handler, event_id, error_message FROM inbox.reap($1, $2)',
      [owner, clock.now()],
    )
    if (runs.length === 0) return
    onReaped()
    const replica = safeText(replicaOf(owner))
    onWarning(
      `the replica ${replica} is gone: ${runs.length} ${runs.length === 1 ? 'run was' : 'runs were'} taken from it`,
    )
    for (const run of runs) {
      if (run.error_message === null) continue
      onWarning(`a run is a dead letter: ${safeText(run.handler)} of ${safeText(run.event_id)}: ${run.error_message}`)
    }
  }

  return {
    heard(beats) {
      const now = performance.now()
      if (now - heardAt > silentMs * breakShare) since.clear()
      heardAt = now
      for (const [id, { beat }] of since) if (beat !== null && !beats.has(id)) since.set(id, { beat: null, at: now })
      for (const [id, beat] of beats) if (since.get(id)?.beat !== beat) since.set(id, { beat, at: now })
    },
    async reap() {
      const owners = await ownersOf(db)
      const about = new Set(owners.map(replicaOf))
      for (const [id, { beat }] of since) if (beat === null && !about.has(id)) since.delete(id)
      for (const owner of owners) {
        const known = since.get(replicaOf(owner))
        if (known === undefined) since.set(replicaOf(owner), { beat: null, at: performance.now() })
        // What keeps one from being seen to keeps no other one, and is no fault of this replica: it is tried again at the next beat.
        else if (heardAt - known.at >= silentMs)
          await reap(owner).catch((error: unknown) => onWarning(notReaped(owner, error)))
      }
    },
    forget() {
      since.clear()
    },
    async reapOwn(replicaId) {
      for (const owner of await ownersOf(db)) if (replicaOf(owner) === replicaId) await reap(owner)
    },
  }
}

function notReaped(owner: string, error: unknown): string {
  return `runs of the replica ${safeText(replicaOf(owner))}, which is gone, could not be taken from it: ${messageOf(error)}`
}

function replicaOf(owner: string): string {
  return owner.split(' ', 1)[0] ?? ''
}

/** Who has runs under way: from one to the next, so that it costs as much as there are owners, however many runs they have. */
async function ownersOf(db: Rows): Promise<string[]> {
  const rows = await db.query<{ owner: string }>(
    `WITH RECURSIVE o AS (
       (SELECT owner FROM inbox.run WHERE owner IS NOT NULL ORDER BY owner LIMIT 1)
       UNION ALL
       SELECT (SELECT r.owner FROM inbox.run r WHERE r.owner > o.owner ORDER BY r.owner LIMIT 1)
       FROM o WHERE o.owner IS NOT NULL
     )
     SELECT owner FROM o WHERE owner IS NOT NULL`,
  )
  return rows.map((row) => row.owner)
}
