// The part of the inbox that only clusters have: several processes that share one database.

/** One of the processes that share the database. */
export interface Replica {
  readonly id: string
  readonly version: string
  /** Milliseconds since 1970, by the database's clock. */
  readonly startedAt: number
  /** Time of its latest heartbeat. */
  readonly beatAt: number
  /** True when its latest heartbeat is recent. */
  readonly isAlive: boolean
  readonly isSelf: boolean
  readonly isLeader: boolean
}

/** State that other replicas can change, read at a heartbeat. */
export interface ClusterState {
  /** Living replicas; at least 1. */
  readonly replicas: number
  /** Handlers paused by name. `isAllPaused` pauses all handlers in addition. */
  readonly paused: ReadonlySet<string>
  readonly isAllPaused: boolean
  /** Maximum parallel runs by handler, where an operator set one. */
  readonly concurrencies: ReadonlyMap<string, number>
  /** Handlers with crash suspects, without paused ones. */
  readonly suspects: ReadonlySet<string>
  /** True when this process missed heartbeats so long that other replicas may have taken over its runs. */
  readonly wasSilent: boolean
}

export interface ClusterPort {
  readonly replicaId: string
  replicas(): Promise<readonly Replica[]>
  /** Number of living replicas at the latest heartbeat, including this one. */
  alive(): number
  /** Calls the listener at each heartbeat. `before`: the state at the heartbeat before it; null at the first. */
  onState(listener: (now: ClusterState, before: ClusterState | null) => void): void
  /** True when this replica does the shared work, such as retention. For a moment two replicas may lead. */
  isLeader(): boolean
}
