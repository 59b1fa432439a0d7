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
export function createSinkRun(
  send: SinkDefinition['send'],
  options: { readonly batch: number; readonly concurrency: number },
): (event: HandlerEvent<'*'>, ctx: RunContext) => Promise<void> {
  const waiting: Waiting[] = []
  let sending = 0

  function next(): void {
    while (sending < options.concurrency && waiting.length > 0) {
      sending++
      void sendBatch(waiting.splice(0, options.batch))
    }
  }

  async function sendBatch(batch: readonly Waiting[]): Promise<void> {
    // One that was given up while it waited is not sent for nothing.
    const wanted = batch.filter(({ ctx }) => !ctx.signal.aborted)
    try {
      const [first] = wanted
      if (first !== undefined) {
        await send(
          wanted.map(({ item }) => item),
          contextOf(wanted, first),
        )
      }
      for (const { sent } of batch) sent.resolve()
    } catch (error) {
      for (const { sent } of batch) sent.reject(error)
    }
    sending--
    next()
  }

  return (event, ctx) => {
    const sent = Promise.withResolvers<void>()
    waiting.push({ item: toItem(event, ctx), ctx, sent })
    // At the end of this turn, when all that was claimed together is here.
    if (options.batch === 1) next()
    else setImmediate(next)
    return sent.promise
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
