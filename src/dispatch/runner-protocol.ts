import type { MessagePort } from 'node:worker_threads'
import { Histogram, type HistogramData } from '../base/histogram.ts'
import type { Lease, Outcome } from '../inbox/port.ts'
import type { Secret } from '../signature/keys.ts'
import type { ApiAccess } from './api.ts'
import type { RetryOptions } from './define.ts'
import type { AttemptResult } from './dispatcher.ts'
import type { AttemptName } from './run-error.ts'
import type { Shut } from './gate.ts'
import type { SinkInfo } from './outbox.ts'
import type { HandlerSources, Selection } from './sources.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** How long things may take, in milliseconds. */
export const runnerTiming = Object.freeze({
  /** For the handlers of a folder to be loaded. */
  startMs: 30_000,
  /** For a handler to end after its timeout, before its thread is replaced. */
  overrunGraceMs: 5_000,
  /** A thread blocked for this much longer than its handlers may run is replaced. */
  blockedGraceMs: 5_000,
  /** A thread blocked for so long is worth a warning that names the handler. */
  blockedWarnMs: 1_000,
  /** A thread that takes longer than this to end is stuck in a native call. */
  endMs: 1_000,
  /** How often it is looked at whether files have changed, with `watch`. */
  lookMs: 250,
  /** How often threads are checked for a blockage, and for the memory they use. */
  watchMs: 500,
  /** For handlers to end after a stop aborted them. */
  abortGraceMs: 500,
  /** From the end of a thread to the start of the next; doubled up to the longest while none can be started. */
  restartDelayMs: 250,
  longestRestartDelayMs: 5_000,
  /** A thread for suspects ends when there were none for so long. */
  suspectIdleMs: 5_000,
})

export type RunnerTiming = { readonly [Name in keyof typeof runnerTiming]: number }

/** What a runner thread is started with. */
export interface RunnerData {
  readonly sources: HandlerSources
  /** What of them it loads. */
  readonly selection: Selection
  /** What bundled sinks sign with, where there are such. */
  readonly secrets: readonly Secret[]
  /** Where there is access to the REST service. */
  readonly api?: ApiAccess | undefined
  readonly concurrency: number
  readonly owner: string
  readonly suspects: boolean
  readonly overrunGraceMs: number
  readonly suspectIdleMs: number
  readonly logLevel: string
  readonly prettyLog: boolean
  /** Whether log lines go where goes what handlers print, because somebody takes that. */
  readonly logsToOutput: boolean
  /** Port to the main thread. Handler code could post to `parentPort`, so that is not used. */
  readonly mainPort: MessagePort
  readonly dispatchPort: MessagePort
  /** Shared with the thread that watches this one: see `Pulse`. */
  readonly pulse: SharedArrayBuffer
}

/** A handler as told to the main thread: everything but its code. */
export interface HandlerInfo extends Omit<
  ResolvedHandler,
  'run' | 'match' | 'retry' | 'onConcurrency' | 'gate' | 'close'
> {
  /** Null: a function decides. */
  readonly retry: Readonly<Required<RetryOptions>> | null
}

export function toHandlerInfo(handler: ResolvedHandler): HandlerInfo {
  const { run: _run, match: _match, onConcurrency: _told, gate: _gate, close: _close, retry, ...info } = handler
  return { ...info, retry: typeof retry === 'function' ? null : retry }
}

/** How often a handler's attempts ended how, since the last report. */
export interface SettledCount {
  readonly handler: string
  readonly kind: AttemptResult
  readonly count: number
  readonly durations: HistogramData
}

/** Counts attempts that ended, to be reported together. */
export class SettledCounter {
  #counts = new Map<string, SettledCount & { count: number; readonly durations: Histogram }>()

  add(handler: string, kind: AttemptResult, durationMs: number): void {
    const name = `${kind} ${handler}`
    const entry = this.#counts.get(name) ?? { handler, kind, count: 0, durations: new Histogram() }
    entry.count++
    entry.durations.observe(durationMs)
    this.#counts.set(name, entry)
  }

  /** Everything counted since the last call. */
  take(): SettledCount[] {
    const taken = [...this.#counts.values()]
    this.#counts = new Map()
    return taken
  }
}

export type FromRunner =
  /** All is loaded; it waits for `start`. */
  | { readonly kind: 'loaded'; readonly handlers: readonly HandlerInfo[]; readonly atWork: SharedArrayBuffer }
  /** A file of the user's is about to be read, or was looked for in vain. */
  | { readonly kind: 'importing'; readonly file: string; readonly stamp: string }
  | { readonly kind: 'refused'; readonly error: { readonly code: string; readonly message: string } }
  | { readonly kind: 'settled'; readonly counts: readonly SettledCount[] }
  /** A sink is left alone, for another time or reason than before; null: it is not any more. */
  | { readonly kind: 'gate'; readonly handler: string; readonly shut: Shut | null }
  /** A handler ignores its timeout: only the end of this thread can end it. */
  | { readonly kind: 'stuck'; readonly handler: string }
  /** A dispatcher for suspects found none for a while. */
  | { readonly kind: 'idle' }
  /** Nothing goes on but handlers that heed no signal: what became of their runs is to be stored when this thread has ended. */
  | { readonly kind: 'stopped'; readonly leftovers: Leftovers }

export interface OverdueAttempt extends AttemptName {
  readonly outcome: Outcome
}

export interface Leftovers {
  /** To be settled. */
  readonly overdue: readonly OverdueAttempt[]
  /** To be released. */
  readonly interrupted: readonly Pick<Lease, 'runId' | 'token'>[]
}

/** What a thread needs to know beside its own handlers. */
export interface StartOrders {
  /** How many runs of a handler may run at once, where somebody set that. */
  readonly concurrencies: Readonly<Record<string, number>>
  /** How many processes share what handlers may do per second. */
  readonly processes: number
  /** All there are, whichever thread they are in. */
  readonly sinks: readonly SinkInfo[]
}

export type ToRunner =
  | ({ readonly kind: 'start' } & StartOrders)
  | { readonly kind: 'stop'; readonly graceMs: number; readonly abortGraceMs: number }
  | RunnerOrder

/** A change for threads that run. */
export type RunnerOrder =
  /** Its runs can leave something for these. */
  | { readonly kind: 'sinks'; readonly sinks: readonly SinkInfo[] }
  /** Bundled sinks sign with these. */
  | { readonly kind: 'secrets'; readonly secrets: readonly Secret[] }
  /** The limit of runs in flight of a handler; null: its own. */
  | { readonly kind: 'concurrency'; readonly handler: string; readonly concurrency: number | null }
  /** So many processes share what handlers may do per second. */
  | { readonly kind: 'share'; readonly processes: number }
  /** Gives back what has not started, of one handler or, with null, of all. */
  | { readonly kind: 'recall'; readonly handler: string | null }
