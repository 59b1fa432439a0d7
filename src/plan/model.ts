import {
  databaseCapacity,
  handledPerSecond,
  processes,
  server,
  sizeCluster,
  sqliteCapacity,
  type Capacity,
  type Cluster,
  type Resource,
} from './capacity.ts'
import { groupCommit } from './commits.ts'
import { ratesOf, secondsPerDay, type Demand, type Rates } from './demand.ts'
import { diskOf, eventBytes, type Disk, type EventBytes, type StoreName } from './disk.ts'
import { inputs } from './inputs.ts'

/** What one kind of store makes of a demand. */
export interface StorePlan {
  readonly bytes: EventBytes
  readonly disk: Disk
  /** In the busiest second; null where the store cannot keep up then. */
  readonly commitsPerSecond: number | null
  /** Milliseconds in the busiest second, from the arrival to the end of the commit; null as above. */
  readonly acknowledgeMs: { readonly mean: number; readonly slow: number } | null
  /** Events a second, of all databases together. */
  readonly handledPerSecond: number
  /** Of the busiest second, how much of what limits it most is used: 1 is all of it. */
  readonly bound: { readonly by: Bound; readonly share: number }
}

/**
 * What limits a store: the processor of its process, the size of its file, the acceptances of a database that take turns, the processor of the database, those of
 * the replicas, or the order per key.
 */
export type Bound = 'process' | 'disk' | 'accepts' | 'server' | 'replicas' | 'keys'

export interface Plan {
  readonly demand: Demand
  readonly perSecond: Rates
  /** Seconds of one processor core a day, without what handlers do and without PostgreSQL. */
  readonly cpuSecondsPerDay: number
  /** Runs at once in the busiest second, of all processes together. */
  readonly runsAtOnce: number
  /** INBOX_CONCURRENCY that each process needs for that, of the store that is recommended. */
  readonly concurrency: number
  readonly sqlite: StorePlan & {
    readonly capacity: Capacity
    readonly isEnough: boolean
    /** Up to so many events a day it would be, all else as asked for. */
    readonly upToPerDay: number
  }
  readonly postgres: StorePlan & {
    readonly cluster: Cluster
    /** Seconds of one processor core a day, of the databases. */
    readonly serverSecondsPerDay: number
  }
  /** The one that is recommended. */
  readonly store: StoreName
}

/** The default of INBOX_CONCURRENCY. */
const usualConcurrency = 16

/** A model of an inbox that takes what is asked for: rates, disk, commits, processors, and which store is enough. Numbers as in `inputs`. */
export function planCapacity(demand: Demand): Plan {
  const { eventsPerDay, handlers, handlerMs } = demand
  const perSecond = ratesOf(demand)
  const sqlite = planSqlite(demand, perSecond.peak)
  const postgres = planPostgres(demand, perSecond.peak)
  const { databases, replicas } = postgres.cluster
  const { acceptCpuMicros, runCpuMicros, indexCpuMicros, headroom } = inputs
  const cpuMicros = acceptCpuMicros.value + handlers * runCpuMicros.value + indexCpuMicros.value
  const runsAtOnce = (perSecond.peak * handlers * handlerMs) / 1_000
  return {
    demand,
    perSecond,
    cpuSecondsPerDay: (eventsPerDay * cpuMicros) / 1e6,
    runsAtOnce: Math.ceil(runsAtOnce),
    concurrency: Math.max(
      usualConcurrency,
      Math.ceil(runsAtOnce / headroom.value / (sqlite.isEnough ? 1 : databases * replicas)),
    ),
    sqlite,
    postgres,
    store: sqlite.isEnough ? 'sqlite' : 'postgres',
  }
}

function planSqlite(demand: Demand, peak: number): Plan['sqlite'] {
  const { handlers, fsyncMs, replicas, eventsPerDay } = demand
  const disk = diskOf('sqlite', demand)
  const diskShare = disk.total / inputs.sqliteMostBytes.value
  const capacity = sqliteCapacity(handlers)
  const most = handledPerSecond(capacity)
  const planned = most * inputs.headroom.value
  const eventMicros = inputs.sqliteAcceptMicros.value + handlers * inputs.sqliteRunMicros.value
  // The end of a run is work for the writer as well, and shares its commits with what comes.
  const worksPerEvent = handlers > 0 ? 2 : 1
  const commitsAt = (works: number) => (peak < most ? groupCommit(peak * works, fsyncMs, eventMicros / works) : null)
  return {
    capacity,
    bytes: eventBytes('sqlite', demand),
    disk,
    commitsPerSecond: commitsAt(worksPerEvent)?.perSecond ?? null,
    acknowledgeMs: commitsAt(1)?.acknowledgeMs ?? null,
    handledPerSecond: most,
    bound: highest({ process: peak / most, disk: diskShare, keys: keyShare(demand, peak, 2 * fsyncMs) }),
    isEnough: peak <= planned && diskShare <= 1 && replicas <= 1,
    upToPerDay: Math.floor(Math.min((planned * secondsPerDay) / demand.peak, eventsPerDay / diskShare)),
  }
}

function planPostgres(demand: Demand, peak: number): Plan['postgres'] {
  const { handlers, fsyncMs, eventsPerDay } = demand
  const cluster = sizeCluster(demand, peak)
  const { databases, cores, replicas } = cluster
  const each = peak / databases
  const syncMs = fsyncMs + inputs.roundTripMs.value
  const commits = groupCommit(each, syncMs, inputs.postgresAcceptMicros.value)
  // Beside each commit that stores, one that claims and one that settles.
  const perBatch = handlers > 0 ? 3 : 1
  return {
    cluster,
    serverSecondsPerDay: eventsPerDay * wholeWay(server(handlers, 1)),
    bytes: eventBytes('postgres', demand),
    disk: diskOf('postgres', demand),
    commitsPerSecond: commits === null ? null : commits.perSecond * perBatch * databases,
    acknowledgeMs: commits?.acknowledgeMs ?? null,
    handledPerSecond: handledPerSecond(databaseCapacity(handlers, cluster)) * databases,
    bound: highest({
      accepts: each / inputs.postgresAcceptPerSecond.value,
      server: each * wholeWay(server(handlers, cores)),
      replicas: each * wholeWay(processes(handlers, replicas * inputs.replicaShare.value)),
      keys: keyShare(demand, peak, 2 * syncMs),
    }),
  }
}

function wholeWay({ accept, handle }: Resource): number {
  return accept + handle
}

/** Runs of one key come one after the other: each takes as long as its handler, and `commitsMs` for its claim and its end. */
function keyShare({ keys, handlers, handlerMs }: Demand, peak: number, commitsMs: number): number {
  return handlers === 0 ? 0 : (peak * (handlerMs + commitsMs)) / 1_000 / keys
}

function highest(shares: Partial<Record<Bound, number>>): StorePlan['bound'] {
  const all = Object.entries(shares) as [Bound, number][]
  const [by, share] = all.reduce((most, one) => (one[1] > most[1] ? one : most))
  return { by, share }
}
