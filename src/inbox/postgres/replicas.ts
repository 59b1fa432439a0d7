import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { InboxError, messageOf } from '../../base/errors.ts'
import { version } from '../../base/version.ts'
import type { Replica } from '../cluster-port.ts'
import type { Database, Rows } from './database.ts'
import type { Health } from './pulse.ts'
import { safeText } from '../../base/log.ts'

export interface ClusterOptions {
  readonly db: Database
  /** As `newReplicaId` makes it. */
  readonly id: string
  /** Whom nobody has heard for so many milliseconds is gone. */
  readonly silentMs: number
  readonly onWarning: (text: string) => void
  /** Runs were taken from a replica that is gone: some may be claimable. */
  readonly onReaped: () => void
}

/** This process as one of the replicas that share a database. */
export interface Cluster {
  readonly id: string
  /**
   * Whether this replica does what one has to do: the one that is alive and started first. False where it has not beaten lately. One that
   * was silent for so long that it was forgotten is the last again. For a moment two may lead: after a machine stood still whose clock did
   * so too, or while one has not heard of the other. So what a leader does holds then as well: each step of a replay, a backfill or the
   * index is one transaction that changes nothing unless all is as it was when the step was planned; what is pruned is chosen again in the
   * transaction that prunes it, and only beyond a size twice as much may go; a warning may be told twice.
   */
  isLeader(): boolean
  /** How many are alive as of the last beat, this one among them. */
  alive(): number
  /** All that were there within the last hour, those that started first before the others. */
  replicas(): Promise<readonly Replica[]>
  health(): Health
  /** Called after beats, one call at a time: where that takes long, not after each. What it throws is a warning. */
  onBeat(listener: (beat: BeatEnd) => Promise<void>): void
  /** Ends its heartbeat, and what it still has under way. */
  leave(): Promise<void>
}

/** What is known at the end of a beat. */
export interface BeatEnd {
  /** Whether this process was silent, at any time since the last call, for so long that others may have taken its runs over. */
  readonly wasSilent: boolean
}

/** Without spaces, for an owner is `<replica id> <owner of the claim>`. */
export function newReplicaId(): string {
  const host = hostname()
    .replaceAll(/[^A-Za-z0-9.-]+/g, '-')
    .slice(0, 40)
  return `${host === '' ? 'replica' : host}-${randomBytes(3).toString('hex')}`
}

interface Beat {
  readonly id: string
  readonly version: string
  readonly started_at: number
  readonly beat_at: number
  /** With microseconds. */
  readonly beat: string
  readonly is_alive: boolean
  readonly load: Record<string, number>
}

const failedBeatMs = 250
/** What takes longer is tried again on another connection, before the others take this replica for silent. */
const beatLimitMs = 4_000
const keptMs = 3_600_000

const listed = `
  SELECT id, version, (extract(epoch FROM started_at) * 1000)::bigint AS started_at, (extract(epoch FROM beat_at) * 1000)::bigint AS beat_at,
    beat_at::text AS beat, beat_at > clock_timestamp() - make_interval(secs => $1::float8 / 1000) AS is_alive, load
  FROM inbox.replica WHERE beat_at > clock_timestamp() - make_interval(secs => $2) ORDER BY replica.started_at, id`

/**
 * Says that this process is there, from now on every fifth of `silentMs`, on a connection of its own: whatever else is slow, the others
 * hear of it. Throws as `db.query` if that cannot be said.
 */
export async function joinCluster(options: ClusterOptions): Promise<Cluster> {
  const { db, id, silentMs, onWarning, onReaped } = options
  const reaper = createReaper({ db, silentMs, onWarning, onReaped })
  const listeners: ((beat: BeatEnd) => Promise<void>)[] = []
  const processLoad = createProcessLoad()
  /** When this process last began to say that it is there, and succeeded. */
  let beatenAt: number | undefined
  let wasSilent = false
  let leads = false
  let alive = 1
  let failure: string | undefined
  let left = false
  let timer: NodeJS.Timeout | undefined
  let following: Promise<void> | undefined

  async function sayHere(): Promise<void> {
    const at = performance.now()
    await db.apart.query(
      `INSERT INTO inbox.replica AS r (id, version, started_at, beat_at, load) VALUES ($1, $2, clock_timestamp(), clock_timestamp(), $3)
       ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp(), load = excluded.load`,
      [id, version, JSON.stringify(processLoad())],
      beatLimitMs,
    )
    if (beatenAt !== undefined && performance.now() - beatenAt > silentMs) wasSilent = true
    beatenAt = at
    const beats = await db.apart.query<Beat>(listed, [silentMs, keptMs / 1_000], beatLimitMs)
    const living = beats.filter((beat) => beat.is_alive || beat.id === id)
    leads = living[0]?.id === id
    alive = living.length
    failure = undefined
    reaper.heard(new Map(beats.map((beat) => [beat.id, beat.beat])))
  }

  /** What follows a beat may take longer than the time until the next one. */
  async function follow(): Promise<void> {
    const end = { wasSilent }
    wasSilent = false
    for (const step of [() => reaper.reap(), ...listeners])
      await step(end).catch((error: unknown) => {
        if (!isClosed(error)) onWarning(messageOf(error))
      })
  }

  async function beat(): Promise<void> {
    try {
      await sayHere()
      following ??= follow().finally(() => (following = undefined))
    } catch (error) {
      failure = messageOf(error)
      // It was closed without a word: nothing is to be said any more.
      if (isClosed(error)) left = true
      reaper.forget()
    }
  }

  function beatLater(): void {
    if (left) return
    const again = () => {
      beating = beat().finally(beatLater)
    }
    timer = setTimeout(again, failure === undefined ? silentMs / 5 : failedBeatMs).unref()
  }

  await sayHere()
  let beating: Promise<void> = Promise.resolve()
  beatLater()

  return {
    id,
    isLeader: () => leads && beatenAt !== undefined && performance.now() - beatenAt < silentMs,
    alive: () => alive,
    async replicas() {
      const beats = await db.query<Beat>(listed, [silentMs, keptMs / 1_000])
      const leader = beats.find((one) => one.is_alive)?.id
      return beats.map((one) => ({
        id: one.id,
        version: one.version,
        startedAt: one.started_at,
        beatAt: one.beat_at,
        isAlive: one.is_alive,
        isSelf: one.id === id,
        isLeader: one.id === leader,
        load: one.load,
      }))
    },
    health() {
      const health = db.health()
      return !health.ok || failure === undefined ? health : { ok: false, reason: failure }
    },
    onBeat(listener) {
      listeners.push(listener)
    },
    async leave() {
      left = true
      clearTimeout(timer)
      await beating
      await following
      await reaper.reapOwn(id)
      await db.query(
        `DELETE FROM inbox.replica WHERE id = $1 OR beat_at < clock_timestamp() - make_interval(secs => $2)`,
        [id, keptMs / 1000],
      )
    },
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof InboxError && error.code === 'shutting_down'
}

/** `cpu`: of one processor, since the last call, 1 for all of it. `memory_bytes`: of the process. */
function createProcessLoad(): () => Record<string, number> {
  let usage = process.cpuUsage()
  let at = performance.now()
  return () => {
    const { user, system } = process.cpuUsage(usage)
    const now = performance.now()
    const cpu = (user + system) / 1000 / Math.max(1, now - at)
    usage = process.cpuUsage()
    at = now
    return { cpu: Math.round(cpu * 1000) / 1000, memory_bytes: process.memoryUsage.rss() }
  }
}

export interface ReaperOptions {
  readonly db: Rows
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

function createReaper({ db, silentMs, onWarning, onReaped }: ReaperOptions): Reaper {
  /** Since when, as `performance.now()`, it has been as it is: by replica, and null for the beat of one that is not listed. */
  const since = new Map<string, { readonly beat: string | null; readonly at: number }>()
  let heardAt = -Infinity

  async function reap(owner: string): Promise<void> {
    const runs = await db.query<{ handler: string; event_id: string; error_message: string | null }>(
      'SELECT handler, event_id, error_message FROM inbox.reap($1)',
      [owner],
    )
    if (runs.length === 0) return
    onReaped()
    const replica = safeText(replicaOf(owner))
    onWarning(
      `the replica ${replica} is gone: ${runs.length} ${runs.length === 1 ? 'run was' : 'runs were'} taken from it`,
    )
    for (const run of runs) {
      if (run.error_message === null) continue
      onWarning(`run became a dead letter: ${safeText(run.handler)} of ${safeText(run.event_id)}: ${run.error_message}`)
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
