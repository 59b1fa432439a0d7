import type { EventOf, EventType } from '../../schema/index.ts'
import type { ApiClient } from '../client/api.ts'
import type { Logger } from '../base/log.ts'
import type { EnqueueOptions } from './outbox.ts'
import type { HandlerState } from './run-state.ts'

type Family<T extends string> = T extends `${infer Prefix}.${string}` ? Prefix : never

/**
 * A type, a prefix such as `wallet.*`, or `*` for all but this program's own (`inbox.*`), which are named. Types that are not
 * documented yet are allowed (R127).
 */
export type EventPattern = EventType | `${Family<EventType>}.*` | '*' | (string & {})

/** Which events a handler takes: a pattern or a list of them. */
export type EventSelector = EventPattern | readonly EventPattern[]

/** `now`, `beginning`, or a time: a Date, text such as `2026-01-31T00:00:00Z`, or milliseconds since 1970. */
export type From = 'now' | 'beginning' | Date | (string & {}) | number

/** How failed attempts are repeated: the wait starts at `baseMs` and doubles up to `capMs`, with half jitter. */
export interface RetryOptions {
  /** How often a run is tried in all before it goes to the dead letters. */
  readonly attempts?: number
  readonly baseMs?: number
  readonly capMs?: number
}

/** A run whose attempt failed, as a policy sees it. */
export interface RetryFailure {
  /** How many of its attempts have failed, this one included: 1, 2, 3 … */
  readonly failures: number
  /** What was thrown: the class of the error, or a code of ours such as `handler_timeout`, and its message. */
  readonly error: { readonly name: string; readonly message: string }
  /** What the handler asked for by RetryableError, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /** When the event was received: milliseconds since 1970. */
  readonly receivedAt: number
}

/** Milliseconds until the next attempt, or null to give up. Pure. */
export type RetryPolicy = (failure: RetryFailure) => number | null

/**
 * The event as a handler gets it (R92–R102). Its type follows the handler's `type`. A prefix such as `wallet.*` also
 * takes types that are added under it later (R127), which are not among its static types: keep a default branch.
 */
export type HandlerEvent<P extends EventSelector> = EventOf<P> & {
  /** The exact bytes that were signed. Shared between handlers: not to be changed. */
  readonly raw: Uint8Array
  /** A number as the sender wrote it, every digit kept: `event.exact('data.amount_usd')`. See `createExactReader`. */
  exact(path: string): string | undefined
}

export interface HandlerContext {
  /**
   * Aborted when `timeoutMs` has passed or the process stops. Pass it on to what can be cancelled. An attempt that was aborted
   * is tried again, however it ends.
   */
  readonly signal: AbortSignal
  /** Which attempt this is, from 1. */
  readonly attempt: number
  /** Whether the event is run again on purpose, by a replay. */
  readonly isReplay: boolean
  /** The same on every attempt and replay of this event for this handler, but for a replay that was given keys of its own. */
  readonly idempotencyKey: string
  /** W3C trace context to pass on, as the header of that name has it; null: the event came with none, and nobody traces. */
  readonly traceparent: string | null
  readonly log: Logger
  /**
   * The REST service, as `createClient` of `onchain-inbox/client` gives it, at INBOX_API_URL with INBOX_API_KEY; where these are not
   * set, asking for it throws TerminalError. Its calls end with `signal`, and those of all runs are paced together (R107).
   */
  readonly api: ApiClient
  /** Values that this handler keeps from run to run; what a run writes is stored together with its end, or not at all. */
  readonly state: HandlerState
  /**
   * Leaves something for a sink: it is passed on once this run has ended well, at least once, in the order of its key. Throws
   * TerminalError if there is no sink of that name, or if `payload` is no JSON.
   */
  enqueue(sink: string, payload: unknown, options?: EnqueueOptions): void
  /**
   * Puts this run off: when it returns, it counts as not tried, nothing that it wrote is kept, and it is run again after `ms`
   * milliseconds (at most a year). Its key waits with it. `return ctx.snooze(60_000)`
   */
  snooze(ms: number): void
}

export interface HandlerDefinition<P extends EventSelector> {
  /** A type, a list of types, a prefix such as `wallet.*`, or `*`: all but this program's own, `inbox.*`. */
  readonly type: P
  /** Must tolerate repeats. Throw TerminalError to give up, RetryableError to choose the wait, anything else to retry. */
  run(event: HandlerEvent<P>, ctx: HandlerContext): void | Promise<void>
  /** Default: the name of the file without its extension. */
  readonly name?: string
  /** False: this event is not for this handler; nothing is run, and the run is recorded as `unmatched`. Pure. */
  match?(event: HandlerEvent<P>): boolean
  /** `key` (default): the events of one key one at a time, oldest first. `none`: no order. */
  readonly order?: 'key' | 'none'
  /**
   * Where the key stands in the envelope: `data.pair`, or a list of such paths. Default: the network and address that the event
   * is about. A path and no function, because it is looked up where events are stored, and no user code runs there.
   */
  readonly key?: string | readonly string[]
  /** How many runs of this handler at once. Default 8. */
  readonly concurrency?: number
  /** How many runs may start per second, on average. Default: as many as there are. */
  readonly rate?: number
  /** Who comes first where more could run than `INBOX_CONCURRENCY` lets: higher goes before lower. Default 0. */
  readonly priority?: number
  /** How long one attempt may take, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number
  readonly retry?: RetryOptions | RetryPolicy
  /** What a dead letter does to its key: `skip` (default) lets it go on, `hold` stops it until somebody decides. */
  readonly onDead?: 'skip' | 'hold'
  /** A newer event of a key supersedes those that wait: only the last one is run. Default false. */
  readonly latestOnly?: boolean
  /**
   * Which events it gets when it is new: those that come from now on (default), all that are stored, or those received since a
   * time. Of a handler that was loaded before it changes nothing.
   */
  readonly from?: From
  /** Events that are older, by `created_at`, are not run, but recorded as `expired`. Default: none is too old. */
  readonly maxAgeMs?: number
  /** Its file gets a thread of its own: whatever it does to that, runs of other handlers go on. Default false. */
  readonly isolate?: boolean
}

/** What a handler has where it says nothing else. */
export const handlerDefaults = Object.freeze({
  order: 'key',
  concurrency: 8,
  batch: 1,
  priority: 0,
  timeoutMs: 30_000,
  onDead: 'skip',
  latestOnly: false,
  from: 'now',
  isolate: false,
  retry: Object.freeze({ attempts: 10, baseMs: 1000, capMs: 600_000 }),
} as const)

/**
 * Defines a handler: gives `run` the event type that follows from `type` (R93–R102) and returns the definition frozen.
 * It is checked when it is loaded.
 *
 * @example
 * export default defineHandler({
 *   type: 'wallet.large_trade',
 *   run(event, ctx) {
 *     ctx.log.info({ amountUsd: event.data.amount_usd }, 'large trade')
 *   },
 * })
 */
export function defineHandler<const P extends EventSelector>(
  definition: HandlerDefinition<P>,
): Readonly<HandlerDefinition<P>> {
  return Object.freeze(definition)
}
