import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { DispatchStore } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import { createTracer } from '../base/tracing.ts'
import type { ApiSource } from './api.ts'
import { closeSinks, toRoute, type ResolvedHandler } from './resolved-handler.ts'
import { Dispatcher, type DispatcherObserver, type Leftover } from './dispatcher.ts'
import { runnerTiming } from './runner-protocol.ts'

export interface InProcessOptions {
  readonly work: Omit<DispatchStore, 'reap'>
  readonly handlers: readonly ResolvedHandler[]
  /** Runs at once, all handlers. */
  readonly concurrency: number
  readonly clock: Clock
  readonly log: Logger
  readonly observer: Pick<DispatcherObserver, 'settled' | 'stuck'>
  /** What runs have as `ctx.api`. Default: nothing. */
  readonly api?: ApiSource | undefined
}

export interface InProcessRunner {
  /** How many handlers run now. */
  readonly running: number
  /**
   * Takes no more runs, lets those in flight finish for `graceMs` milliseconds, aborts them and gives them back. Rejects with
   * `handler_stuck` if handlers ignore that: only the end of the process ends them. A second call with a shorter time hastens the first.
   */
  stop(graceMs: number): Promise<void>
}

/**
 * Runs handlers on the event loop of the caller: no thread is between them and everything else in the process. What a process
 * that died had in flight is tried one run at a time, beside all other work.
 */
export async function startInProcess(options: InProcessOptions): Promise<InProcessRunner> {
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
    for (const [handler, set] of Object.entries(concurrencies)) dispatcher.setConcurrency(handler, set)
    dispatcher.start()
  }

  let stopping: Promise<void> | undefined

  async function settleLeftovers(leftovers: readonly Leftover[]): Promise<void> {
    for (const { lease, outcome } of leftovers) {
      const { handler, event, attempt } = lease
      log.warn({ handler, eventId: event.id, attempt }, 'a handler heeds no signal and goes on after the stop')
      try {
        await (outcome === 'interrupted' ? work.release([lease]) : work.settle([outcome]))
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'a run could not be given back')
      }
    }
  }

  async function end(leftovers: readonly Leftover[]): Promise<void> {
    await settleLeftovers(leftovers)
    await closeSinks(handlers, { clock, log, limitMs: abortGraceMs })
    if (leftovers.length === 0) return
    const stuck = [...new Set(leftovers.map(({ lease }) => lease.handler))]
    throw new InboxError(
      'handler_stuck',
      `still running after the stop, because they ignore ctx.signal: ${stuck.join(', ')}`,
      {
        details: { handlers: stuck },
      },
    )
  }

  return {
    get running() {
      return dispatchers.reduce((sum, dispatcher) => sum + dispatcher.running, 0)
    },
    stop(graceMs) {
      const ended = Promise.all(dispatchers.map((dispatcher) => dispatcher.stop(graceMs, abortGraceMs)))
      return (stopping ??= ended.then((left) => end(left.flat())))
    },
  }
}
