/** A URL that gets events, signed with its own secret: a webhook (R62, R63), or the `webhook_url` of an alert (A41). */
export interface Endpoint {
  /** Tells it from others, be they of the same URL (A24). */
  readonly id: string
  readonly url: string
  readonly secret: string
}

/** An event as it is sent: the bytes are made once and never again (R72, R89). */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  readonly body: Buffer
}

export type DeliveryState = 'pending' | 'acknowledged' | 'undelivered' | 'cancelled'

/** An event for an endpoint. Times are milliseconds since 1970 on the world clock. */
export interface Delivery {
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  readonly endpointId: string
  /** Where it went last, or is to go. */
  readonly url: string
  readonly state: DeliveryState
  /** How many were made, without extra ones. */
  readonly attempts: number
  readonly createdAt: number
  readonly nextAttemptAt: number | null
  /** Asked for by somebody: one attempt, no ladder (A46). */
  readonly isReplay: boolean
  readonly lastStatus: number | null
  readonly lastFailure: string | null
}

/** One POST and what became of it. Latency is on the wall clock. */
export interface Attempt {
  /** 1 to 6. */
  readonly attempt: number
  readonly at: number
  readonly status: number | null
  readonly failure: string | null
  readonly latencyMs: number
  /** Whether this was an extra delivery of the same event (R88). */
  readonly isExtra: boolean
  /** Names of the faults that it suffered. */
  readonly faults: readonly string[]
  /** Of the signature the first digits only. */
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly responseExcerpt: string
  readonly nextAttemptAt: number | null
}

/** An attempt as it is told when it ends. */
export interface AttemptReport extends Attempt {
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  readonly endpointId: string
  readonly url: string
  readonly outcome: 'acknowledged' | 'failed' | 'undelivered' | 'cancelled'
}

export interface Counts {
  /** Deliveries that are settled, by how. Extra ones are not counted. */
  readonly acknowledged: number
  readonly undelivered: number
  readonly cancelled: number
  /** Those that wait for their time or for a free place, and those being made. */
  readonly pending: number
  readonly inFlight: number
  /** How many attempts were made, extra ones included. */
  readonly attempts: number
}

export interface DeliveryFilter {
  /** `failed`: undelivered, or pending after a failure. */
  readonly state?: DeliveryState | 'failed'
  readonly endpoint?: string
  readonly event?: string
  readonly type?: string
  /** Those older than this one. */
  readonly after?: string
}

/** Which undelivered events are to be sent again (A46). */
export interface ReplayFilter {
  /** Events for which a delivery was begun at this moment or later. */
  readonly since: number
  readonly endpoint?: string
  readonly type?: string
}

export interface Deliveries {
  /** Begins what was left behind. Once. */
  start(): void
  /**
   * Sends an event to these endpoints; one that fails gets it again by the ladder (R78, R81–R86). `worldSeq` is its number among
   * those of the world.
   */
  send(event: OutgoingEvent, endpoints: readonly Endpoint[], worldSeq?: number | null): void
  /** Endpoints may have gone or changed: of those gone the retries are cancelled (A45). */
  endpointsChanged(): void
  counts(): Counts
  /** Newest first. */
  list(filter: DeliveryFilter, limit: number): readonly Delivery[]
  /** With its bytes and its attempts, oldest first; null if there is none. */
  read(deliveryId: string): (Delivery & { readonly body: Buffer; readonly log: readonly Attempt[] }) | null
  /** Sends an event once more: the same bytes and id, one new attempt (A46). Null if there is none, `gone` without its endpoint. */
  replay(deliveryId: string): Delivery | 'gone' | null
  /** The same for all that are undelivered and were not replayed with success since, at most 10,000 in one call. */
  replayAll(filter: ReplayFilter, isDry: boolean): { readonly matched: number; readonly replayed: number }
  /** Resolves when nothing is being sent, and nothing is due. */
  idle(): Promise<void>
  /** Resolves when nothing is pending. */
  settled(): Promise<void>
  /** Forgets everything: time has been put back. */
  clear(): void
  /** Cuts what is being sent, and writes down what is not yet written. What is pending stays so. Idempotent. */
  close(): void
}

/** A delivery as it is kept. */
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

/** What is to be written down together. */
export interface Batch {
  readonly events: readonly StoredEvent[]
  /** As they are now, in place of what was known of them. */
  readonly deliveries: readonly StoredDelivery[]
  readonly attempts: readonly { readonly delivery: number; readonly attempt: Attempt }[]
  /** The newest event of the world that deliveries know of. */
  readonly worldSeq: number
}

/** Where deliveries outlive the process. Each call is durable, where there is a file, when it returns. */
export interface DeliveryStore {
  /** The last numbers that were given, and the sums. */
  begin(): {
    readonly eventSeq: number
    readonly deliverySeq: number
    readonly worldSeq: number | null
    readonly counts: Omit<Counts, 'inFlight'>
    readonly endpoints: readonly string[]
  }
  write(batch: Batch): void
  /** Pending ones of an endpoint due at `now`, the first due first. */
  due(endpointId: string, now: number, limit: number): StoredDelivery[]
  /** When the first of an endpoint is due after `now`, or null. */
  nextDueAt(endpointId: string, now: number): number | null
  list(filter: DeliveryFilter, limit: number): StoredDelivery[]
  get(seq: number): StoredDelivery | null
  attempts(seq: number): readonly Attempt[]
  /** The undelivered ones that match, of which nothing was sent with success since. */
  undelivered(filter: ReplayFilter): readonly { readonly seq: number; readonly endpointId: string }[]
  /** Gives how many. */
  cancel(endpointId: string): number
  /** Lets the oldest settled ones go, beyond a number of each kind. */
  prune(): void
  clear(): void
}

/** How a delivery is called. */
export function deliveryIdOf(seq: number): string {
  return `dlv_${String(seq).padStart(12, '0')}`
}

/** Undefined for what is no id of a delivery. */
export function seqOf(deliveryId: string): number | undefined {
  const [, digits] = /^dlv_(\d{12,15})$/.exec(deliveryId) ?? []
  return digits === undefined ? undefined : Number(digits)
}
