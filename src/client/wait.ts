import type { Clock } from '../base/clock.ts'

/** A signal that is aborted when one of `signals` is, with its reason. */
export function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined))
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

/** The system's clock, with timers that keep the process alive: a script must not end while it waits for its turn. */
export const waitingClock: Clock = {
  now: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.max(0, ms))
    return { cancel: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
}
