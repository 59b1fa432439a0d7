// The data of the inbox; port.ts defines the words and the ports.

/** An event as the receiver hands it over: the envelope is checked, the bytes are as they came. */
export interface NewEvent {
  readonly kind: 'event'
  /** The sender's id: well-formed, 1 to 255 characters. Unique for ever. */
  readonly id: string
  readonly type: string
  /** `created_at` of the envelope, as it came. */
  readonly createdAt: string
  /** `network:address` or the event's own id. */
  readonly key: string
  readonly network: string | null
  readonly address: string | null
  readonly raw: Uint8Array
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  /** Label of the secret that verified it; `internalLabel` for an event of this program itself. */
  readonly secretLabel: string
  /** The headers it came with that the settings list, as a JSON object. */
  readonly headers?: string | null
  /** W3C `traceparent` of its receipt. */
  readonly trace?: string | null
}

/** Events of this program itself, such as its warnings, are of types that begin so. `*` does not stand for them: name them. */
export const internalTypePrefix = 'inbox.'
/** No label of a secret looks like this. */
export const internalLabel = '(own)'

/** Authentic bytes that are no usable event. */
export interface NewQuarantined {
  readonly kind: 'quarantined'
  /** `sha256:<hex of the bytes>` */
  readonly id: string
  /** Why it is unusable: a stable code. */
  readonly reason: string
  readonly raw: Uint8Array
  readonly receivedAt: number
  readonly secretLabel: string
}

export type IncomingDelivery = NewEvent | NewQuarantined

/**
 * What became of an arrival. `conflict`: the id is known with other bytes; the first ones are kept and the conflict is
 * recorded. A repeated quarantined body is `quarantined` again.
 */
export type AcceptResult = 'accepted' | 'duplicate' | 'conflict' | 'quarantined'

/** A handler as the store needs to know it: which events create runs for it, and whether order is kept. */
export interface HandlerRoute {
  readonly name: string
  /** Types, prefixes such as `wallet.*`, or `*`. */
  readonly types: readonly string[]
  /** `key`: one run per key at a time, in accept order. `none`: no order. */
  readonly order: 'key' | 'none'
  /**
   * Makes the key of a run of what stands at these places of the envelope, such as `data.pair`, instead of the event's own
   * key. An event that has nothing at one of them has no key.
   */
  readonly keyPaths?: readonly string[] | undefined
  /** A new run supersedes those of its key that are not running. */
  readonly latestOnly?: boolean
  /** What a dead letter does to its key. Default `skip`: nothing. `hold`: no run of the key is handed out behind it. */
  readonly onDead?: 'skip' | 'hold'
  /**
   * Which events a handler gets that was never registered before: those that come from now on (default), all that are stored,
   * or those that were received at or after a time (milliseconds since 1970). Of one that is known it changes nothing.
   */
  readonly from?: 'now' | 'beginning' | number
}

/** An event as it was stored. */
export interface StoredEvent {
  /** Accept sequence: 1, 2, 3 … without gaps. */
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly createdAt: string
  readonly receivedAt: number
  readonly key: string
  readonly secretLabel: string
  readonly raw: Uint8Array
  /** W3C `traceparent` of its receipt; null or absent: it has none. */
  readonly trace?: string | null
}

/** Something for a sink, as the run that leaves it in the outbox says it. */
export interface NewItem {
  readonly sink: string
  /** What order is kept by; null: none. */
  readonly key: string | null
  /** JSON */
  readonly payload: string
  /** The same whenever this item is sent, and if the run is ever repeated. */
  readonly idempotencyKey: string
}

export type Item = Pick<NewItem, 'payload' | 'idempotencyKey'>

/** A value that a handler keeps. */
export interface StateEntry {
  readonly key: string
  /** JSON */
  readonly value: string
  /** Tells who wrote it: `versionOf` that run and its lease. */
  readonly version: number
  /** From then on it is as if it were not there: milliseconds since 1970. */
  readonly expiresAt: number | null
}

/** One key, or the first `limit` of those that begin with `prefix` and come behind `after`, in the order of their UTF-8 bytes. */
export type StateQuery =
  | { readonly key: string }
  | { readonly prefix: string; readonly after: string | null; readonly limit: number }

/** What a run read: where any of it is no longer so, what the run did may be wrong. */
export interface StateRead {
  readonly query: StateQuery
  readonly found: readonly Pick<StateEntry, 'key' | 'version'>[]
}

export interface StateWrite {
  readonly key: string
  /** JSON, or null to delete it. */
  readonly value: string | null
  readonly expiresAt: number | null
}

export interface Effects {
  readonly reads: readonly StateRead[]
  /** No key twice. */
  readonly writes: readonly StateWrite[]
  readonly items: readonly NewItem[]
}

/** The version of what a run writes under a lease: another for every lease that was ever given. */
export function versionOf({ runId, token }: Pick<Lease, 'runId' | 'token'>): number {
  return runId * 1024 + (token % 1024)
}

/** The right, and the duty, to work on a run until it is settled or released. */
export interface Lease {
  readonly runId: number
  /** Fences the lease: another claim of the same run carries another token. */
  readonly token: number
  readonly handler: string
  /** Which attempt this is, from 1. It was counted before the lease was given. */
  readonly attempt: number
  /** How many attempts ended with the verdict `retry`, since the run was created or requeued. */
  readonly failed: number
  /** How often the run's owner died while it held this run, since its last verdict. */
  readonly crashed: number
  readonly event: StoredEvent
  /** What order this run is kept by; null: none. */
  readonly key: string | null
  /** The replay that this run is of; null: it is live. */
  readonly replay: LeasedReplay | null
  /** What a sink is to deliver; null where the run is of the event itself. */
  readonly item: Item | null
}

export interface LeasedReplay {
  readonly id: number
  /** Whether its runs have idempotency keys other than those of the live ones. */
  readonly newKeys: boolean
}

export interface ClaimRequest {
  /** Runs of any of these. */
  readonly handlers: readonly string[]
  /** At most so many leases in all. */
  readonly max: number
  /** Who works on them: reaped as one. */
  readonly owner: string
  /** True: only suspects, which only an isolated runner asks for. False: only runs that are none. */
  readonly suspects: boolean
}

export interface RunError {
  /** The class of the error, or the code of ours. */
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
  /** Not now: it is tried again, and this attempt is not counted. */
  | { readonly kind: 'snooze'; readonly at: number }
  /** Not run at all: too old, or the handler did not want it. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'unmatched' }
)

/** When a run that was put off is due: after the wait that was meant, also if the clock was set back since the verdict. */
export function dueAt({ at, endedAt }: { readonly at: number; readonly endedAt: number }, now: number): number {
  return now < endedAt ? now + (at - endedAt) : at
}

/**
 * `stale`: the token is no longer the run's, nothing was changed. `conflict`: what the run read has been changed since by another
 * one; none of its effects was stored, and it was given back as by `release`, to be run again.
 */
export type SettleResult = 'applied' | 'stale' | 'conflict'

/** After this many crashes without a verdict a run goes to the dead letters. */
export const maxCrashes = 3

/**
 * `begun` before the service is asked, so that a process that dies in between leaves a trace: such a one may or may not be there.
 * Then `registered`, or `failed` if it is certain that it is not.
 */
export const subscriptionStates = ['begun', 'registered', 'failed'] as const
export type SubscriptionState = (typeof subscriptionStates)[number]

/** A registration of the receiver with the service. */
export interface Subscription {
  /** 1, 2, 3 … in the order in which they were begun. */
  readonly id: number
  /** Of url, events and label of the secret: equal if these are. */
  readonly digest: string
  readonly url: string
  readonly events: readonly string[]
  readonly secretLabel: string
  readonly state: SubscriptionState
  /** When it was begun: milliseconds since 1970. */
  readonly at: number
  /** What the service answered, as text, without anything secret; null if nothing was understood of it. */
  readonly answer: string | null
}

export type NewSubscription = Omit<Subscription, 'id' | 'state' | 'answer'>

export interface SubscriptionEnd {
  readonly state: Exclude<SubscriptionState, 'begun'>
  readonly answer: string | null
}

/** What registering the receiver needs: of all who try at the same time one may, whatever process it is in. */
export interface SubscriptionPort {
  /** The newest that has not failed. */
  subscription(): Promise<Subscription | null>
  /**
   * Begins one, durably, if the newest that has not failed is the one with the id `replaces`, or there is none and it is null.
   * Else nothing is done, and it gives null: somebody else was first. Not idempotent.
   */
  beginSubscription(next: NewSubscription, replaces: number | null, by?: string): Promise<Subscription | null>
  /** Says how one that was begun has ended. Of one that has ended, or never was, nothing is changed. Idempotent. */
  endSubscription(id: number, result: SubscriptionEnd, by?: string): Promise<void>
}

/** Gets what an upgrade of a database is doing, and how much of the upgrade is done: 0 to 1, a copy being half of it. */
export type OnUpgrade = (step: string, done: number) => void
