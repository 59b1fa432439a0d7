/**
 * The index: what is derived from stored events after their commit, for people and warnings. It may be behind, and it can be
 * thrown away and built anew; nothing that must not be lost is in it. Words:
 *   index       a file of its own (SQLite), or tables that no accept writes (Postgres): search, tallies, cadences, drift
 *   lag         how far the index is behind what is stored
 *   cadence     how often events of a type come on a network
 *   drift       how an event differs from what is documented of its type
 */

/** How far the index has come. */
export interface IndexStatus {
  /** `building`: more than a few seconds behind. `off`: there is none, or it cannot be written; the reason says why. */
  readonly state: 'current' | 'building' | 'off'
  readonly reason: string | null
  /** The accept sequence number up to which everything is in it. */
  readonly indexedSeq: number
  /** Events that are stored and not in it yet, and for how long the oldest of them has waited (milliseconds). */
  readonly behind: number
  readonly lagMs: number
  /** Of its file, in bytes; null where it has none. */
  readonly sizeBytes: number | null
}

export interface ActivityQuery {
  /** Received at or after, before: milliseconds since 1970. */
  readonly from: number
  readonly to: number
  /** A whole number of minutes, in milliseconds. At most 1,500 buckets between `from` and `to`. */
  readonly bucketMs: number
}

/** Accepted events of a type on a network in a bucket of time; there is none where nothing came. */
export interface Activity {
  /** Where the bucket begins. */
  readonly at: number
  readonly type: string
  /** Null: of no network. */
  readonly network: string | null
  readonly count: number
}

/** How often events of a type come on a network. `gaps[i]` counts times of 2^i to 2^(i+1) seconds between two of them; [0] is up to 2 s. */
export interface Cadence {
  readonly type: string
  readonly network: string | null
  readonly firstAt: number
  readonly lastAt: number
  readonly count: number
  readonly gaps: readonly number[]
}

export const driftKinds = ['unknown_type', 'new_field', 'missing_field', 'wrong_type', 'out_of_range'] as const
export type DriftKind = (typeof driftKinds)[number]

/** One way in which events of a type differ from their documentation, counted. */
export interface DriftRecord {
  readonly kind: DriftKind
  readonly type: string
  /** Of the envelope, such as `data.amount_usd`; empty for an unknown type. */
  readonly path: string
  /** What is documented, and the first value that came instead, shortened to 200 characters. */
  readonly expected: string
  readonly example: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  readonly firstEventId: string
}

/** When a secret verified an event, as far as events say. */
export interface SecretUse {
  readonly label: string
  readonly firstAt: number
  readonly lastAt: number
  readonly count: number
}

/** A wallet that an event of type `wallet.*` was about. */
export interface KnownWallet {
  readonly network: string
  readonly address: string
  readonly lastAt: number
}

/** So many wallets are known at most. */
export const mostWallets = 10_000

/** Reads of the index. Where it is off they find nothing; `indexStatus` says so. */
export interface IndexPort {
  indexStatus(): Promise<IndexStatus>
  /** In order of time. Throws `bad_request` for more than 1,500 buckets. */
  activity(query: ActivityQuery): Promise<readonly Activity[]>
  cadences(): Promise<readonly Cadence[]>
  /** Those that came last first; at most 500 are kept. */
  drift(): Promise<readonly DriftRecord[]>
  secretUses(): Promise<readonly SecretUse[]>
  /** At most 10,000, those that events came of last first. */
  knownWallets(): Promise<readonly KnownWallet[]>
  /** Throws the index away and begins to build it anew. Events that come meanwhile are accepted as ever. */
  rebuildIndex(by?: string): Promise<void>
}
