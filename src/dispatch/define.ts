import type { EventOf, EventType } from '../../schema/index.ts'
import type { Logger } from '../log.ts'
import type { RunContext } from './context.ts'
import type { EnqueueOptions } from './outbox.ts'
import type { HandlerState } from './run-state.ts'

type Family<T extends string> = T extends `${infer Prefix}.${string}` ? Prefix : never

/** A type, a prefix such as `wallet.*`, or `*`. Types that are not documented yet are allowed (R127). */
export type EventPattern = EventType | `${Family<EventType>}.*` | '*' | (string & {})

/** Which events a handler takes: a pattern or a list of them. */
export type EventSelector = EventPattern | readonly EventPattern[]

/** How failed attempts are repeated: the wait starts at `baseMs` and doubles up to `capMs`, with half jitter. */
export interface RetryOptions {
  /** How often a run is tried in all before it goes to the dead letters. */
  readonly attempts?: number
  readonly baseMs?: number
  readonly capMs?: number
}

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
  /** The same on every attempt and replay of this event for this handler. */
  readonly idempotencyKey: string
  readonly log: Logger
  /** Values that this handler keeps from run to run; what a run writes is stored together with its end, or not at all. */
  readonly state: HandlerState
  /**
   * Leaves something for a sink: it is passed on once this run has ended well, at least once, in the order of its key. Throws
   * TerminalError if there is no sink of that name, or if `payload` is no JSON.
   */
  enqueue(sink: string, payload: unknown, options?: EnqueueOptions): void
}

export interface HandlerDefinition<P extends EventSelector> {
  /** A type, a list of types, a prefix such as `wallet.*`, or `*`. */
  readonly type: P
  /** Must tolerate repeats. Throw TerminalError to give up, RetryableError to choose the wait, anything else to retry. */
  run(event: HandlerEvent<P>, ctx: HandlerContext): void | Promise<void>
  /** Default: the name of the file without its extension. */
  readonly name?: string
  /** `key` (default): the events of one address one at a time, oldest first. `none`: no order. */
  readonly order?: 'key' | 'none'
  /** How many runs of this handler at once. Default 8. */
  readonly concurrency?: number
  /** How long one attempt may take, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number
  readonly retry?: RetryOptions
}

/** A handler that was checked, or a sink as the handler it is, with nothing left out. */
export interface ResolvedHandler {
  readonly kind: 'handler' | 'sink'
  readonly name: string
  readonly types: readonly string[]
  readonly order: 'key' | 'none'
  readonly concurrency: number
  readonly timeoutMs: number
  readonly retry: Readonly<Required<RetryOptions>>
  readonly run: (event: HandlerEvent<'*'>, ctx: RunContext) => void | Promise<void>
  /** Where it was defined. */
  readonly file: string
}

/** What a handler has where it says nothing else. */
export const handlerDefaults = Object.freeze({
  order: 'key',
  concurrency: 8,
  timeoutMs: 30_000,
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
