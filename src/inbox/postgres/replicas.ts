import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { version } from '../../base/version.ts'
import type { Replica } from '../cluster-port.ts'
import { createClockWarning } from './clock-warning.ts'
import type { Database } from './database.ts'
import type { Health } from './pulse.ts'
import { createReaper } from './reaper.ts'

export interface ClusterOptions {
  readonly db: Database
  /** For the times of runs; heartbeats are of real time. */
  readonly clock: Clock
  /** As `newReplicaId` makes it. */
  readonly id: string
  /** Whom nobody has heard for so many milliseconds is gone. */
  readonly silentMs: number
  readonly onWarning: (text: string) => void
  /** Runs were taken from a replica that is gone: some may be claimable. */
  readonly onReaped: () => void
  /** What this machine takes for the time, in milliseconds since 1970: default `Date.now`. */
  readonly systemNow?: () => number
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
  const { db, clock, id, silentMs, onWarning, onReaped, systemNow = Date.now } = options
  const reaper = createReaper({ db, clock, silentMs, onWarning, onReaped })
  const lookAtClock = createClockWarning(onWarning)
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
    const [at, sentAt] = [performance.now(), systemNow()]
    const [said] = await db.apart.query<{ now: number }>(
      `INSERT INTO inbox.replica AS r (id, version, started_at, beat_at, load) VALUES ($1, $2, clock_timestamp(), clock_timestamp(), $3)
       ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp(), load = excluded.load
       RETURNING (extract(epoch FROM beat_at) * 1000)::bigint AS now`,
      [id, version, JSON.stringify(processLoad())],
      beatLimitMs,
    )
    if (said !== undefined) lookAtClock(said.now, { from: sentAt, to: systemNow() })
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
