import type { RunContext } from './context.ts'
import type { HandlerEvent } from './define.ts'
import type { SinkContext, SinkDefinition, SinkItem } from './define-sink.ts'
import { parseJson } from './json-text.ts'

interface Waiting {
  readonly item: SinkItem
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
  run(event: HandlerEvent<'*'>, ctx: RunContext): Promise<void> {
    const sent = Promise.withResolvers<void>()
    this.#waiting.push({ item: toItem(event, ctx), ctx, sent })
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
    const wanted = batch.filter(({ ctx }) => !ctx.signal.aborted)
    for (const { ctx } of wanted) ctx.restartTimeout()
    try {
      const [first] = wanted
      if (first !== undefined) {
        await this.#send(
          wanted.map(({ item }) => item),
          contextOf(wanted, first),
        )
      }
      for (const { sent } of batch) sent.resolve()
    } catch (error) {
      for (const { sent } of batch) sent.reject(error)
    }
    this.#sends--
    this.#next()
  }
}

function toItem(event: HandlerEvent<'*'>, ctx: RunContext): SinkItem {
  const { runId, event: stored } = ctx.lease
  return {
    id: String(runId),
    key: ctx.lease.key,
    payload: ctx.item === null ? undefined : parseJson(ctx.item.payload),
    event,
    secretLabel: stored.secretLabel,
    attempt: ctx.attempt,
    idempotencyKey: ctx.idempotencyKey,
  }
}

function contextOf(batch: readonly Waiting[], first: Waiting): SinkContext {
  const { log } = first.ctx
  return batch.length === 1
    ? { signal: first.ctx.signal, log }
    : { signal: AbortSignal.any(batch.map(({ ctx }) => ctx.signal)), log }
}
