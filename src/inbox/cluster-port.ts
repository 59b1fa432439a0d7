/**
 * What an inbox has besides that several processes share. Words:
 *   replica    one of the processes that share a database
 *   leader     the replica that does what one has to do: retention, the index, warnings of what is shared
 */

/** A process that shares the inbox. */
export interface Replica {
  readonly id: string
  readonly version: string
  /** Milliseconds since 1970, of the database's clock. */
  readonly startedAt: number
  /** When it last said that it is there. */
  readonly beatAt: number
  /** Whether it has said so lately. */
  readonly isAlive: boolean
  /** Whether it is this process. */
  readonly isSelf: boolean
  readonly isLeader: boolean
  /** What it said of itself. */
  readonly load: Readonly<Record<string, number>>
}

/** What others may have changed, as it is now. */
export interface ClusterState {
  /** How many processes there are; at least 1. */
  readonly replicas: number
  /** Handlers that are paused; `all` of them together, whatever their names. */
  readonly paused: ReadonlySet<string>
  readonly isAllPaused: boolean
  /** How many runs of a handler may run at once, where somebody set that. */
  readonly concurrencies: ReadonlyMap<string, number>
  /** Handlers that have suspects, but for paused ones. */
  readonly suspects: ReadonlySet<string>
  /** Whether this process was silent for so long that others may have taken its runs over. */
  readonly wasSilent: boolean
}

export interface ClusterPort {
  readonly replicaId: string
  replicas(): Promise<readonly Replica[]>
  /** How many are alive as far as is known, this one among them. */
  alive(): number
  /** Called at each heartbeat, with what it was at the one before. */
  onState(listener: (now: ClusterState, before: ClusterState | null) => void): void
  /** Whether this process is the one that does what one has to do. Two may be for a moment. */
  isLeader(): boolean
}
