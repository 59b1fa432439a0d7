import type { Demand } from './demand.ts'
import { inputs } from './inputs.ts'

/** Something that storing and handling share. Seconds of it that each event takes, of one second a second. */
export interface Resource {
  readonly accept: number
  /** Of all handlers together. */
  readonly handle: number
}

export interface Capacity {
  /** Events a second that can be stored while nothing is handled. */
  readonly acceptPerSecond: number
  readonly resources: readonly Resource[]
}

/** Events a second that can be stored and handled. */
export function handledPerSecond({ acceptPerSecond, resources }: Capacity): number {
  return Math.min(acceptPerSecond, ...resources.map(({ accept, handle }) => 1 / (accept + handle)))
}

/** Events that can be handled in a second in which so many are stored. */
export function handledBeside({ resources }: Capacity, stored: number): number {
  return Math.max(0, Math.min(...resources.map(({ accept, handle }) => (1 - stored * accept) / handle)))
}

/** The processors of so many processes. Handlers that do nothing: what they do themselves is not in it. */
export function processes(handlers: number, count = 1): Resource {
  const accept = 1 / inputs.acceptPerSecond.value
  const run = 1 / inputs.handledPerSecond.value - accept
  return { accept: accept / count, handle: (handlers * run) / count }
}

/** The processor cores of PostgreSQL. */
export function server(handlers: number, cores: number): Resource {
  const micros = cores * 1e6
  return {
    accept: inputs.postgresAcceptMicros.value / micros,
    handle: (handlers * inputs.postgresRunMicros.value) / micros,
  }
}

/** Runs at once, where each takes `handlerMs`. */
export function slots({ handlers, handlerMs }: Pick<Demand, 'handlers' | 'handlerMs'>, count: number): Resource {
  return { accept: 0, handle: (handlers * handlerMs) / 1_000 / count }
}

export function sqliteCapacity(handlers: number): Capacity {
  return { acceptPerSecond: inputs.acceptPerSecond.value, resources: [processes(handlers)] }
}

/**
 * One PostgreSQL database with so many processor cores behind so many replicas. Acceptances take turns, whatever the replicas are: each
 * holds the row with the highest accept sequence until it is committed.
 */
export function databaseCapacity(handlers: number, { cores, replicas }: Omit<Cluster, 'databases'>): Capacity {
  const resources = [server(handlers, cores), processes(handlers, replicas * inputs.replicaShare.value)]
  const most = Math.min(...resources.map(({ accept }) => 1 / accept))
  return { acceptPerSecond: Math.min(inputs.postgresAcceptPerSecond.value, most), resources }
}

/** Replicas and databases that take a peak. */
export interface Cluster {
  readonly databases: number
  /** Processor cores of each database. */
  readonly cores: number
  /** Replicas of each database, the spare one included. */
  readonly replicas: number
}

/**
 * `peak` in events a second. Where it takes more than one database, each is as large as one that is full: another one more is like
 * the others.
 */
export function sizeCluster({ handlers, replicas }: Demand, peak: number): Cluster {
  const planned = peak / inputs.headroom.value
  const most = inputs.postgresAcceptPerSecond.value
  const each = Math.min(planned, most)
  const needed = ({ accept, handle }: Resource) => atLeastOne(each * (accept + handle))
  return {
    databases: atLeastOne(planned / most),
    cores: needed(server(handlers, 1)),
    replicas: Math.max(needed(processes(handlers, inputs.replicaShare.value)) + inputs.spareReplicas.value, replicas),
  }
}

function atLeastOne(count: number): number {
  return Math.max(1, Math.ceil(count))
}
