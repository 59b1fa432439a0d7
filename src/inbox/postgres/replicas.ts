import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '../../clock.ts'
import { InboxError, messageOf } from '../../errors.ts'
import { version } from '../../version.ts'
import type { Replica } from '../cluster-port.ts'
import type { Database } from './database.ts'
import type { Health } from './pulse.ts'
import { createReaper } from './reaper.ts'

export interface ClusterOptions {
  readonly db: Database
  /** For the times of runs; heartbeats are of real time. */
  readonly clock: Clock
  /** As `newReplicaId` makes it. */
  readonly id: string
  readonly silentMs: number
  readonly onWarning: (text: string) => void
  /** Runs were taken from a replica that is gone: some may be claimable. */
  readonly onReaped: () => void
}

/** This process as one of the replicas that share a database. */
export interface Cluster {
  readonly id: string
  /** Whether this replica does what one has to do: the one that is alive and started first. False where it has not beaten lately. */
  isLeader(): boolean
  /** How many are alive as of the last beat, this one among them. */
  alive(): number
  /** All that were there within the last hour, those that started first before the others. */
  replicas(): Promise<readonly Replica[]>
  health(): Health
  /** Called after each beat, one call at a time; what it throws is a warning. */
  onBeat(listener: () => Promise<void>): void
  /** What this replica says of its load with each beat, beside its share of a processor and its memory. */
  tellLoad(load: () => Readonly<Record<string, number>>): void
  /** Ends its heartbeat, and what it still has under way. */
  leave(): Promise<void>
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
const keptMs = 3_600_000

const listed = `
  SELECT id, version, (extract(epoch FROM started_at) * 1000)::bigint AS started_at, (extract(epoch FROM beat_at) * 1000)::bigint AS beat_at,
    beat_at::text AS beat, beat_at > clock_timestamp() - make_interval(secs => $1::float8 / 1000) AS is_alive, load
  FROM inbox.replica WHERE beat_at > clock_timestamp() - make_interval(secs => $2) ORDER BY replica.started_at, id`

/** Says that this process is there, from now on every fifth of `silentMs`. Throws as `db.query` if that cannot be said. */
export async function joinCluster(options: ClusterOptions): Promise<Cluster> {
  const { db, clock, id, silentMs, onWarning, onReaped } = options
  const reaper = createReaper({ db, clock, silentMs, onWarning, onReaped })
  const listeners: (() => Promise<void>)[] = []
  let moreLoad: () => Readonly<Record<string, number>> = () => ({})
  const processLoad = createProcessLoad()
  let beatenAt = -Infinity
  let leads = false
  let alive = 1
  let failure: string | undefined
  let left = false
  let timer: NodeJS.Timeout | undefined

  async function sayHere(): Promise<void> {
    await db.query(
      `INSERT INTO inbox.replica AS r (id, version, started_at, beat_at, load) VALUES ($1, $2, clock_timestamp(), clock_timestamp(), $3)
       ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp(), load = excluded.load`,
      [id, version, JSON.stringify({ ...processLoad(), ...moreLoad() })],
    )
    const beats = await db.query<Beat>(listed, [silentMs, keptMs / 1_000])
    beatenAt = performance.now()
    const living = beats.filter((beat) => beat.is_alive || beat.id === id)
    leads = living[0]?.id === id
    alive = living.length
    failure = undefined
    await reaper.heard(new Map(beats.map((beat) => [beat.id, beat.beat])))
  }

  async function beat(): Promise<void> {
    try {
      await sayHere()
      for (const listener of listeners) await listener().catch((error: unknown) => onWarning(messageOf(error)))
    } catch (error) {
      failure = messageOf(error)
      // It was closed without a word: nothing is to be said any more.
      if (error instanceof InboxError && error.code === 'shutting_down') left = true
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
    isLeader: () => leads && performance.now() - beatenAt < silentMs,
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
    tellLoad(load) {
      moreLoad = load
    },
    async leave() {
      left = true
      clearTimeout(timer)
      await beating
      await reaper.reapOwn(id)
      await db.query(
        `DELETE FROM inbox.replica WHERE id = $1 OR beat_at < clock_timestamp() - make_interval(secs => $2)`,
        [id, keptMs / 1000],
      )
    },
  }
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
