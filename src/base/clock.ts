export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

/** A started timer. `cancel` is idempotent. */
export interface Timer {
  cancel(): void
}

/** Time and randomness, injected so that whole systems run under a test clock. */
export interface Clock {
  /** Milliseconds since 1970 (UTC). */
  now(): number
  /** Calls `fn` once after `ms` milliseconds. A pending timer does not keep the process alive. */
  after(ms: number, fn: () => void): Timer
  /** A number in [0, 1). */
  random(): number
}

/** Maximum delay of setTimeout: a longer one would fire at once. */
export const maxTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.min(Math.max(0, ms), maxTimerMs))
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
}

/** A clock that only moves on request. */
export interface TestClock extends Clock {
  /** Advances time by `ms` and fires due timers in order. Between timers, pending promises and in-memory commits settle. */
  advance(ms: number): Promise<void>
  /** Time of the next timer; null if there is none. */
  nextTimerAt(): number | null
}

const settleTurns = 10

/** A test clock that starts at `startAt` and draws random numbers from a small seeded generator. */
export function createTestClock(startAt = Date.UTC(2026, 0, 1), seed = 1): TestClock {
  let now = startAt
  let state = seed >>> 0
  const timers: { at: number; fn: () => void; order: number }[] = []
  let order = 0

  /** An in-memory commit takes two turns of the event loop. A timer may cause several commits. */
  async function settlePromises() {
    for (let turn = 0; turn < settleTurns; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const next = () =>
    timers.reduce<(typeof timers)[number] | undefined>(
      (best, t) => (!best || t.at < best.at || (t.at === best.at && t.order < best.order) ? t : best),
      undefined,
    )

  return {
    // Timers may be due at a fraction of a millisecond; the clock returns whole milliseconds.
    now: () => Math.floor(now),
    after(ms, fn) {
      const timer = { at: now + Math.max(0, ms), fn, order: order++ }
      timers.push(timer)
      return {
        cancel() {
          const index = timers.indexOf(timer)
          if (index >= 0) timers.splice(index, 1)
        },
      }
    },
    random() {
      // mulberry32
      state = (state + 0x6d2b79f5) >>> 0
      let t = state
      t = Math.imul(t ^ (t >>> 15), t | 1)
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
    },
    async advance(ms) {
      const until = now + ms
      await settlePromises()
      for (let timer = next(); timer && timer.at <= until; timer = next()) {
        timers.splice(timers.indexOf(timer), 1)
        now = timer.at
        timer.fn()
        await settlePromises()
      }
      now = until
      await settlePromises()
    },
    nextTimerAt: () => next()?.at ?? null,
  }
}
