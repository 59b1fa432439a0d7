import type { RunContext } from './context.ts'
import type { SinkContext, SinkDefinition, SinkItem } from './define-sink.ts'
import { parseJson } from './json-text.ts'

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
  readonly #waiting: Waiting[] = []
  #concurrency: number
  #sends = 0

  constructor(send: SinkDefinition['send'], options: { readonly batch: number; readonly concurrency: number }) {
    this.#send = send
    this.#batch = options.batch
    this.#concurrency = options.concurrency
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
    while (this.#sends < this.#concurrency && this.#waiting.length > 0) {
      this.#sends++
      void this.#sendTogether(this.#waiting.splice(0, this.#batch))
    }
  }

  async #sendTogether(batch: readonly Waiting[]): Promise<void> {
    // One that was given up while it waited is not sent for nothing.
    const wanted = batch.map(({ ctx }) => ctx).filter((ctx) => !ctx.isAborted)
    for (const ctx of wanted) ctx.restartTimeout()
    try {
      const [first] = wanted
      if (first !== undefined) {
        await this.#send(wanted.map(toItem), contextOf(wanted, first))
      }
      for (const { sent } of batch) sent.resolve()
    } catch (error) {
      for (const { sent } of batch) sent.reject(error)
    }
    this.#sends--
    this.#next()
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
  }
}

/** Its parts are made when they are first asked for: most sinks look at neither. */
function contextOf(wanted: readonly RunContext[], first: RunContext): SinkContext {
  let ofAll: AbortSignal | undefined
  return {
    get signal() {
      return wanted.length === 1 ? first.signal : (ofAll ??= AbortSignal.any(wanted.map(({ signal }) => signal)))
    },
    get log() {
      return first.log
    },
  }
}
