import { TerminalError } from '../base/errors.ts'
import type { RunContext } from './context.ts'
import type { SinkContext, SinkDefinition, SinkItem } from './define-sink.ts'
import { Gate } from './gate.ts'
import { parseJson } from './outbox.ts'

export interface SendingOptions {
  readonly batch: number
  /** How many `send`s at once. */
  readonly concurrency: number
  /** Default: one that only `ctx.pause` shuts. */
  readonly gate?: Gate
}

interface Waiting {
  readonly ctx: RunContext
  readonly sent: PromiseWithResolvers<void>
}

/**
 * A sink as a handler: each item is a run of its own, with its own retries and its own place in line. What is there when a
 * `send` may begin goes into it together, up to `batch`; nothing waits for more to come.
 */
export class Sending {
  readonly #send: SinkDefinition['send']
  readonly #batch: number
  readonly #gate: Gate
  readonly #waiting: Waiting[] = []
  #concurrency: number
  #sends = 0

  constructor(send: SinkDefinition['send'], { batch, concurrency, gate = new Gate(undefined) }: SendingOptions) {
    this.#send = send
    this.#batch = batch
    this.#concurrency = concurrency
    this.#gate = gate
    gate.onChange(() => this.#next())
  }

  /** From now on so many `send`s at once. */
  setConcurrency(concurrency: number): void {
    this.#concurrency = concurrency
    this.#next()
  }

  /** Resolves when the item was sent. */
  run(ctx: RunContext): Promise<void> {
    const sent = Promise.withResolvers<void>()
    this.#waiting.push({ ctx, sent })
    // At the end of this turn, when all that was claimed together is here.
    if (this.#batch === 1) this.#next()
    else setImmediate(() => this.#next())
    return sent.promise
  }

  #next(): void {
    this.#putBack()
    while (this.#sends < this.#concurrency && this.#waiting.length > 0) {
      this.#sends++
      void this.#sendTogether(this.#waiting.splice(0, this.#batch))
    }
  }

  /** While the sink is shut, what waits for its send is given back. What a crash left is few, and gets its verdict now. */
  #putBack(): void {
    const [first] = this.#waiting
    if (first === undefined || this.#gate.waitMs(first.ctx.now()) === 0) return
    for (const waiting of this.#waiting.splice(0)) {
      if (waiting.ctx.lease.crashed > 0) this.#waiting.push(waiting)
      else {
        waiting.ctx.interrupt()
        waiting.sent.resolve()
      }
    }
  }

  async #sendTogether(batch: readonly Waiting[]): Promise<void> {
    // One that was given up while it waited is not sent for nothing.
    const wanted = batch.map(({ ctx }) => ctx).filter((ctx) => !ctx.isAborted)
    for (const ctx of wanted) ctx.restartTimeout()
    try {
      const [first] = wanted
      if (first !== undefined) await this.#sendWatched(wanted, first)
      for (const { sent } of batch) sent.resolve()
    } catch (error) {
      for (const { sent } of batch) sent.reject(error)
    }
    this.#sends--
    this.#next()
  }

  /** Tells the gate what became of it. */
  async #sendWatched(wanted: readonly RunContext[], first: RunContext): Promise<void> {
    const gate = this.#gate
    let hasPaused = false
    const pause = (ms: number) => {
      if (typeof ms !== 'number' || !(ms >= 0))
        throw new TerminalError(`ctx.pause expects a number of milliseconds from 0, received ${String(ms)}`)
      hasPaused = true
      gate.pause(ms, first.now())
    }
    try {
      await this.#send(wanted.map(toItem), contextOf(wanted, first, pause))
      gate.succeeded(first.now(), first.log)
    } catch (error) {
      const hasFailed = !hasPaused && !(error instanceof TerminalError)
      if (hasFailed)
        gate.failed(
          wanted.map(({ lease }) => lease.runId),
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

/** Its parts are made when they are first asked for: most sinks look at neither. */
function contextOf(wanted: readonly RunContext[], first: RunContext, pause: SinkContext['pause']): SinkContext {
  let ofAll: AbortSignal | undefined
  return {
    get signal() {
      return wanted.length === 1 ? first.signal : (ofAll ??= AbortSignal.any(wanted.map(({ signal }) => signal)))
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
