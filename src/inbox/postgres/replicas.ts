import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { InboxError, messageOf } from '../../base/errors.ts'
import { safeText } from '../../base/log.ts'
import { version } from '../../base/version.ts'
import type { Replica } from '../cluster-port.ts'
import type { OnWarning } from '../types.ts'
import type { Database, Rows } from './database.ts'
import { reapOwner } from './leases.ts'
import type { Health } from './pulse.ts'

export interface ClusterOptions {
  readonly db: Database
  /** See `newReplicaId`. */
  readonly id: string
  /** A replica without a heartbeat for this many milliseconds is dead. */
  readonly silentMs: number
  readonly onWarning: OnWarning
  /** Called after the runs of a dead replica were reaped: some may be claimable. */
  readonly onReaped: () => void
}

type BeatListener = (beat: { readonly wasSilent: boolean }) => Promise<void>

/** Contains no spaces, because the owner of a lease is `<replica id> <owner of the claim>`. */
export function newReplicaId(): string {
  const host = hostname()
    .replaceAll(/[^A-Za-z0-9.-]+/g, '-')
    .slice(0, 40)
  return `${host === '' ? 'replica' : host}-${randomBytes(3).toString('hex')}`
}

interface Beat extends Omit<Replica, 'isSelf' | 'isLeader'> {
  /** `beatAt` as text, with microseconds. */
  readonly beat: string
}

const failedBeatMs = 250
/** Timeout of a heartbeat: it is repeated on another connection before the other replicas consider this one dead. */
const beatLimitMs = 4_000
/** How long a replica is listed after its latest heartbeat. */
const listedMs = 3_600_000

/** SQL condition: a heartbeat is less than `ms` old. A time in the future is from before the database's clock was set back. */
export const isRecent = (ms: string, beatAt = 'beat_at') =>
  `abs(extract(epoch FROM clock_timestamp() - ${beatAt})) * 1000 < ${ms}::float8`

const selectReplicas = `
  SELECT id, version, (extract(epoch FROM started_at) * 1000)::bigint AS "startedAt", (extract(epoch FROM beat_at) * 1000)::bigint AS "beatAt",
    beat_at::text AS beat, ${isRecent('$1')} AS "isAlive"
  FROM inbox.replica WHERE ${isRecent('$2')} ORDER BY replica.started_at, id`

/**
 * Writes a heartbeat now and then every fifth of `silentMs`, on its own connection, so that slow statements don't delay it. Throws like
 * `db.query` if the first one fails.
 */
export async function joinCluster(options: ClusterOptions) {
  const { db, id, silentMs, onWarning, onReaped } = options
  const reaper = createReaper({ db, silentMs, onWarning, onReaped })
  const listeners: BeatListener[] = []
  /** Start of the latest successful heartbeat, as `performance.now()`. */
  let beatenAt: number | undefined
  let wasSilent = false
  let leads = false
  let alive = 1
  let failure: string | undefined
  let hasLeft = false
  let timer: NodeJS.Timeout | undefined
  let tasks: Promise<void> | undefined

  /** The column `load` has no reader: earlier versions wrote the load of the process into it. */
  async function writeHeartbeat(): Promise<void> {
    const at = performance.now()
    await db.reserved.query(
      `INSERT INTO inbox.replica AS r (id, version, started_at, beat_at, load) VALUES ($1, $2, clock_timestamp(), clock_timestamp(), '{}')
       ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp()`,
      [id, version],
      beatLimitMs,
    )
    if (beatenAt !== undefined && performance.now() - beatenAt > silentMs) wasSilent = true
    beatenAt = at
    const beats = await db.reserved.query<Beat>(selectReplicas, [silentMs, listedMs], beatLimitMs)
    const living = beats.filter((beat) => beat.isAlive || beat.id === id)
    leads = living[0]?.id === id
    alive = living.length
    failure = undefined
    reaper.observe(new Map(beats.map((beat) => [beat.id, beat.beat])))
  }

  /** Runs the reaper and the listeners. May take longer than the time until the next heartbeat. */
  async function runTasks(): Promise<void> {
    const beatInfo = { wasSilent }
    wasSilent = false
    for (const step of [() => reaper.reap(), ...listeners])
      await step(beatInfo).catch((error: unknown) => {
        if (!isClosed(error)) onWarning('heartbeat task failed', { error: messageOf(error) })
      })
  }

  async function beat(): Promise<void> {
    try {
      await writeHeartbeat()
      tasks ??= runTasks().finally(() => (tasks = undefined))
    } catch (error) {
      failure = messageOf(error)
      // The database was closed without `leave`: end the heartbeat.
      if (isClosed(error)) hasLeft = true
      reaper.forget()
    }
  }

  function beatLater(): void {
    if (hasLeft) return
    const again = () => {
      beating = beat().finally(beatLater)
    }
    timer = setTimeout(again, failure === undefined ? silentMs / 5 : failedBeatMs).unref()
  }

  await writeHeartbeat()
  let beating: Promise<void> = Promise.resolve()
  beatLater()

  return {
    id,
    /**
     * True if this replica is the living one that started first. False without a recent heartbeat. A replica that was deleted for its silence
     * starts over as the newest. For a moment two replicas may lead: after a machine and its clock stood still, or before one has seen the
     * other's heartbeat. The leader's work allows that. A step of a replay or backfill is one transaction that changes nothing if anything
     * has changed since it was planned. Pruning chooses its events again in its transaction; only pruning by size may prune twice as much.
     * A warning may be sent twice.
     */
    isLeader: () => leads && beatenAt !== undefined && performance.now() - beatenAt < silentMs,
    /** Number of living replicas at the latest heartbeat, including this one. */
    alive: () => alive,
    /** All replicas of the last hour, in order of their start. */
    async replicas(): Promise<readonly Replica[]> {
      const beats = await db.query<Beat>(selectReplicas, [silentMs, listedMs])
      const leader = beats.find(({ isAlive }) => isAlive)?.id
      return beats.map(({ beat: _beat, ...replica }) => {
        return { ...replica, isSelf: replica.id === id, isLeader: replica.id === leader }
      })
    },
    health(): Health {
      const health = db.health()
      return !health.ok || failure === undefined ? health : { ok: false, reason: failure }
    },
    /**
     * Calls the listener after heartbeats, one call at a time; a slow listener misses some. Its errors become warnings. `wasSilent`: this
     * process was silent since the last call, and others may have taken over its runs.
     */
    onBeat(listener: BeatListener): void {
      listeners.push(listener)
    },
    /** Ends the heartbeat and the leases of this replica. */
    async leave() {
      hasLeft = true
      clearTimeout(timer)
      await beating
      await tasks
      await reaper.reapOwn(id)
      await db.query(`DELETE FROM inbox.replica WHERE id = $1 OR NOT ${isRecent('$2')}`, [id, listedMs])
    },
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof InboxError && error.code === 'shutting_down'
}

/** Maximum break between two observations, as a share of `silentMs`. Heartbeats come every fifth. */
const breakShare = 0.6

/** Reaps the runs of silent replicas. Each replica has one. */
function createReaper({ db, silentMs, onWarning, onReaped }: Omit<ClusterOptions, 'id'>) {
  /** Latest heartbeat by replica (null if it has no row) and since when it is unchanged, as `performance.now()`. */
  const observed = new Map<string, { readonly beat: string | null; readonly at: number }>()
  let observedAt = -Infinity

  async function reap(owner: string): Promise<void> {
    const runs = await reapOwner(db, owner)
    if (runs.length === 0) return
    onReaped()
    onWarning('replica died', { replica: safeText(replicaOf(owner)), reapedRuns: runs.length })
    for (const { handler, eventId, error } of runs) {
      if (error === null) continue
      const fields = { handler: safeText(handler), eventId: safeText(eventId), error: error.message }
      onWarning('run became a dead letter', fields)
    }
  }

  return {
    /**
     * Call after each heartbeat of this replica, with the heartbeats of all replicas as text. A replica is silent if this process has
     * observed the same heartbeat for `silentMs` without a break. So neither a clock that is set nor an outage makes a replica look silent.
     */
    observe(beats: ReadonlyMap<string, string>): void {
      const now = performance.now()
      if (now - observedAt > silentMs * breakShare) observed.clear()
      observedAt = now
      for (const [id, { beat }] of observed)
        if (beat !== null && !beats.has(id)) observed.set(id, { beat: null, at: now })
      for (const [id, beat] of beats) if (observed.get(id)?.beat !== beat) observed.set(id, { beat, at: now })
    },
    /** One call at a time; `observe` may be called during it. Throws like `query`. */
    async reap(): Promise<void> {
      const owners = await ownersOf(db)
      const withLeases = new Set(owners.map(replicaOf))
      for (const [id, { beat }] of observed) if (beat === null && !withLeases.has(id)) observed.delete(id)
      for (const owner of owners) {
        const known = observed.get(replicaOf(owner))
        if (known === undefined) observed.set(replicaOf(owner), { beat: null, at: performance.now() })
        // A failure must not stop the other owners, nor this replica. The next heartbeat tries again.
        else if (observedAt - known.at >= silentMs)
          await reap(owner).catch((error: unknown) =>
            onWarning('reaping a replica failed', { replica: safeText(replicaOf(owner)), error: messageOf(error) }),
          )
      }
    },
    /** Restarts the observation, because this process missed heartbeats. */
    forget: () => observed.clear(),
    /** Ends all leases of this replica. */
    async reapOwn(replicaId: string): Promise<void> {
      for (const owner of await ownersOf(db)) if (replicaOf(owner) === replicaId) await reap(owner)
    },
  }
}

function replicaOf(owner: string): string {
  return owner.split(' ', 1)[0] ?? ''
}

/** Owners of running runs. Skips from owner to owner in the index, so the cost depends on the owners, not on their runs. */
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
