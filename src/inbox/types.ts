// The data types of the inbox. port.ts defines the terms and the interfaces.

/** A delivered event with a valid envelope. */
export interface NewEvent {
  readonly kind: 'event'
  /** See `uidOf`: well-formed, 1 to 296 characters. Unique in the store, even after pruning. */
  readonly id: string
  readonly type: string
  /** `created_at` of the envelope, unchanged; RFC 3339 in UTC for other sources. */
  readonly createdAt: string
  /** `network:address` or the event's own id; for other sources see `keyOfSource`. */
  readonly key: string
  /** Parts of the key; null if the key is the event's own id. */
  readonly network: string | null
  readonly address: string | null
  readonly raw: Uint8Array
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  /**
   * Label of the secret that verified it, `<source>/<label>` for other sources than the default one; `internalLabel` for an
   * event of the inbox itself. See `sourceOf`.
   */
  readonly secretLabel: string
  /** The headers that INBOX_STORED_HEADERS selects, as a JSON object. */
  readonly headers?: string | null
  /** W3C `traceparent` of its receipt. */
  readonly trace?: string | null
  /**
   * Digest of the body without the parts that change between attempts. Bodies of one id with equal digests are duplicates.
   * Null or absent: bodies are compared byte by byte.
   */
  readonly stableDigest?: string | null
}

/** Prefix of the types of the inbox's own events, such as warnings. The pattern `*` excludes them. */
export const internalTypePrefix = 'inbox.'
/** Secret label of the inbox's own events. Labels of secrets can't contain parentheses. */
export const internalLabel = '(own)'

/** A signed body that is not a usable event. */
export interface NewQuarantined {
  readonly kind: 'quarantined'
  /** `uidOf` the source and `sha256:<hex of the bytes>`. */
  readonly id: string
  /** Stable code that says why the body is unusable. */
  readonly reason: string
  readonly raw: Uint8Array
  readonly receivedAt: number
  readonly secretLabel: string
}

export type IncomingDelivery = NewEvent | NewQuarantined

/**
 * Result of a delivery. `conflict`: an event with the id is stored with another body; that body stays, and the conflict is recorded. A
 * repeated quarantined body is `quarantined` again.
 */
export type AcceptResult = 'accepted' | 'duplicate' | 'conflict' | 'quarantined'

/** The part of a handler's definition that the store needs. */
export interface HandlerRoute {
  readonly name: string
  /** Types, prefixes such as `wallet.*`, or `*`. */
  readonly types: readonly string[]
  /** Names of sources, or `*` for all. Absent: the default source. */
  readonly sources?: readonly string[] | undefined
  /** `key`: one run per key at a time, in accept order. `none`: in any order, in parallel. */
  readonly order: 'key' | 'none'
  /**
   * Paths in the event, such as `data.pair`, whose values form the key of a run. Default: the event's own key. A run has no key if a
   * value is missing.
   */
  readonly keyPaths?: readonly string[] | undefined
  /** A new run supersedes the runs of its key that are not running. */
  readonly latestOnly?: boolean
  /** Effect of a dead letter on its key. Default `skip`: later runs continue. `hold`: the key is blocked. */
  readonly onDead?: 'skip' | 'hold'
  /**
   * Events that a handler gets when it is registered for the first time: new ones (default), all stored ones, or those received at or
   * after a time (milliseconds since 1970). Ignored for a known handler.
   */
  readonly from?: 'now' | 'beginning' | number
}

export interface StoredEvent {
  /** Accept-sequence number: 1, 2, 3 … without gaps. */
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly createdAt: string
  readonly receivedAt: number
  readonly key: string
  readonly secretLabel: string
  readonly raw: Uint8Array
  /** W3C `traceparent` of its receipt; null or absent if it has none. */
  readonly trace?: string | null
}

/** An outbox item that a run leaves for a sink. */
export interface NewItem {
  readonly sink: string
  /** Items with the same key are delivered in order; null: no order. */
  readonly key: string | null
  /** JSON */
  readonly payload: string
  /** Stays the same when the item is sent again, and when its run is repeated. */
  readonly idempotencyKey: string
}

export type Item = Pick<NewItem, 'payload' | 'idempotencyKey'>

/** A value of a handler's state. */
export interface StateEntry {
  readonly key: string
  /** JSON */
  readonly value: string
  /** `versionOf` the lease that wrote it. */
  readonly version: number
  /** Milliseconds since 1970, by the clock of this process; an expired entry counts as absent. Null: never expires. */
  readonly expiresAt: number | null
}

/** One key, or the first `limit` keys that begin with `prefix` and sort after `after`, in the order of their UTF-8 bytes. */
export type StateQuery =
  | { readonly key: string }
  | { readonly prefix: string; readonly after: string | null; readonly limit: number }

/** A read of a run and its result. If the result has changed when the run settles, its effects are discarded. */
export interface StateRead {
  readonly query: StateQuery
  readonly found: readonly Pick<StateEntry, 'key' | 'version'>[]
}

export interface StateWrite {
  readonly key: string
  /** JSON; null deletes the entry. */
  readonly value: string | null
  /** Milliseconds since 1970, by the clock of this process; null: never. */
  readonly expiresAt: number | null
}

export interface Effects {
  readonly reads: readonly StateRead[]
  /** At most one write per key. */
  readonly writes: readonly StateWrite[]
  readonly items: readonly NewItem[]
}

/** The version of state entries written under a lease. Consecutive leases of a run differ. */
export function versionOf({ runId, token }: Pick<Lease, 'runId' | 'token'>): number {
  return runId * 1024 + (token % 1024)
}

/** A claimed run. Its owner executes it, then settles or releases the lease. */
export interface Lease {
  readonly runId: number
  /** Fences the lease: each claim of a run has another token. */
  readonly token: number
  readonly handler: string
  /** Number of this attempt, from 1. Stored before the lease is returned. */
  readonly attempt: number
  /** Attempts that ended with `retry` since the run was created or requeued. */
  readonly failed: number
  /** How often the owner of this run died since its last verdict. */
  readonly crashed: number
  readonly event: StoredEvent
  /** The run's key; null: no order. */
  readonly key: string | null
  /** The replay that created the run; null for a live run. */
  readonly replay: LeasedReplay | null
  /** The outbox item to deliver; null for a handler's run. */
  readonly item: Item | null
}

export interface LeasedReplay {
  readonly id: number
  /** True when its runs get other idempotency keys than live runs. */
  readonly newKeys: boolean
}

export interface ClaimRequest {
  readonly handlers: readonly string[]
  /** Maximum number of leases. */
  readonly max: number
  /** Name of the worker: `reap` ends all leases of an owner. */
  readonly owner: string
  /** True: only crash suspects (for isolated runners). False: only other runs. */
  readonly suspects: boolean
}

export interface RunError {
  /** The class of the error, or the code of an `InboxError`. */
  readonly name: string
  readonly message: string
  readonly stack?: string
}

/** The verdict on one attempt. Times are milliseconds since 1970. */
export type Outcome = {
  readonly runId: number
  readonly token: number
  readonly startedAt: number
  readonly endedAt: number
} & (
  | { readonly kind: 'done'; readonly effects?: Effects }
  | { readonly kind: 'retry'; readonly at: number; readonly error: RunError }
  | { readonly kind: 'dead'; readonly error: RunError }
  /** Postponed: retried later, without counting this attempt. */
  | { readonly kind: 'snooze'; readonly at: number }
  /** Not executed: too old (`expired`), or not selected by the handler (`unmatched`). */
  | { readonly kind: 'expired' }
  | { readonly kind: 'unmatched' }
)

/** When a postponed run is due. If the clock was set back since the verdict, the intended wait counts from now. */
export function dueAt({ at, endedAt }: { readonly at: number; readonly endedAt: number }, now: number): number {
  return now < endedAt ? now + (at - endedAt) : at
}

/**
 * `stale`: the lease's token is outdated; nothing was changed. `conflict`: another run changed state that this run had read; its effects
 * were discarded and it was released, to run again.
 */
export type SettleResult = 'applied' | 'stale' | 'conflict'

/** After this many crashes without a verdict, a run becomes a dead letter. */
export const maxCrashes = 3

/** A public key that was fetched from a sender. */
export interface SourceKey {
  readonly id: string
  /** SubjectPublicKeyInfo (DER) in base64. */
  readonly spki: string
}

/** Keeps the fetched keys of sources, so that a restart needs no network. */
/** `source`: name and key URL of a source. */
export interface SourceKeyPort {
  sourceKeys(source: string): Promise<readonly SourceKey[]>
  /** Replaces all keys of a source. Idempotent. */
  storeSourceKeys(source: string, keys: readonly SourceKey[]): Promise<void>
}

/** Receives problems in the background, for the log: a constant message and its details. */
export type OnWarning = (message: string, details: Readonly<Record<string, unknown>>) => void

/** Reports the step of a database upgrade and its progress from 0 to 1; a copy counts as half of it. */
export type OnUpgrade = (step: string, done: number) => void

/** The source that the INBOX_* settings describe. */
export const defaultSource = 'default'

/**
 * The source of an event: the part of its secret label before the slash. Labels of the default source have no slash, and
 * neither has the label of internal events.
 */
export function sourceOf({ secretLabel }: Pick<StoredEvent, 'secretLabel'>): string {
  const slash = secretLabel.indexOf('/')
  return slash < 0 ? defaultSource : secretLabel.slice(0, slash)
}

/** The id in the inbox of an event or a quarantined body. Ids are unique per source. */
export function uidOf(source: string, id: string): string {
  return source === defaultSource ? id : `${source}/${id}`
}

/** The id that the sender gave an event: the reverse of `uidOf`. */
export function sentIdOf(event: Pick<StoredEvent, 'id' | 'secretLabel'>): string {
  return event.id.slice(uidOf(sourceOf(event), '').length)
}

/**
 * Puts the source in front of an ordering key: keys are per source. Keys of the default source never begin with a colon,
 * because the network in front of their colon isn't empty.
 */
export function keyOfSource(source: string, key: string): string {
  return source === defaultSource ? key : `:${source}:${key}`
}

/** Handling of a PostgreSQL database with an older schema: `refuse` to open it, or upgrade it (`auto`). */
export type MigrateSetting = 'refuse' | 'auto'
