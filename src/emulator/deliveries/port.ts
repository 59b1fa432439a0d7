/** A URL that gets events, signed with its own secret: a webhook (R62, R63), or the `webhook_url` of an alert (A41). */
export interface Endpoint {
  /** Unique, even among endpoints with the same URL (A24). */
  readonly id: string
  readonly url: string
  readonly secret: string
}

/** An event to send. Its bytes are serialized once and never again (R72, R89). */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  readonly body: Buffer
}

export type DeliveryState = 'pending' | 'acknowledged' | 'undelivered' | 'cancelled'

/** One event for one endpoint. Times are milliseconds since 1970 on the world clock. */
export interface Delivery {
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  readonly endpointId: string
  /** URL of the last attempt, or of the first one before it. */
  readonly url: string
  readonly state: DeliveryState
  /** Attempts so far, without extra ones. */
  readonly attempts: number
  readonly createdAt: number
  /** Null if there is no further attempt. */
  readonly nextAttemptAt: number | null
  /** True for a requested replay: one attempt, no ladder (A46). */
  readonly isReplay: boolean
  /** Status of the latest attempt; null before the first attempt, or without a response. */
  readonly lastStatus: number | null
  /** Failure of the latest attempt; null before the first attempt, or if it was acknowledged. */
  readonly lastFailure: string | null
}

/** One POST and its result. Latency is on the wall clock. */
export interface Attempt {
  /** 1 to 6. */
  readonly attempt: number
  readonly at: number
  /** Null without a response. */
  readonly status: number | null
  /** Null if acknowledged. */
  readonly failure: string | null
  readonly latencyMs: number
  /** True for an extra delivery of the same event (R88). */
  readonly isExtra: boolean
  /** Names of the injected faults. */
  readonly faults: readonly string[]
  /** The signature is cut to its first digits. */
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly responseExcerpt: string
  /** Null if there is no further attempt. */
  readonly nextAttemptAt: number | null
}

/** An attempt as reported when it ends. */
export interface AttemptReport extends Attempt {
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  readonly endpointId: string
  readonly url: string
  readonly outcome: 'acknowledged' | 'failed' | 'undelivered' | 'cancelled'
}

export interface Counts {
  /** Settled deliveries by outcome, without extra ones. */
  readonly acknowledged: number
  readonly undelivered: number
  readonly cancelled: number
  /** Deliveries that are queued, waiting for a retry, or in flight. */
  readonly pending: number
  readonly inFlight: number
  /** Attempts so far, extra ones included. */
  readonly attempts: number
  /** Extra attempts: deliveries repeated on purpose by a fault. */
  readonly duplicates: number
}

export interface DeliveryFilter {
  /** `failed`: undelivered, or pending after a failure. */
  readonly state?: DeliveryState | 'failed'
  readonly endpoint?: string
  readonly event?: string
  readonly type?: string
  /** Only deliveries older than this one. */
  readonly after?: string
}

/** Selects undelivered events to replay (A46). */
export interface ReplayFilter {
  /** Only deliveries created at this moment or later. */
  readonly since: number
  readonly endpoint?: string
  readonly type?: string
}

export interface Deliveries {
  /** Resumes deliveries of the previous process. Call it once. */
  start(): void
  /**
   * Sends an event to these endpoints, with retries by the ladder (R78, R81–R86). `worldSeq` is its number among the
   * events of the world; null if it did not arise there.
   */
  send(event: OutgoingEvent, endpoints: readonly Endpoint[], worldSeq?: number | null): void
  /** Call it after endpoints changed: cancels the retries of deleted ones (A45). */
  endpointsChanged(): void
  counts(): Counts
  /** Newest first. */
  list(filter: DeliveryFilter, limit: number): readonly Delivery[]
  /** A delivery with its bytes and its attempts, oldest first; null if there is none. */
  read(deliveryId: string): (Delivery & { readonly body: Buffer; readonly log: readonly Attempt[] }) | null
  /**
   * Sends an event again: same bytes and id, one attempt (A46). Null for an unknown delivery, `gone` if its endpoint is
   * deleted.
   */
  replay(deliveryId: string): Delivery | 'gone' | null
  /** Replays all matching undelivered events without a successful replay since, at most 10,000 per call. */
  replayAll(filter: ReplayFilter, isDry: boolean): { readonly matched: number; readonly replayed: number }
  /** Resolves when nothing is in flight and nothing is due. */
  idle(): Promise<void>
  /** Resolves when nothing is pending. */
  settled(): Promise<void>
  /** Deletes everything, after a restore. */
  clear(): void
  /** Aborts requests in flight and stores pending changes. Pending deliveries stay pending. Idempotent. */
  close(): void
}

/** A delivery in the store. */
export interface StoredDelivery {
  readonly seq: number
  readonly event: StoredEvent
  readonly endpointId: string
  url: string
  state: DeliveryState
  attempts: number
  readonly createdAt: number
  nextAttemptAt: number | null
  readonly isReplay: boolean
  lastStatus: number | null
  lastFailure: string | null
}

export interface StoredEvent extends OutgoingEvent {
  readonly seq: number
}

/** Changes to store in one transaction. */
export interface Batch {
  readonly events: readonly StoredEvent[]
  /** Current states; they replace the stored ones. */
  readonly deliveries: readonly StoredDelivery[]
  readonly attempts: readonly { readonly delivery: number; readonly attempt: Attempt }[]
  /** Number of the newest world event that was handled. */
  readonly worldSeq: number
}

/** Store of deliveries. With a data file, each call is durable when it returns. */
export interface DeliveryStore {
  /** Last numbers in use, counts, and endpoints with pending deliveries. */
  begin(): {
    readonly eventSeq: number
    readonly deliverySeq: number
    readonly worldSeq: number | null
    readonly counts: Omit<Counts, 'inFlight'>
    readonly endpoints: readonly string[]
  }
  write(batch: Batch): void
  /** Pending deliveries of an endpoint due at `now`, earliest first. */
  due(endpointId: string, now: number, limit: number): StoredDelivery[]
  /** Time of the next due delivery of an endpoint after `now`, or null. */
  nextDueAt(endpointId: string, now: number): number | null
  list(filter: DeliveryFilter, limit: number): StoredDelivery[]
  get(seq: number): StoredDelivery | null
  attempts(seq: number): readonly Attempt[]
  /** Matching undelivered events without a successful delivery since. */
  undelivered(filter: ReplayFilter): readonly { readonly seq: number; readonly endpointId: string }[]
  /** Cancels all pending deliveries of an endpoint; returns their number. */
  cancel(endpointId: string): number
  /** Deletes the oldest settled deliveries beyond a limit per state. */
  prune(): void
  clear(): void
}

/** Public id of a delivery. */
export function deliveryIdOf(seq: number): string {
  return `dlv_${String(seq).padStart(12, '0')}`
}

/** Parses a delivery id; undefined if invalid. */
export function seqOf(deliveryId: string): number | undefined {
  const [, digits] = /^dlv_(\d{12,15})$/.exec(deliveryId) ?? []
  return digits === undefined ? undefined : Number(digits)
}
