import type { Clock, Timer } from '../clock.ts'
import { InboxError, messageOf, RetryableError, TerminalError } from '../errors.ts'
import type { Effects, Outcome, RunError } from '../inbox/port.ts'
import type { RunContext } from './context.ts'
import { handlerDefaults, type ResolvedHandler } from './define.ts'
import { toHandlerEvent } from './event.ts'
import { askRetryPolicy, retryDelayMs } from './retry-policy.ts'
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
  let timer = clock.after(handler.timeoutMs, () => stop('timeout'))
  context.restartTimeout = () => {
    if (stopped !== undefined || hasEnded) return
    timer.cancel()
    timer = clock.after(handler.timeoutMs, () => stop('timeout'))
  }

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
      const outcome = isTooOld() ? 'expired' : await handle()
      const effects = context.end()
      tell(stopped === undefined ? succeeded(outcome, effects) : stoppedOutcome())
    } catch (error) {
      context.end()
      tell(stopped === undefined ? failed(error) : stoppedOutcome())
    }
    hasEnded = true
    timer.cancel()
    graceTimer?.cancel()
  }

  function isTooOld(): boolean {
    if (handler.maxAgeMs === undefined || context.isReplay) return false
    const { createdAt, receivedAt } = lease.event
    const since = Date.parse(createdAt)
    return startedAt - (Number.isNaN(since) ? receivedAt : since) > handler.maxAgeMs
  }

  async function handle(): Promise<'ran' | 'unmatched'> {
    const event = toHandlerEvent(lease.event)
    if (handler.match !== undefined && !isWanted(handler.match(event))) return 'unmatched'
    await handler.run(event, context)
    return 'ran'
  }

  function succeeded(outcome: 'ran' | 'expired' | 'unmatched', effects: Effects | undefined): Outcome {
    if (outcome !== 'ran') return { ...verdict(), kind: outcome }
    const { snoozeMs } = context
    if (snoozeMs !== undefined) return { ...verdict(), kind: 'snooze', at: clock.now() + snoozeMs }
    return { ...verdict(), kind: 'done', ...(effects && { effects }) }
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
    const delayMs = delayAfter(error, thrown instanceof RetryableError ? thrown.retryAfterMs : undefined)
    if (delayMs === null) return { ...verdict(), kind: 'dead', error }
    return { ...verdict(), kind: 'retry', at: clock.now() + delayMs, error }
  }

  function delayAfter(error: RunError, retryAfterMs: number | undefined): number | null {
    const failures = lease.failed + 1
    const { retry } = handler
    if (typeof retry === 'function') {
      const { name, message } = error
      try {
        const failure = { failures, error: { name, message }, retryAfterMs, receivedAt: lease.event.receivedAt }
        return askRetryPolicy(retry, failure)
      } catch (problem) {
        context.log.error({ error: messageOf(problem) }, 'the `retry` of a handler failed; the default policy is used')
      }
    }
    const options = typeof retry === 'function' ? handlerDefaults.retry : retry
    return retryDelayMs(options, { failures, retryAfterMs, random: clock.random() })
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

/** A promise is true, whatever it will say: better to be told than to take every event. */
function isWanted(answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer
  throw new TerminalError('`match` of the handler has to give true or false, at once: it cannot be async')
}
