/** What is known of how the receiver does, as the sender sees it, and of what it should worry about. Times are milliseconds since 1970. */

export const warningLevels = ['critical', 'warning', 'info'] as const

/** Something that needs a look. `code` and `subject` together tell one from the other. */
export interface Warning {
  /** Stable, such as `ack_slow`. */
  readonly code: string
  /** What it is about where there may be several, such as the name of a handler; else empty. */
  readonly subject: string
  readonly level: (typeof warningLevels)[number]
  /** One line, without anything from outside in it. */
  readonly title: string
  /** What it means, and what to do. */
  readonly text: string
  readonly since: number
  /** Where in the console it is shown, such as `/dead-letters`. */
  readonly href: string | null
}

/**
 * Any 2xx within 5 s is a success to the sender (R43, R44, R79). Of authentic deliveries and of what was refused with 503, also before
 * its signature was looked at; what was refused for good may be of anybody, and is not among them.
 */
export interface SenderMeter {
  readonly windowMs: number
  readonly deliveries: number
  readonly acknowledged: number
  /** Answered with 2xx after 5 s. */
  readonly late: number
  /** With 503. */
  readonly refused: number
  /** Authentic, and answered 422 since they are no usable event (INBOX_UNUSABLE_STATUS). */
  readonly unusable: number
  /** Null: there were none. */
  readonly successRate: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly maxMs: number | null
}

/** How deliveries were answered in a bucket of time. */
export interface AckBucket {
  readonly at: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly acknowledged: number
  readonly refused: number
}

/** Counts what the receiver answers, in memory, for the last day. The counting calls are made for each request. */
export interface Meter {
  /** A delivery was answered with 2xx so long after its begin. */
  acknowledged(durationMs: number): void
  refused(code: string): void
  /** Refused for good, or never complete: whether it was a delivery is not known. */
  rejected(reason: string): void
  /** Of the last `windowMs`, at most an hour. */
  summary(windowMs: number): SenderMeter
  /** Buckets without any delivery are left out. */
  acks(query: { readonly from: number; readonly to: number; readonly bucketMs: number }): readonly AckBucket[]
  /** Accepted and repeated deliveries per second, over the last 10 s. */
  perSecond(): number
  /** Since the start. */
  rejects(): number
}

export interface Silence {
  readonly type: string
  readonly network: string | null
  readonly lastAt: number
  /** How long nothing came while this receiver was in service. */
  readonly silentMs: number
  /** The 95th percentile of the times between two of them. */
  readonly usualMs: number
  readonly alarmAfterMs: number
  /** `gone`: silent for so long that it is taken as over for good. */
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
  /** What it cannot tell, in words. */
  readonly notes: readonly string[]
  /** The first 1,000. */
  readonly candidates: readonly Candidate[]
  readonly candidateCount: number
}

/** Compares the trades that the service knows of with what is stored. */
export interface Reconciler {
  /** Whether there is access to the service, without which none can begin. */
  readonly isConfigured: boolean
  /**
   * Whether one could begin: throws `bad_request` for a time that is empty or longer than 30 days, `already_running` where one is
   * running, `api_not_configured` without access to the service.
   */
  check(span: { readonly from: number; readonly to: number }): void
  /** Begins; what goes on is seen by `current`. Throws as `check`. */
  start(span: { readonly from: number; readonly to: number }): Reconcile
  /** The last one of this process. */
  current(): Reconcile | null
  /** Ends one that is running; what it found stays. Idempotent. */
  cancel(): Reconcile | null
  close(): Promise<void>
}

/** Looks after health now and then, and tells of what begins and ends. */
export interface HealthWatch {
  /** Most urgent first. */
  warnings(): readonly Warning[]
  /** Those that are silent first, those that are gone last. */
  silences(): readonly Silence[]
  close(): Promise<void>
}
