import type { Clock, Timer } from '../base/clock.ts'
import { InboxError, messageOf, RetryableError, TerminalError } from '../base/errors.ts'
import type { Effects, Outcome, RunError } from '../inbox/port.ts'
import type { RunContext } from './context.ts'
import { handlerDefaults } from './define.ts'
import type { Tracer } from '../base/tracing.ts'
import { askRetryPolicy, retryDelayMs } from './retry-policy.ts'
import { toRunError } from './run-error.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** Why an attempt is stopped: timeout, shutdown, or a sink that may send nothing for now. */
type StopReason = 'timeout' | 'shutdown' | 'paused'

interface AttemptOptions {
  readonly handler: ResolvedHandler
  readonly context: RunContext
  readonly clock: Clock
  /** How long a handler may take to end after its timeout, in milliseconds. */
  readonly overrunGraceMs: number
  /** Null: tracing is off. */
  readonly tracer: Tracer | null
}

/**
 * One attempt of a handler. It starts in the constructor. Never throws and never rejects. A stopped attempt is never
 * `done`: a handler that returns because its signal was aborted has not finished its work. A class, because closures
 * would produce much garbage per run.
 */
export class Attempt {
  readonly #options: AttemptOptions
  readonly #outcome = Promise.withResolvers<Outcome | 'interrupted'>()
  readonly #startedAt: number
  #stopped: StopReason | undefined
  #hasEnded = false
  #timer: Timer
  #graceTimer: Timer | undefined
  /** True when the outcome was resolved while the handler still runs. */
  hasOverrun = false
  /** Resolves when the handler has really ended. */
  readonly ended: Promise<void>

  constructor(options: AttemptOptions) {
    this.#options = options
    this.#startedAt = options.clock.now()
    this.#timer = this.#startTimer()
    options.context.attemptStarted(this)
    this.ended = this.#run()
  }

  get timeoutMs(): number {
    return this.#options.handler.timeoutMs
  }

  /**
   * The outcome, or `interrupted` if only `stop` ended the attempt. After a timeout it resolves within
   * `overrunGraceMs`, even if the handler still runs. Then it must not be stored before the handler has ended.
   */
  get outcome(): Promise<Outcome | 'interrupted'> {
    return this.#outcome.promise
  }

  /** Restarts the timeout: so far the attempt has only waited. */
  restartTimeout(): void {
    if (this.#stopped !== undefined || this.#hasEnded) return
    this.#timer.cancel()
    this.#timer = this.#startTimer()
  }

  /** Aborts the handler's signal. */
  stop(reason: StopReason): void {
    if (this.#stopped !== undefined) return
    this.#stopped = reason
    this.#timer.cancel()
    const { clock, context, overrunGraceMs } = this.#options
    if (reason === 'timeout') this.#graceTimer = clock.after(overrunGraceMs, () => this.abandon())
    context.abort(
      reason === 'timeout'
        ? this.#timeoutError()
        : new InboxError('shutting_down', 'the attempt was stopped and its run released'),
    )
  }

  /** Resolves the outcome of a stopped attempt now, even if the handler still runs. */
  abandon(): void {
    if (this.#hasEnded || this.hasOverrun) return
    this.hasOverrun = true
    this.#outcome.resolve(this.#stoppedOutcome())
  }

  async #run(): Promise<void> {
    const { context } = this.#options
    try {
      const outcome = this.#isTooOld() ? 'expired' : await this.#handle()
      const effects = context.end()
      this.#outcome.resolve(this.#stopped === undefined ? this.#succeeded(outcome, effects) : this.#stoppedOutcome())
    } catch (error) {
      context.end()
      this.#outcome.resolve(this.#stopped === undefined ? this.#failed(error) : this.#stoppedOutcome())
    }
    this.#hasEnded = true
    this.#timer.cancel()
    this.#graceTimer?.cancel()
  }

  async #handle(): Promise<'ran' | 'unmatched'> {
    const { handler, context, tracer } = this.#options
    // Items that a handler enqueued for a sink skip `match`.
    const match = context.item === null ? handler.match : undefined
    if (match !== undefined && !isWanted(match(context.event))) return 'unmatched'
    if (tracer === null) await handler.run(context)
    else await this.#handleTraced(tracer)
    return 'ran'
  }

  #handleTraced(tracer: Tracer): Promise<void> {
    const { handler, context } = this.#options
    const { event, attempt } = context.lease
    const info = {
      handler: handler.name,
      attempt,
      eventId: event.id,
      type: event.type,
      traceparent: event.trace ?? null,
    }
    return tracer.attempt(info, async (traceparent) => {
      context.traceparent = traceparent
      await handler.run(context)
    })
  }

  #startTimer(): Timer {
    return this.#options.clock.after(this.timeoutMs, () => this.stop('timeout'))
  }

  #isTooOld(): boolean {
    const { handler, context } = this.#options
    if (handler.maxAgeMs === undefined || context.isReplay) return false
    const { createdAt, receivedAt } = context.lease.event
    const createdMs = Date.parse(createdAt)
    return this.#startedAt - (Number.isNaN(createdMs) ? receivedAt : createdMs) > handler.maxAgeMs
  }

  #succeeded(outcome: 'ran' | 'expired' | 'unmatched', effects: Effects | undefined): Outcome {
    if (outcome !== 'ran') return { ...this.#verdict(), kind: outcome }
    const { clock, context } = this.#options
    const { snoozeMs } = context
    if (snoozeMs !== undefined) return { ...this.#verdict(), kind: 'snooze', at: clock.now() + snoozeMs }
    return { ...this.#verdict(), kind: 'done', ...(effects && { effects }) }
  }

  #stoppedOutcome(): Outcome | 'interrupted' {
    return this.#stopped === 'timeout' ? this.#failed(this.#timeoutError()) : 'interrupted'
  }

  #verdict() {
    const { runId, token } = this.#options.context.lease
    return { runId, token, startedAt: this.#startedAt, endedAt: this.#options.clock.now() }
  }

  #failed(thrown: unknown): Outcome {
    const error = toRunError(thrown)
    if (thrown instanceof TerminalError) return { ...this.#verdict(), kind: 'dead', error }
    const delayMs = this.#delayAfter(error, thrown instanceof RetryableError ? thrown.retryAfterMs : undefined)
    if (delayMs === null) return { ...this.#verdict(), kind: 'dead', error }
    return { ...this.#verdict(), kind: 'retry', at: this.#options.clock.now() + delayMs, error }
  }

  #delayAfter(error: RunError, retryAfterMs: number | undefined): number | null {
    const { handler, context, clock } = this.#options
    const { lease } = context
    const failures = lease.failed + 1
    const { retry } = handler
    if (typeof retry === 'function') {
      const { name, message } = error
      try {
        const failure = { failures, error: { name, message }, retryAfterMs, receivedAt: lease.event.receivedAt }
        return askRetryPolicy(retry, failure)
      } catch (problem) {
        context.log.error({ error: messageOf(problem) }, 'retry policy failed, default used')
      }
    }
    const options = typeof retry === 'function' ? handlerDefaults.retry : retry
    return retryDelayMs(options, { failures, retryAfterMs, random: clock.random() })
  }

  #timeoutError(): InboxError {
    const { name, timeoutMs } = this.#options.handler
    return new InboxError(
      'handler_timeout',
      `handler ${name} took longer than ${timeoutMs} ms; make it faster, pass on ctx.signal, or raise timeoutMs`,
    )
  }
}

/** Throws for a promise: it is truthy, so an async `match` would take every event. */
function isWanted(answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer
  throw new TerminalError('`match` must return true or false; it cannot be async')
}
