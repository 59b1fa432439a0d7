/** Who a fault may befall: a delivery about to be made. */
export interface FaultTarget {
  readonly deliveryId: string
  /** A webhook or an alert. */
  readonly endpointId: string
  readonly url: string
  readonly eventId: string
  readonly eventType: string
}

/** How a body is put on the wire. */
export type Wire =
  | { readonly mode: 'whole' }
  | { readonly mode: 'chunked'; readonly chunkBytes: number }
  /** So many bytes at a time, so many milliseconds of the wall clock apart. */
  | { readonly mode: 'slow'; readonly bytes: number; readonly everyMs: number }
  /** Announces the whole, sends this share of it, then ends the connection in order. */
  | { readonly mode: 'cut'; readonly share: number }
  /** Announces the whole, sends this share of it, then resets the connection. */
  | { readonly mode: 'reset'; readonly share: number }

/** What one attempt of a delivery suffers. */
export interface AttemptPlan {
  /** Names of the faults, for the log. Empty: it goes as it should. */
  readonly faults: readonly string[]
  /** What is signed and sent, given the bytes of the event. The same for every attempt of a delivery. */
  alter(body: Buffer): Buffer
  /** The values of the signature header, one header each; none: it is missing. */
  sign(body: Buffer, secret: string): readonly string[]
  /** What is sent in place of the signed bytes. */
  tamper(body: Buffer): Buffer
  readonly wire: Wire
  /** How many more of the same are sent at the same time. */
  readonly twins: number
  /** How many more of the same follow, one after the other, once it is acknowledged. */
  readonly repeats: number
  /** Whether a 2xx counts as no answer, as if it had been lost on its way. */
  readonly dropsAck: boolean
}

/** What an answer of the REST service suffers. */
export interface AnswerPlan {
  readonly faults: readonly string[]
  /** Before it is sent, on the wall clock. */
  readonly delayMs: number
  /** What comes in its place; null: the answer itself. */
  readonly instead: InsteadOfAnswer | null
  /** Changes the envelope of an answer that went well. */
  alter(envelope: Readonly<Record<string, unknown>>, request: { readonly cursor: string | null }): object
}

export type InsteadOfAnswer =
  /** In place of the processing: nothing is done. */
  | { readonly kind: 'error'; readonly status: 429 | 503; readonly retryAfterS: number }
  | { readonly kind: 'error'; readonly status: 500 }
  /** What was asked for is done, and the answer is lost. */
  | { readonly kind: 'empty' | 'malformed' | 'malformed-chunk' | 'reset' }

/** The faults that are injected at present: rules, each by rate or by script, for deliveries and for answers (2.8). */
export interface Faults {
  rules(): readonly StoredRule[]
  /** Throws `FaultRefused` beyond 100 rules. */
  add(rule: FaultRule): StoredRule
  /** False if there is none of this id. */
  remove(id: string): boolean
  /** Removes all. The same rules, added again, draw the same again. */
  clear(): void
  /** How long a new delivery waits before its first attempt, in world time: 0 without a fault. */
  holdMs(target: FaultTarget, now: number): number
  /**
   * Once for each attempt, 1 to 6; its twins and repeats go by the same plan. Attempt 1 decides what becomes of the body, for the
   * attempts after it as well.
   */
  planAttempt(target: FaultTarget, attempt: number): AttemptPlan
  /** Null: it goes as it should. */
  planAnswer(request: { readonly method: string; readonly path: string }): AnswerPlan | null
}

/** Thrown where there are as many rules as there may be. */
export class FaultRefused extends Error {
  override name = 'FaultRefused'
}

/** A rule as `faults/schema.ts` reads it. */
export type { FaultRule } from './kinds.ts'
import type { FaultRule } from './kinds.ts'

export interface StoredRule {
  readonly id: string
  readonly rule: FaultRule
  /** How often it has struck. */
  readonly struck: number
}
