import { TerminalError } from '../base/errors.ts'
import type { RunContext } from './context.ts'
import type { SinkContext, SinkDefinition, SinkItem } from './define-sink.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { parseJson } from './outbox.ts'

export interface SinkBatchOptions {
  readonly batch: number
  /** Maximum number of concurrent `send`s. */
  readonly concurrency: number
  /** Default: no breaker; only `ctx.pause` stops sending. */
  readonly breaker?: CircuitBreaker
}

interface Waiting {
  readonly ctx: RunContext
  readonly sent: PromiseWithResolvers<void>
}

/**
 * Runs a sink as a handler: each item is a run with its own retries and its own place in the order of its key. Items
 * that are there when a `send` can start go into it together, up to `batch`. No send waits for more items.
 */
export class SinkBatchRunner {
  readonly #send: SinkDefinition['send']
  readonly #batch: number
  readonly #breaker: CircuitBreaker
  readonly #waiting: Waiting[] = []
  #concurrency: number
  #runningSends = 0

  constructor(
    send: SinkDefinition['send'],
    { batch, concurrency, breaker = new CircuitBreaker(undefined) }: SinkBatchOptions,
  ) {
    this.#send = send
    this.#batch = batch
    this.#concurrency = concurrency
    this.#breaker = breaker
    breaker.onChange(() => this.#next())
  }

  /** Sets the maximum number of concurrent `send`s. */
  setConcurrency(concurrency: number): void {
    this.#concurrency = concurrency
    this.#next()
  }

  /** Resolves when the item was sent. */
  run(ctx: RunContext): Promise<void> {
    const sent = Promise.withResolvers<void>()
    this.#waiting.push({ ctx, sent })
    // Waits until the end of this turn, when all runs of the same claim have arrived.
    if (this.#batch === 1) this.#next()
    else setImmediate(() => this.#next())
    return sent.promise
  }

  #next(): void {
    this.#interruptWaiting()
    while (this.#runningSends < this.#concurrency && this.#waiting.length > 0) {
      this.#runningSends++
      void this.#sendTogether(this.#waiting.splice(0, this.#batch))
    }
  }

  /** Interrupts waiting items while the sink is paused or its breaker is open. Suspects stay: they are few and get an outcome now. */
  #interruptWaiting(): void {
    const [first] = this.#waiting
    if (first === undefined || this.#breaker.waitMs(first.ctx.now()) === 0) return
    for (const waiting of this.#waiting.splice(0)) {
      if (waiting.ctx.lease.crashed > 0) this.#waiting.push(waiting)
      else {
        waiting.ctx.interrupt()
        waiting.sent.resolve()
      }
    }
  }

  async #sendTogether(batch: readonly Waiting[]): Promise<void> {
    // Don't send items whose run was aborted while it waited.
    const contexts = batch.map(({ ctx }) => ctx).filter((ctx) => !ctx.isAborted)
    for (const ctx of contexts) ctx.restartTimeout()
    try {
      const [first] = contexts
      if (first !== undefined) await this.#sendWatched(contexts, first)
      for (const { sent } of batch) sent.resolve()
    } catch (error) {
      for (const { sent } of batch) sent.reject(error)
    }
    this.#runningSends--
    this.#next()
  }

  /** Sends, and reports the result to the breaker. */
  async #sendWatched(contexts: readonly RunContext[], first: RunContext): Promise<void> {
    const breaker = this.#breaker
    let hasPaused = false
    const pause = (ms: number) => {
      if (typeof ms !== 'number' || !(ms >= 0))
        throw new TerminalError(`ctx.pause: ms must be a number ≥ 0, received ${String(ms)}`)
      hasPaused = true
      breaker.pause(ms, first.now())
    }
    try {
      await this.#send(contexts.map(toItem), contextOf(contexts, first, pause))
      breaker.succeeded(first.now(), first.log)
    } catch (error) {
      const hasFailed = !hasPaused && !(error instanceof TerminalError)
      if (hasFailed)
        breaker.failed(
          contexts.map(({ lease }) => lease.runId),
          first.now(),
          first.log,
          error,
        )
      throw error
    }
  }
}

function toItem(ctx: RunContext): SinkItem {
  const { runId, key, event } = ctx.lease
  return {
    id: String(runId),
    key,
    payload: ctx.item === null ? undefined : parseJson(ctx.item.payload),
    get event() {
      return ctx.event
    },
    secretLabel: event.secretLabel,
    attempt: ctx.attempt,
    idempotencyKey: ctx.idempotencyKey,
    traceparent: ctx.traceparent,
  }
}

/** Parts are created on first use, because most sinks need neither. */
function contextOf(contexts: readonly RunContext[], first: RunContext, pause: SinkContext['pause']): SinkContext {
  let combinedSignal: AbortSignal | undefined
  return {
    get signal() {
      return contexts.length === 1
        ? first.signal
        : (combinedSignal ??= AbortSignal.any(contexts.map(({ signal }) => signal)))
    },
    get log() {
      return first.log
    },
    get api() {
      return first.apiUntil(() => this.signal)
    },
    pause,
  }
}
