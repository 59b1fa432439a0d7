/** Health of the receiver from the sender's point of view, and warnings. Times are milliseconds since 1970. */

export const warningLevels = ['critical', 'warning', 'info'] as const

/** A condition that needs attention. `code` and `subject` together identify it. */
export interface Warning {
  /** Stable code, such as `ack_slow`. */
  readonly code: string
  /** What the warning is about if there can be several, such as a handler's name; else empty. */
  readonly subject: string
  readonly level: (typeof warningLevels)[number]
  /** One line, without external text. */
  readonly title: string
  /** Explanation and advice. */
  readonly text: string
  readonly since: number
  /** Path in the console, such as `/dead-letters`. */
  readonly href: string | null
}

/**
 * Deliveries of a time window. The sender counts any 2xx within 5 s as a success (R43, R44, R79). Includes authentic
 * deliveries and all 503 responses, even before the signature was checked. Excludes requests rejected for good: anyone
 * may have sent them.
 */
export interface SenderMeter {
  readonly windowMs: number
  readonly deliveries: number
  readonly acknowledged: number
  /** 2xx responses after more than 5 s. */
  readonly late: number
  /** 503 responses. */
  readonly refused: number
  /** Authentic deliveries answered 422 because they are not usable events (INBOX_UNUSABLE_STATUS). */
  readonly unusable: number
  /** Null: no deliveries. */
  readonly successRate: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly maxMs: number | null
}

/** Responses to deliveries in one time bucket. */
export interface AckBucket {
  readonly at: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly acknowledged: number
  readonly refused: number
}

/** Counts the receiver's responses of the last day in memory. The counting methods are called for each request. */
export interface Meter {
  /** A delivery was answered with 2xx after `durationMs`. */
  acknowledged(durationMs: number): void
  refused(code: string): void
  /** A request was rejected for good, or incomplete: it may not have been a delivery. */
  rejected(reason: string): void
  /** Meter of the last `windowMs`, at most an hour. */
  summary(windowMs: number): SenderMeter
  /** Skips empty buckets. */
  acks(query: { readonly from: number; readonly to: number; readonly bucketMs: number }): readonly AckBucket[]
  /** Accepted and duplicate deliveries per second, over the last 10 s. */
  perSecond(): number
  /** Total since the start. */
  rejects(): number
}

export interface Silence {
  readonly type: string
  readonly network: string | null
  readonly lastAt: number
  /** Time without such an event while the receiver was in service, in milliseconds. */
  readonly silentMs: number
  /** 95th percentile of the intervals between two events, in milliseconds. */
  readonly usualMs: number
  readonly alarmAfterMs: number
  /** `gone`: silent for a long time; no more events are expected. */
  readonly state: 'usual' | 'silent' | 'learning' | 'gone'
}

export interface Candidate {
  readonly network: string
  readonly wallet: string
  readonly txHash: string
  readonly tradedAt: string
  readonly summary: string
}

export interface Reconcile {
  readonly id: number
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  readonly from: number
  readonly to: number
  readonly startedAt: number
  readonly endedAt: number | null
  readonly wallets: number
  readonly walletsDone: number
  readonly trades: number
  readonly requests: number
  readonly error: string | null
  /** Limits of the comparison, in plain words. */
  readonly notes: readonly string[]
  /** The first 1,000. */
  readonly candidates: readonly Candidate[]
  readonly candidateCount: number
}

/** Compares the upstream's trades with the stored events. */
export interface Reconciler {
  /** True with access to the upstream, which reconciling needs. */
  readonly isConfigured: boolean
  /**
   * Checks whether a reconcile could start. Throws `bad_request` for a span that is empty or longer than 30 days,
   * `already_running` while one is running, and `api_not_configured` without access to the upstream.
   */
  check(span: { readonly from: number; readonly to: number }): void
  /** Starts a reconcile; `current` shows its progress. Throws as `check`. */
  start(span: { readonly from: number; readonly to: number }): Reconcile
  /** The latest reconcile of this process. */
  current(): Reconcile | null
  /** Cancels a running reconcile and keeps its results. Idempotent. */
  cancel(): Reconcile | null
  close(): Promise<void>
}

/** Checks health periodically, and notifies of warnings that begin or end. */
export interface HealthWatch {
  /** Most urgent first. */
  warnings(): readonly Warning[]
  /** Silent ones first, gone ones last. */
  silences(): readonly Silence[]
  close(): Promise<void>
}
