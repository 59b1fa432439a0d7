import type { ApiClient } from '../client/api.ts'
import type { Clock } from '../base/clock.ts'
import { TerminalError } from '../base/errors.ts'
import {
  defaultSource,
  sentIdOf,
  sourceOf,
  type Effects,
  type Item,
  type Lease,
  type StoredEvent,
} from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import { noApi, type ApiFactory } from './api.ts'
import type { HandlerContext, HandlerEvent } from './define.ts'
import { RunOutbox, type EnqueueOptions, type KnownSinks } from './outbox.ts'
import { maxRetryAfterMs } from './retry-policy.ts'
import { RunState, type HandlerState } from './run-state.ts'
import type { StateCache } from './state-cache.ts'
import type { AnyEvent } from '../../schema/index.ts'
import { createExactReader } from '../base/exact.ts'

export interface ContextOptions {
  readonly lease: Lease
  readonly state: StateCache
  readonly sinks: KnownSinks
  readonly clock: Clock
  readonly log: Logger
  /** Default: no access to the upstream REST API. */
  readonly api?: ApiFactory | undefined
}

/** The parts of an attempt that its run can use. */
interface RunningAttempt {
  restartTimeout(): void
  stop(reason: 'paused'): void
}

/** The `ctx` of a handler. Parts are created on first use, because most handlers need few of them. */
export class RunContext implements HandlerContext {
  readonly attempt: number
  readonly isReplay: boolean
  readonly idempotencyKey: string
  /** Trace context of the receipt; replaced once the attempt has its own span. */
  traceparent: string | null
  readonly #options: ContextOptions
  #event: HandlerEvent<'*'> | undefined
  #controller: AbortController | undefined
  #log: Logger | undefined
  #api: ApiClient | undefined
  #state: RunState | undefined
  #outbox: RunOutbox | undefined
  #reason: Error | undefined
  #snoozeMs: number | undefined
  #hasEnded = false
  #attempt: RunningAttempt | undefined

  constructor(options: ContextOptions) {
    const { handler, event, attempt, item, replay } = options.lease
    this.attempt = attempt
    this.isReplay = replay !== null
    const generation = replay?.newKeys ? `:replay-${replay.id}` : ''
    this.idempotencyKey = item?.idempotencyKey ?? `${handler}:${event.id}${generation}`
    this.traceparent = event.trace ?? null
    this.#options = options
  }

  /** Parsed on first use: a sink may not need it for enqueued items. */
  get event(): HandlerEvent<'*'> {
    return (this.#event ??= toHandlerEvent(this.#options.lease.event))
  }

  /** Called by the attempt that owns this context. */
  attemptStarted(attempt: RunningAttempt): void {
    this.#attempt = attempt
  }

  /** Restarts the timeout of the attempt: so far it has only waited. */
  restartTimeout(): void {
    this.#attempt?.restartTimeout()
  }

  /** Releases the run as if it had never been claimed, however the handler ends. */
  interrupt(): void {
    this.#attempt?.stop('paused')
  }

  now(): number {
    return this.#options.clock.now()
  }

  /** True when state and outbox can no longer be used. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get isAborted(): boolean {
    return this.#reason !== undefined
  }

  /** The item that a sink has to deliver; null for an event. */
  get item(): Item | null {
    return this.#options.lease.item
  }

  get lease(): Lease {
    return this.#options.lease
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  get log(): Logger {
    const { handler, event, attempt, replay } = this.#options.lease
    const traceId = this.traceparent?.split('-')[1]
    const fields = {
      handler,
      eventId: event.id,
      attempt,
      ...(replay !== null && { replay: replay.id }),
      ...(traceId !== undefined && { traceId }),
    }
    return (this.#log ??= this.#options.log.child(fields))
  }

  get api(): ApiClient {
    return (this.#api ??= this.apiUntil(() => this.signal))
  }

  /** The API client, with its calls aborted by `signal` instead of the run's signal. */
  apiUntil(signal: () => AbortSignal): ApiClient {
    return (this.#options.api ?? noApi)(signal)
  }

  get state(): HandlerState {
    return (this.#state ??= new RunState(this.#options.state, this))
  }

  readonly enqueue = (sink: string, payload: unknown, options?: EnqueueOptions): void => {
    this.#outbox ??= new RunOutbox(this.#options.sinks, this)
    this.#outbox.enqueue(sink, payload, options)
  }

  readonly snooze = (ms: number): void => {
    if (typeof ms !== 'number' || !(ms >= 0))
      throw new TerminalError(`ctx.snooze: ms must be a number ≥ 0, received ${String(ms)}`)
    this.#snoozeMs = Math.min(Math.ceil(ms), maxRetryAfterMs)
  }

  /** Delay that `ctx.snooze` asked for, in milliseconds; undefined: none. */
  get snoozeMs(): number | undefined {
    return this.#snoozeMs
  }

  abort(reason: Error): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }

  /** Keys of the state that the run has read. */
  get keysRead(): readonly string[] {
    return (this.#state?.reads ?? []).flatMap(({ query }) => ('key' in query ? [query.key] : []))
  }

  /** Closes state and outbox. Returns their reads, writes and items; undefined if there are none. */
  end(): Effects | undefined {
    this.#hasEnded = true
    const { reads = [], writes = [] } = this.#state ?? {}
    const { items = [] } = this.#outbox ?? {}
    return reads.length + writes.length + items.length === 0 ? undefined : { reads, writes, items }
  }
}

/**
 * The event as a handler gets it: the parsed envelope, made around the body of another source than the default one. The
 * other members are not enumerable, so logging or serializing the event shows only the envelope. Each run gets its own
 * object.
 */
export function toHandlerEvent(stored: StoredEvent): HandlerEvent<'*'> {
  const { raw, id: uid, type, createdAt } = stored
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString()
  const source = sourceOf(stored)
  const body = JSON.parse(text) as AnyEvent
  const isEnvelope = source === defaultSource
  const event = isEnvelope ? body : { id: sentIdOf(stored), type, created_at: createdAt, data: body }
  let exact: ((path: string) => string | undefined) | undefined
  const pathInText = (path: string) => (isEnvelope ? path : path.replace(/^data\./, ''))
  const hidden = {
    raw,
    exact: (path: string) => (exact ??= createExactReader(text))(pathInText(path)),
    source,
    uid,
    createdAt,
  }
  // One by one: twice as fast as `defineProperties`.
  for (const [name, value] of Object.entries(hidden)) {
    // Explicit, because an event may have members of these names.
    Object.defineProperty(event, name, { enumerable: false, value })
  }
  return event as HandlerEvent<'*'>
}
