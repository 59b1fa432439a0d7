import type { EventOf, EventType } from '../../schema/index.ts'
import type { ProviderName, SourceEventOf } from '../../schema/sources/index.ts'
import type { ApiClient } from '../client/api.ts'
import type { Logger } from '../base/log.ts'
import type { EnqueueOptions } from './outbox.ts'
import type { HandlerState } from './run-state.ts'

type Family<T extends string> = T extends `${infer Prefix}.${string}` ? Prefix : never

/**
 * An event type, a prefix such as `wallet.*`, or `*` for all types except internal ones (`inbox.*`), which must be
 * named. Undocumented types are allowed (R127).
 */
export type EventPattern = EventType | `${Family<EventType>}.*` | '*' | (string & {})

/** Which events a handler takes: a pattern or a list of them. */
export type EventSelector = EventPattern | readonly EventPattern[]

/** `now`, `beginning`, or a time: a Date, text such as `2026-01-31T00:00:00Z`, or milliseconds since 1970. */
export type From = 'now' | 'beginning' | Date | (string & {}) | number

/** How failed attempts are retried: the delay starts at `baseMs` and doubles up to `capMs`, with half jitter. */
export interface RetryOptions {
  /** Maximum number of attempts before the run becomes a dead letter. */
  readonly attempts?: number
  readonly baseMs?: number
  readonly capMs?: number
}

/** A failed attempt, as passed to a retry policy. */
export interface RetryFailure {
  /** Number of failed attempts of the run, this one included: 1, 2, 3 … Attempts ended by a crash don't count. */
  readonly failures: number
  /** The thrown error: its class name, or a code such as `handler_timeout`, and its message. */
  readonly error: { readonly name: string; readonly message: string }
  /** Delay that the handler asked for with RetryableError, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /** When the event was received: milliseconds since 1970. */
  readonly receivedAt: number
}

/** Returns the delay before the next attempt in milliseconds; null makes the run a dead letter. Pure. */
export type RetryPolicy = (failure: RetryFailure) => number | null

/** Names of sources, or `*` for all: one or a list. `default` is the source that the INBOX_* settings describe. */
export type SourceSelector = string | readonly string[]

/** An event of another source than the default one. `data` is the parsed body. */
interface EventOfSource<P extends EventSelector, V extends ProviderName | undefined> {
  /** Given by the sender; else `sha256:` and the digest of the body. */
  id: string
  /** `unknown` if the sender gave none. */
  type: string
  created_at: string
  data: V extends ProviderName
    ? SourceEventOf<V, P extends readonly (infer U extends string)[] ? U : P & string>
    : unknown
}

/**
 * The event as a handler gets it (R92–R102). Its type follows from the handler's `type`, and for a `source` from its
 * `provider`. A prefix such as `wallet.*` also matches types added later (R127), which are missing from its static type:
 * keep a default branch.
 */
export type HandlerEvent<
  P extends EventSelector,
  S extends SourceSelector = 'default',
  V extends ProviderName | undefined = undefined,
> = ([S] extends ['default'] ? EventOf<P> : EventOfSource<P, V>) & {
  /** Name of the source. */
  readonly source: string
  /** Unique over all sources: the id of the default source, `<source>/<id>` of others. */
  readonly uid: string
  /** `created_at`; for a source without it the time of receipt. */
  readonly createdAt: string
  /** The exact bytes that were signed. Shared between handlers: don't modify them. */
  readonly raw: Uint8Array
  /** A number as the sender wrote it, with every digit: `event.exact('data.amount_usd')`. See `createExactReader`. */
  exact(path: string): string | undefined
}

export interface HandlerContext {
  /**
   * Aborted after `timeoutMs` or when the process stops. Pass it to everything that can be cancelled. An aborted
   * attempt is retried, however it ends.
   */
  readonly signal: AbortSignal
  /** Number of this attempt, from 1. */
  readonly attempt: number
  /** True when a replay runs the event again. */
  readonly isReplay: boolean
  /** The same on every attempt and replay of this event for this handler, except for a replay with new keys. */
  readonly idempotencyKey: string
  /** W3C `traceparent` header to pass on; null: the event came with none, and tracing is off. */
  readonly traceparent: string | null
  readonly log: Logger
  /**
   * Client of the upstream REST API at INBOX_API_URL with INBOX_API_KEY, as returned by `createClient` of
   * `onchain-inbox/client`. Throws TerminalError if these are not set. Calls are aborted by `signal`. The calls of all
   * runs share one rate limit (R107).
   */
  readonly api: ApiClient
  /** Values that this handler keeps between runs. Writes of a run are stored together with its outcome, or not at all. */
  readonly state: HandlerState
  /**
   * Leaves an item for a sink. It is delivered after this run has succeeded, at least once, in the order of its key.
   * Throws TerminalError if no sink has that name, or if `payload` is not JSON.
   */
  enqueue(sink: string, payload: unknown, options?: EnqueueOptions): void
  /**
   * Postpones this run: when the handler returns, its writes are discarded, the attempt is not counted, and the run
   * starts again after `ms` milliseconds (at most a year). Its key waits with it. `return ctx.snooze(60_000)`
   */
  snooze(ms: number): void
}

export interface HandlerDefinition<
  P extends EventSelector,
  S extends SourceSelector = 'default',
  V extends ProviderName | undefined = undefined,
> {
  /** A type, a list of types, a prefix such as `wallet.*`, or `*`: all except internal types (`inbox.*`). */
  readonly type: P
  /** Sources whose events it takes. Default: `default`. */
  readonly source?: S
  /** Provider of the source. It gives `data` its type, and is checked against the settings at start. */
  readonly provider?: V
  /** Must tolerate repeats. Throw TerminalError to stop retrying, RetryableError to choose the delay, anything else to retry. */
  run(event: HandlerEvent<P, S, V>, ctx: HandlerContext): void | Promise<void>
  /** Default: the file name without its extension. */
  readonly name?: string
  /** Return false to skip the event; the run is recorded as `unmatched`. Pure. */
  match?(event: HandlerEvent<P, S, V>): boolean
  /** `key` (default): events of one key run one at a time, oldest first. `none`: no order. */
  readonly order?: 'key' | 'none'
  /**
   * Path of the key in the event: `data.pair`, or a list of paths. Default: network and address of the event's
   * subject. A path, not a function: keys are read where events are stored, and no user code runs there.
   */
  readonly key?: string | readonly string[]
  /** Maximum number of concurrent runs of this handler. Default 8. */
  readonly concurrency?: number
  /** Maximum number of runs started per second, on average. Default: no limit. */
  readonly rate?: number
  /** Higher goes first when more runs are pending than `INBOX_CONCURRENCY` allows. Default 0. */
  readonly priority?: number
  /** Timeout of one attempt, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number
  readonly retry?: RetryOptions | RetryPolicy
  /** Effect of a dead letter on its key: `skip` (default) continues, `hold` blocks the key until an operator decides. */
  readonly onDead?: 'skip' | 'hold'
  /** A newer event of a key supersedes pending ones: only the latest runs. Default false. */
  readonly latestOnly?: boolean
  /**
   * Events that a new handler gets: those received from now on (default), all stored ones, or those received since a
   * time. Ignored for a handler that was loaded before.
   */
  readonly from?: From
  /** Events older than this by `created_at` don't run; they are recorded as `expired`. In milliseconds. Default: no limit. */
  readonly maxAgeMs?: number
  /** Runs its file in a separate thread, so that it can't disturb other handlers. Default false. */
  readonly isolate?: boolean
}

/** Default options of handlers. */
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
 * Defines a handler: types the event of `run` from `type` (R93–R102) and returns the definition frozen.
 * Checked when it is loaded.
 *
 * @example
 * export default defineHandler({
 *   type: 'wallet.large_trade',
 *   run(event, ctx) {
 *     ctx.log.info({ amountUsd: event.data.amount_usd }, 'large trade')
 *   },
 * })
 */
export function defineHandler<
  const P extends EventSelector,
  const S extends SourceSelector = 'default',
  const V extends ProviderName | undefined = undefined,
>(definition: HandlerDefinition<P, S, V>): Readonly<HandlerDefinition<P, S, V>> {
  return Object.freeze(definition)
}
