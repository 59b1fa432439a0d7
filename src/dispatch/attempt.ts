import type { Clock, Timer } from '../clock.ts'
import { InboxError, RetryableError, TerminalError } from '../errors.ts'
import type { Outcome } from '../inbox/port.ts'
import type { RunContext } from './context.ts'
import type { ResolvedHandler } from './define.ts'
import { toHandlerEvent } from './event.ts'
import { retryDelayMs } from './retry-policy.ts'
import { toRunError } from './run-error.ts'

/** Why an attempt is being stopped: its time is over, or the dispatcher stops. */
export type StopReason = 'timeout' | 'shutdown'

export interface Attempt {
  readonly timeoutMs: number
  /**
   * What became of it, or `interrupted` if only our own stop ended it. After a timeout it comes at the latest `overrunGraceMs`
   * later, even if the handler still runs: then it must not be stored before the handler has ended.
   */
  readonly outcome: Promise<Outcome | 'interrupted'>
  /** Resolves when the handler has really ended. */
  readonly ended: Promise<void>
  /** Whether its outcome was told while the handler still runs. */
  readonly hasOverrun: boolean
  /** Aborts the handler's signal. */
  stop(reason: StopReason): void
  /** Tells the outcome of a stopped attempt now, whether or not the handler has ended. */
  giveUp(): void
}

export interface AttemptOptions {
  readonly handler: ResolvedHandler
  readonly context: RunContext
  readonly clock: Clock
  /** How long a handler may take to end after its timeout. */
  readonly overrunGraceMs: number
}

/**
 * Runs one attempt of a handler. Never throws and never rejects. Once an attempt was stopped it is not `done`, however it
 * ends: a handler that returns because its signal was aborted has not done its work.
 */
export function startAttempt(options: AttemptOptions): Attempt {
  const { handler, context, clock } = options
  const { lease } = context
  const startedAt = clock.now()
  const { promise: outcome, resolve: tell } = Promise.withResolvers<Outcome | 'interrupted'>()
  let stopped: StopReason | undefined
  let hasEnded = false
  let hasOverrun = false
  let graceTimer: Timer | undefined
  const timer = clock.after(handler.timeoutMs, () => stop('timeout'))

  function stop(reason: StopReason): void {
    if (stopped !== undefined) return
    stopped = reason
    timer.cancel()
    if (reason === 'timeout') graceTimer = clock.after(options.overrunGraceMs, giveUp)
    context.abort(reason === 'timeout' ? timeoutError() : new InboxError('shutting_down', 'the process is stopping'))
  }

  function giveUp(): void {
    if (hasEnded || hasOverrun) return
    hasOverrun = true
    tell(stoppedOutcome())
  }

  async function run(): Promise<void> {
    try {
      await handler.run(toHandlerEvent(lease.event), context)
      const effects = context.end()
      tell(stopped === undefined ? { ...verdict(), kind: 'done', ...(effects && { effects }) } : stoppedOutcome())
    } catch (error) {
      context.end()
      tell(stopped === undefined ? failed(error) : stoppedOutcome())
    }
    hasEnded = true
    timer.cancel()
    graceTimer?.cancel()
  }

  function stoppedOutcome(): Outcome | 'interrupted' {
    return stopped === 'timeout' ? failed(timeoutError()) : 'interrupted'
  }

  function verdict() {
    return { runId: lease.runId, token: lease.token, startedAt, endedAt: clock.now() }
  }

  function failed(thrown: unknown): Outcome {
    const error = toRunError(thrown)
    if (thrown instanceof TerminalError) return { ...verdict(), kind: 'dead', error }
    const delayMs = retryDelayMs(handler.retry, {
      failures: lease.failed + 1,
      retryAfterMs: thrown instanceof RetryableError ? thrown.retryAfterMs : undefined,
      random: clock.random(),
    })
    if (delayMs === null) return { ...verdict(), kind: 'dead', error }
    return { ...verdict(), kind: 'retry', at: clock.now() + delayMs, error }
  }

  function timeoutError(): InboxError {
    return new InboxError(
      'handler_timeout',
      `handler ${handler.name} took longer than ${handler.timeoutMs} ms; make it faster, let it heed ctx.signal, or raise timeoutMs`,
    )
  }

  const ended = run()
  return {
    timeoutMs: handler.timeoutMs,
    outcome,
    ended,
    get hasOverrun() {
      return hasOverrun
    },
    stop,
    giveUp,
  }
}
