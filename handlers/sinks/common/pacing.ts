import { setTimeout as delay } from 'node:timers/promises'

/** Time as pacing needs it. */
export interface Timing {
  /** Milliseconds, from any moment on, never back. */
  now(): number
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemTiming: Timing = {
  now: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
}

/** So many messages within so many milliseconds. */
export interface Limit {
  readonly count: number
  readonly ms: number
}

export interface Pacer {
  /** Milliseconds until a message may be sent; 0: now. */
  waitMs(): number
  /** A message has been sent. */
  sent(): void
  /** Nothing for so long. */
  hold(ms: number): void
}

/** Keeps to several limits at once, over any stretch of time. */
export function createPacer(limits: readonly Limit[], { now }: Pick<Timing, 'now'>): Pacer {
  const remembered = Math.max(...limits.map(({ count }) => count))
  const sentAt: number[] = []
  let heldUntil = -Infinity
  return {
    waitMs() {
      const free = limits.map(({ count, ms }) => (sentAt.at(-count) ?? -Infinity) + ms)
      return Math.max(0, Math.ceil(Math.max(heldUntil, ...free) - now()))
    },
    sent() {
      sentAt.push(now())
      if (sentAt.length > remembered) sentAt.shift()
    },
    hold(ms) {
      heldUntil = Math.max(heldUntil, now() + ms)
    },
  }
}
