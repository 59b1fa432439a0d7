import type { Clock } from '../clock.ts'

/** One signal of several, for as long as it is needed. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal
  readonly abort: (reason: unknown) => void
}

/**
 * A signal that is aborted when one of `signals` is, with its reason. Disposing it takes its listeners away again: signals may
 * live much longer than a call.
 */
export function linkSignals(signals: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController()
  const given = signals.filter((signal) => signal !== undefined)
  const listeners = given.map((signal) => ({ signal, listener: () => controller.abort(signal.reason) }))
  for (const { signal, listener } of listeners) {
    if (signal.aborted) listener()
    else signal.addEventListener('abort', listener)
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]() {
      for (const { signal, listener } of listeners) signal.removeEventListener('abort', listener)
    },
  }
}

/** Resolves with `promise`, unless the signal is aborted before: then it rejects with its reason. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const listener = () => aborted.reject(signal.reason)
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener)
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', listener)
  }
}

/** Resolves `ms` milliseconds later, or rejects with the reason of the signal. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = clock.after(ms, over.resolve)
  try {
    await orAborted(over.promise, signal)
  } finally {
    timer.cancel()
  }
}

/** The clock of the system, with timers that keep the process alive: a script that only waits for its turn must not end. */
export const waitingClock: Clock = {
  now: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.max(0, ms))
    return { cancel: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
}
