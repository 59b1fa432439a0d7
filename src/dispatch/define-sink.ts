import type { ApiClient } from '../client/api.ts'
import type { Logger } from '../base/log.ts'
import type { EventSelector, HandlerDefinition, HandlerEvent, SourceSelector } from './define.ts'
import type { BreakerOptions } from './circuit-breaker.ts'

/** An item for a sink to deliver. */
export interface SinkItem<P extends EventSelector = '*'> {
  /** Unique per item, and the same on every attempt. */
  readonly id: string
  /** Ordering key; null: no order. */
  readonly key: string | null
  /** The payload given to `ctx.enqueue`; undefined when the sink takes the event itself by its `type`. */
  readonly payload: unknown
  /** The event that the item belongs to. */
  readonly event: HandlerEvent<P>
  /** Label of the webhook secret that verified the event. */
  readonly secretLabel: string
  /** Number of this attempt, from 1. */
  readonly attempt: number
  /** The same on every attempt and every replay of the event, so that the receiver can detect repeats. */
  readonly idempotencyKey: string
  /** W3C `traceparent` header to pass on; null: the event came with none, and tracing is off. */
  readonly traceparent: string | null
}

export interface SinkContext {
  /** Aborted after `timeoutMs` or when the process stops. Pass it to everything that can be cancelled. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** Client of the upstream REST API, the same as `ctx.api` of handlers. */
  readonly api: ApiClient
  /**
   * Stops sending by this sink for `ms` milliseconds, at most one hour, because its receiver asked for that. Items wait
   * and no attempt is charged. Sends already in flight continue. A send that fails after calling `pause` does not count
   * for the breaker.
   */
  pause(ms: number): void
}

type SharedOptions =
  | 'order'
  | 'concurrency'
  | 'rate'
  | 'priority'
  | 'timeoutMs'
  | 'retry'
  | 'from'
  | 'onDead'
  | 'isolate'

/** Options shared with handlers mean the same for a sink. `concurrency` counts calls of `send`; `rate` counts items. */
export interface SinkDefinition<P extends EventSelector = '*'> extends Pick<HandlerDefinition<P>, SharedOptions> {
  /** Name used with `ctx.enqueue`. Default: the file name without its extension. */
  readonly name?: string
  /** Events that the sink takes directly, without a handler. Default: none. */
  readonly type?: P
  /** Sources whose events it takes directly. Default: `default`. */
  readonly source?: SourceSelector
  /** Return false to skip an event of its `type`, as for handlers. Must be pure. Not called for enqueued items. */
  match?(event: HandlerEvent<P>): boolean
  /**
   * Delivers items, one of a key at a time. Must tolerate repeats. When it returns, the items count as delivered. When
   * it throws, all of them are retried, as for handlers.
   */
  send(items: readonly SinkItem<P>[], ctx: SinkContext): void | Promise<void>
  /** Maximum number of items per call of `send`. Default 1. */
  readonly batch?: number
  /**
   * Circuit breaker: while the sink fails, its items wait without being charged, and one of them is sent as a trial
   * from time to time. A send that throws TerminalError does not count as a failure. Default: no breaker.
   */
  readonly breaker?: BreakerOptions
  /** Called after the last send, before its thread ends, to close connections. Time limit: half a second. */
  close?(): void | Promise<void>
}

/**
 * Defines a sink: it takes items that handlers leave with `ctx.enqueue`, and events of its `type`. Checked when it is loaded.
 *
 * @example
 * export default defineSink({
 *   name: 'audit',
 *   async send([item], ctx) {
 *     const headers = { 'Idempotency-Key': item.idempotencyKey }
 *     const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(item.payload), signal: ctx.signal })
 *     if (!response.ok) throw new Error(`HTTP ${response.status}`)
 *   },
 * })
 */
export function defineSink<const P extends EventSelector = '*'>(
  definition: SinkDefinition<P>,
): Readonly<SinkDefinition<P>> {
  return Object.freeze(definition)
}
