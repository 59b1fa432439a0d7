import type { MessagePort } from 'node:worker_threads'
import type { Secret } from '../signature/keys.ts'
import type { ApiAccess } from './api.ts'
import type { RetryOptions } from './define.ts'
import type { OpenBreaker } from './circuit-breaker.ts'
import type { Dispatcher, UnfinishedAttempt } from './dispatcher.ts'
import type { KnownSinks } from './outbox.ts'
import type { SettledCount } from './pace.ts'
import type { HandlerLocations, Selection } from './handler-locations.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/*
 * Messages between the main thread (`HandlerThread`) and a thread of handlers (`runner-thread.ts`):
 *
 *   main → runner                     runner → main
 *   RunnerData (start of the thread)  importing …, then loaded or refused
 *   start                             settled, breaker …, stuck, idle
 *   RunnerOrder …
 *   stop                              stopped, with the attempts whose handlers still run
 *
 * Runs don't go through the main thread: the runner calls the store over `dispatchPort`. What the main thread must know while the runner is
 * blocked is in shared memory: `Pulse` and `InFlightRuns`.
 */

/** Time limits and intervals of threads, in milliseconds. */
export const runnerTiming = Object.freeze({
  /** Maximum time to load the handlers of a folder. */
  startMs: 30_000,
  /** Time from a handler's timeout until its thread is replaced. */
  overrunGraceMs: 5_000,
  /** A thread blocked for this much longer than its handlers may run is replaced. */
  blockedGraceMs: 5_000,
  /** A thread blocked for this long causes a warning that names the handler. */
  blockedWarnMs: 1_000,
  /** A thread that takes longer than this to end is stuck in a native call. */
  endMs: 1_000,
  /** Interval of checks for changed files, with `watch`. */
  pollMs: 250,
  /** Interval of checks for blocked threads and memory use. */
  watchMs: 500,
  /** Time from the abort at a stop until handlers must have ended. */
  abortGraceMs: 500,
  /** Delay between the end of a thread and the start of the next. Doubles up to the maximum while starting fails. */
  restartDelayMs: 250,
  maxRestartDelayMs: 5_000,
  /** A thread for suspects ends after this long without any. */
  suspectIdleMs: 5_000,
})

export type RunnerTiming = { readonly [Name in keyof typeof runnerTiming]: number }

/** Start data of a runner thread. */
export interface RunnerData {
  readonly locations: HandlerLocations
  /** The handlers that this thread loads. */
  readonly selection: Selection
  /** Webhook secrets that bundled sinks sign with. */
  readonly secrets: readonly Secret[]
  /** Undefined: no access to the upstream REST API. */
  readonly api?: ApiAccess | undefined
  /** Maximum number of concurrent runs per thread. */
  readonly concurrency: number
  readonly owner: string
  readonly suspects: boolean
  readonly overrunGraceMs: number
  readonly suspectIdleMs: number
  readonly logLevel: string
  readonly prettyLog: boolean
  /** True: log lines go to the thread's standard output, because the caller captures that. */
  readonly logsToOutput: boolean
  /** Port to the main thread. Not `parentPort`: handler code could post to that. */
  readonly mainPort: MessagePort
  readonly dispatchPort: MessagePort
  /** Shared with the thread that watches this one: see `Pulse`. */
  readonly pulse: SharedArrayBuffer
}

/** A handler without its code, for the main thread. */
export interface HandlerInfo extends Omit<
  ResolvedHandler,
  'run' | 'match' | 'retry' | 'onConcurrency' | 'breaker' | 'close'
> {
  /** Null: a retry function decides. */
  readonly retry: Readonly<Required<RetryOptions>> | null
}

export function toHandlerInfo(handler: ResolvedHandler): HandlerInfo {
  const {
    run: _run,
    match: _match,
    onConcurrency: _onConcurrency,
    breaker: _breaker,
    close: _close,
    retry,
    ...info
  } = handler
  return { ...info, retry: typeof retry === 'function' ? null : retry }
}

/** Start data beyond the thread's own handlers. */
export interface StartData {
  /** Concurrency by handler, where an operator set one. */
  readonly concurrencies: Readonly<Record<string, number>>
  /** Number of processes that share the rates of handlers. */
  readonly processes: number
  /** The sinks of all threads. */
  readonly sinks: KnownSinks
}

export type ToRunner =
  | ({ readonly kind: 'start' } & StartData)
  | { readonly kind: 'stop'; readonly graceMs: number; readonly abortGraceMs: number }
  | RunnerOrder

/** A change for running threads. */
export type RunnerOrder =
  /** Runs can enqueue to these sinks. */
  | { readonly kind: 'sinks'; readonly sinks: KnownSinks }
  /** Bundled sinks sign with these secrets. */
  | { readonly kind: 'secrets'; readonly secrets: readonly Secret[] }
  /** Send one item of a sink whose breaker is open. */
  | { readonly kind: 'try'; readonly handler: string }
  | DispatchOrder

/** A change for dispatchers. */
export type DispatchOrder =
  /** Concurrency of a handler; null: its own. */
  | { readonly kind: 'concurrency'; readonly handler: string; readonly concurrency: number | null }
  /** Number of processes that share the rates of handlers. */
  | { readonly kind: 'share'; readonly processes: number }
  /** Release runs that have not started, of one handler or (null) of all. */
  | { readonly kind: 'recall'; readonly handler: string | null }

export function applyOrder(dispatcher: Dispatcher, order: DispatchOrder): void {
  if (order.kind === 'concurrency') dispatcher.setConcurrency(order.handler, order.concurrency)
  else if (order.kind === 'share') dispatcher.shareRates(order.processes)
  else void dispatcher.recall(order.handler)
}

export type FromRunner =
  /** Everything is loaded; the thread waits for `start`. */
  | { readonly kind: 'loaded'; readonly handlers: readonly HandlerInfo[]; readonly inFlightRuns: SharedArrayBuffer }
  /** A user file is about to be read, or is missing. */
  | { readonly kind: 'importing'; readonly file: string; readonly stamp: string }
  | { readonly kind: 'refused'; readonly error: { readonly code: string; readonly message: string } }
  | { readonly kind: 'settled'; readonly counts: readonly SettledCount[] }
  /** A breaker opened, closed or changed; null: sending resumed. */
  | { readonly kind: 'breaker'; readonly handler: string; readonly open: OpenBreaker | null }
  /** A handler ignores its timeout. Only the end of this thread can end it. */
  | { readonly kind: 'stuck'; readonly handler: string }
  /** A thread for suspects had none for a while. */
  | { readonly kind: 'idle' }
  /** Only handlers that ignore their signal still run. Store their outcomes when this thread has ended. */
  | { readonly kind: 'stopped'; readonly unfinished: readonly UnfinishedAttempt[] }
