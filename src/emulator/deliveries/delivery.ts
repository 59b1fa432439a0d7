/** An event to send. Its bytes are serialized once and never again (R72, R89). */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  readonly body: Buffer
}

export type DeliveryState = 'pending' | 'acknowledged' | 'undelivered' | 'cancelled'

/** One event for one endpoint. Times are milliseconds since 1970 on the world clock. */
export interface Delivery {
  readonly seq: number
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  readonly body: Buffer
  readonly endpointId: string
  /** URL of the last attempt, or of the first one before it. */
  url: string
  state: DeliveryState
  /** Attempts so far, without extra ones. */
  attempts: number
  readonly createdAt: number
  /** Null if there is no further attempt. */
  nextAttemptAt: number | null
  /** True for a requested replay: one attempt, no retries (A46). */
  readonly isReplay: boolean
  /** Status of the latest attempt; null before the first attempt, or without a response. */
  lastStatus: number | null
  /** Failure of the latest attempt; null before the first attempt, or if it was acknowledged. */
  lastFailure: string | null
  /** Attempts, oldest first. */
  readonly log: Attempt[]
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

/** The deliveries of an emulator, for users of the package. */
export interface Deliveries {
  counts(): Counts
  /** Newest first. */
  list(filter: DeliveryFilter, limit: number): readonly Delivery[]
  /** Null if there is none. */
  read(deliveryId: string): Delivery | null
  /** Sends an event again: same bytes and id, one attempt (A46). Null for an unknown delivery, `gone` if its endpoint is deleted. */
  replay(deliveryId: string): Delivery | 'gone' | null
  /** Replays all matching undelivered events without a successful replay since, at most 10,000 per call. */
  replayAll(filter: ReplayFilter, isDryRun: boolean): { readonly matched: number; readonly replayed: number }
  /** Resolves when nothing is in flight and nothing is due. */
  idle(): Promise<void>
  /** Resolves when nothing is pending. */
  settled(): Promise<void>
}
