import type { ApiClient } from '../client/api.ts'
import type { Logger } from '../base/log.ts'
import type { EventSelector, HandlerDefinition, HandlerEvent } from './define.ts'
import type { BreakerOptions } from './gate.ts'

/** Something for a sink to pass on. */
export interface SinkItem<P extends EventSelector = '*'> {
  /** Another for every item; the same on every attempt. */
  readonly id: string
  /** What order is kept by; null: none. */
  readonly key: string | null
  /** What was given to `ctx.enqueue`; undefined where the sink takes the event itself, by its `type`. */
  readonly payload: unknown
  /** The event that it belongs to. */
  readonly event: HandlerEvent<P>
  /** Label of the webhook secret that verified the event. */
  readonly secretLabel: string
  /** Which attempt this is, from 1. */
  readonly attempt: number
  /** The same on every attempt, and on every replay of the event: for whoever gets the item, to know a repeat by. */
  readonly idempotencyKey: string
  /** W3C trace context to pass on, as the header of that name has it; null: the event came with none, and nobody traces. */
  readonly traceparent: string | null
}

export interface SinkContext {
  /** Aborted when `timeoutMs` has passed or the process stops. Pass it on to what can be cancelled. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** As for handlers. */
  readonly api: ApiClient
  /**
   * Nothing more is sent by this sink for so many milliseconds, at most an hour: for whoever gets it asked for that. Items wait, and
   * are not charged; the sends that go on are not ended. A send that fails after it counts for no breaker.
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

/** Options that handlers have too mean the same for a sink: `concurrency` counts its `send`s, `rate` its items. */
export interface SinkDefinition<P extends EventSelector = '*'> extends Pick<HandlerDefinition<P>, SharedOptions> {
  /** By which `ctx.enqueue` knows it. Default: the name of the file without its extension. */
  readonly name?: string
  /** Events that go to it by themselves, without a handler. Default: none. */
  readonly type?: P
  /** As for handlers, of the events of its `type`: false leaves the event out. What is enqueued is not asked about. Pure. */
  match?(event: HandlerEvent<P>): boolean
  /**
   * Passes items on, one of a key at a time. Must tolerate repeats. Once it has returned, they count as delivered; if it throws,
   * all of them are tried again, as for handlers.
   */
  send(items: readonly SinkItem<P>[], ctx: SinkContext): void | Promise<void>
  /** At most so many items at once. Default 1. */
  readonly batch?: number
  /**
   * Leaves a sink alone that fails: items wait, uncharged, and now and then one of them is tried. A send that throws TerminalError
   * counts as no failure. Default: no breaker.
   */
  readonly breaker?: BreakerOptions
  /** Called when nothing more is sent and its thread ends, so that connections can be closed. It has half a second for it. */
  close?(): void | Promise<void>
}

/**
 * Defines a sink: it takes what handlers leave for it with `ctx.enqueue`, and events of its `type`. It is checked when it is loaded.
 *
 * @example
 * export default defineSink({
 *   name: 'audit',
 *   async send([item], ctx) {
 *     const headers = { 'Idempotency-Key': item.idempotencyKey }
 *     const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(item.payload), signal: ctx.signal })
 *     if (!response.ok) throw new Error(`it answered ${response.status}`)
 *   },
 * })
 */
export function defineSink<const P extends EventSelector = '*'>(
  definition: SinkDefinition<P>,
): Readonly<SinkDefinition<P>> {
  return Object.freeze(definition)
}
