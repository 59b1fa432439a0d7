import type { ApiClient } from '../client/api.ts'
import type { Clock } from '../base/clock.ts'
import { TerminalError } from '../base/errors.ts'
import type { Effects, Item, Lease, StoredEvent } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import { noApi, type ApiSource } from './api.ts'
import type { HandlerContext, HandlerEvent } from './define.ts'
import { RunOutbox, type EnqueueOptions, type KnownSinks } from './outbox.ts'
import { longestRetryAfterMs } from './retry-policy.ts'
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
  /** Default: there is none. */
  readonly api?: ApiSource | undefined
}

/** What a run can ask of the attempt that it is in. */
interface RunningAttempt {
  restartTimeout(): void
  stop(reason: 'held'): void
}

/** What a handler is given beside the event. Its parts are made when they are first asked for: most handlers need few of them. */
export class RunContext implements HandlerContext {
  readonly attempt: number
  readonly isReplay: boolean
  readonly idempotencyKey: string
  /** Until the attempt has a span of its own, that of the receipt. */
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
  #isOver = false
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

  /** Read when it is first asked for: a sink of what was enqueued may not need it. */
  get event(): HandlerEvent<'*'> {
    return (this.#event ??= toHandlerEvent(this.#options.lease.event))
  }

  /** To be called by the attempt that it is the context of. */
  attemptStarted(attempt: RunningAttempt): void {
    this.#attempt = attempt
  }

  /** Lets the time that the attempt may take begin anew: it has only waited so far. */
  restartTimeout(): void {
    this.#attempt?.restartTimeout()
  }

  /** Gives the run back as if it had never been claimed, however it ends: it has only waited so far. */
  interrupt(): void {
    this.#attempt?.stop('held')
  }

  now(): number {
    return this.#options.clock.now()
  }

  /** From now on neither state nor outbox can be used. */
  get isOver(): boolean {
    return this.#isOver
  }

  get isAborted(): boolean {
    return this.#reason !== undefined
  }

  /** What a sink is to deliver. */
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
    const { handler, event, attempt } = this.#options.lease
    const traceId = this.traceparent?.split('-')[1]
    const fields = { handler, eventId: event.id, attempt, ...(traceId !== undefined && { traceId }) }
    return (this.#log ??= this.#options.log.child(fields))
  }

  get api(): ApiClient {
    return (this.#api ??= this.apiUntil(() => this.signal))
  }

  /** The client, its calls ended by another signal than that of this run. */
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
      throw new TerminalError(`ctx.snooze expects a number of milliseconds from 0, received ${String(ms)}`)
    this.#snoozeMs = Math.min(Math.ceil(ms), longestRetryAfterMs)
  }

  /** For how long the run asked to be put off, if it did. */
  get snoozeMs(): number | undefined {
    return this.#snoozeMs
  }

  abort(reason: Error): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }

  /** The keys of the state that the run has read. */
  get keysRead(): readonly string[] {
    return (this.#state?.reads ?? []).flatMap(({ query }) => ('key' in query ? [query.key] : []))
  }

  /** Ends the use of state and outbox; gives what the run did to them, if anything. */
  end(): Effects | undefined {
    this.#isOver = true
    const { reads = [], writes = [] } = this.#state ?? {}
    const { items = [] } = this.#outbox ?? {}
    return reads.length + writes.length + items.length === 0 ? undefined : { reads, writes, items }
  }
}

/**
 * The event as a handler sees it: the parsed envelope with `raw` and `exact` beside it. Those two are not enumerable, so that
 * logging or serialising the event shows what was sent and nothing else. Each run gets an object of its own.
 */
export function toHandlerEvent(stored: StoredEvent): HandlerEvent<'*'> {
  const { raw } = stored
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString()
  const event = JSON.parse(text) as AnyEvent
  let exact: ((path: string) => string | undefined) | undefined
  Object.defineProperties(event, {
    // Said, because an event may come with members of these names.
    raw: { enumerable: false, value: raw },
    exact: { enumerable: false, value: (path: string) => (exact ??= createExactReader(text))(path) },
  })
  return event as HandlerEvent<'*'>
}
