/** A delivery about to be sent, for rules to match. */
export interface FaultTarget {
  readonly deliveryId: string
  /** A webhook or an alert. */
  readonly endpointId: string
  readonly url: string
  readonly eventId: string
  readonly eventType: string
}

/** How a body is sent: whole, in chunks, slowly, or only its beginning. */
export type Wire =
  | { readonly mode: 'whole' }
  | { readonly mode: 'chunked'; readonly chunkBytes: number }
  /** `bytes` at a time, `everyMs` of wall time apart. */
  | { readonly mode: 'slow'; readonly bytes: number; readonly everyMs: number }
  /** Announces the whole body, sends this share, then closes the connection. */
  | { readonly mode: 'cut'; readonly share: number }
  /** Announces the whole body, sends this share, then resets the connection. */
  | { readonly mode: 'reset'; readonly share: number }

/** The faults of one attempt. */
export interface AttemptPlan {
  /** Names of the faults, for the log; empty without faults. */
  readonly faults: readonly string[]
  /** Returns the body to sign and send. All attempts of a delivery get the same body. */
  alter(body: Buffer): Buffer
  /** Values of the signature header, one header each; empty = no header. */
  sign(body: Buffer, secret: string): readonly string[]
  /** Returns the bytes to send instead of the signed ones. */
  tamper(body: Buffer): Buffer
  readonly wire: Wire
  /** Number of extra copies sent at the same time. */
  readonly twins: number
  /** Number of extra copies sent one by one after the acknowledgement. */
  readonly repeats: number
  /** True if a 2xx counts as a lost acknowledgement. */
  readonly dropsAck: boolean
}

/** The faults of one REST response. */
export interface AnswerPlan {
  readonly faults: readonly string[]
  /** Delay before the response, on the wall clock. */
  readonly delayMs: number
  /** Replacement of the response; null = none. */
  readonly instead: InsteadOfAnswer | null
  /** Changes the envelope of a successful response. */
  alter(envelope: Readonly<Record<string, unknown>>, request: { readonly cursor: string | null }): object
}

export type InsteadOfAnswer =
  /** The request is not processed. */
  | { readonly kind: 'error'; readonly status: 429 | 503; readonly retryAfterS: number }
  | { readonly kind: 'error'; readonly status: 500 }
  /** The request is processed and the response is lost. */
  | { readonly kind: 'empty' | 'malformed' | 'malformed-chunk' | 'reset' }

/** The active fault rules, for deliveries and for REST responses (2.8). */
export interface Faults {
  rules(): readonly StoredRule[]
  /** Throws `FaultRefused` beyond 100 rules. */
  add(rule: FaultRule): StoredRule
  /** False if there is none of this id. */
  remove(id: string): boolean
  /** Removes all rules. The same rules, added again, make the same random choices. */
  clear(): void
  /** Delay of a new delivery before its first attempt, in world time; 0 without a fault. */
  holdMs(target: FaultTarget, now: number): number
  /**
   * Call it once per attempt, 1 to 6; its extra copies share the plan. Attempt 1 decides the body for all later
   * attempts.
   */
  planAttempt(target: FaultTarget, attempt: number): AttemptPlan
  /** Null = no faults. */
  planAnswer(request: { readonly method: string; readonly path: string }): AnswerPlan | null
}

/** Thrown beyond the limit of rules. */
export class FaultRefused extends Error {
  override name = 'FaultRefused'
}

export type { FaultRule } from './kinds.ts'
import type { FaultRule } from './kinds.ts'

export interface StoredRule {
  readonly id: string
  readonly rule: FaultRule
  /** Number of times the rule was applied. */
  readonly struck: number
}
