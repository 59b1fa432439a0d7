import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { DispatchStore } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import { createTracer } from '../base/tracing.ts'
import type { ApiFactory } from './api.ts'
import { closeSinks, toRoute, type ResolvedHandler } from './resolved-handler.ts'
import { Dispatcher, type DispatcherObserver, type UnfinishedAttempt } from './dispatcher.ts'
import { applyOrder, runnerTiming, type DispatchOrder } from './runner-protocol.ts'

export interface InProcessOptions {
  readonly work: Omit<DispatchStore, 'reap'>
  readonly handlers: readonly ResolvedHandler[]
  /** Maximum number of concurrent runs, over all handlers. */
  readonly concurrency: number
  readonly clock: Clock
  readonly log: Logger
  readonly observer: Pick<DispatcherObserver, 'settled' | 'stuck'>
  /** Creates `ctx.api`. Default: none. */
  readonly api?: ApiFactory | undefined
}

export type InProcessRunner = Awaited<ReturnType<typeof startInProcess>>

/**
 * Runs handlers on the caller's event loop, without a separate thread. Runs that were in flight when an earlier process
 * died are suspects: they run one at a time, in parallel to all other runs.
 */
export async function startInProcess(options: InProcessOptions) {
  const { work, handlers, concurrency, clock, log } = options
  const concurrencies = await work.register(handlers.map(toRoute))
  const observer: DispatcherObserver = { starting() {}, yielded() {}, ended() {}, ...options.observer }
  const { overrunGraceMs, abortGraceMs } = runnerTiming
  const tracer = createTracer()
  const common = { work, handlers, concurrency, clock, log, observer, overrunGraceMs, api: options.api, tracer }
  const dispatchers = [
    new Dispatcher({ ...common, owner: 'in-process', suspects: false }),
    new Dispatcher({ ...common, owner: 'in-process-suspects', suspects: true }),
  ]
  for (const dispatcher of dispatchers) {
    for (const [handler, value] of Object.entries(concurrencies)) dispatcher.setConcurrency(handler, value)
    dispatcher.start()
  }

  let stopping: Promise<void> | undefined

  async function settleUnfinished(unfinished: readonly UnfinishedAttempt[]): Promise<void> {
    for (const { lease, outcome } of unfinished) {
      const { handler, event, attempt } = lease
      log.warn({ handler, eventId: event.id, attempt }, 'handler ignores ctx.signal')
      try {
        await (outcome === 'interrupted' ? work.release([lease]) : work.settle([outcome]))
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'release failed')
      }
    }
  }

  async function end(unfinished: readonly UnfinishedAttempt[]): Promise<void> {
    await settleUnfinished(unfinished)
    await closeSinks(handlers, { clock, log, limitMs: abortGraceMs })
    if (unfinished.length === 0) return
    const stuck = [...new Set(unfinished.map(({ lease }) => lease.handler))]
    throw new InboxError(
      'handler_stuck',
      `still running after the stop because they ignore ctx.signal: ${stuck.join(', ')}`,
      {
        details: { handlers: stuck },
      },
    )
  }

  return {
    /** Number of attempts in flight. */
    get running(): number {
      return dispatchers.reduce((sum, dispatcher) => sum + dispatcher.running, 0)
    },
    send: (order: DispatchOrder): void => dispatchers.forEach((dispatcher) => applyOrder(dispatcher, order)),
    /**
     * Stops claiming, lets runs in flight finish for `graceMs` milliseconds, aborts them and releases them. Rejects with
     * `handler_stuck` if handlers ignore the abort: only the end of the process ends them. A second call with a shorter
     * time shortens the first.
     */
    stop(graceMs: number): Promise<void> {
      const ended = Promise.all(dispatchers.map((dispatcher) => dispatcher.stop(graceMs, abortGraceMs)))
      return (stopping ??= ended.then((unfinished) => end(unfinished.flat())))
    },
  }
}
