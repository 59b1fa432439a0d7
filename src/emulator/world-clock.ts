import type { Clock, Timer } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { addDue, takeDue, type Due } from './sorted-list.ts'

export const clockModes = ['real', 'scaled', 'manual'] as const
/** `real`: wall-clock speed. `scaled`: `speed` times as fast. `manual`: stands still until advanced. */
export type ClockMode = (typeof clockModes)[number]

export interface WorldClockOptions {
  /** Drives the modes `real` and `scaled`. */
  readonly base: Clock
  readonly mode: ClockMode
  /** For mode `scaled`. Default 1. */
  readonly speed?: number
  /** Initial world time, ms since 1970. */
  readonly startAt: number
  /** Awaited between two steps of an advance; undefined = nothing to wait for. */
  readonly settle?: () => Promise<void> | undefined
  /** Called when the mode becomes manual at `at`. Returns where the clock stops: `at`, or earlier if the world lags. Default: `at`. */
  readonly stopAt?: (at: number) => number
  /** Receives errors of timers, except during `advance`, which throws them. Default: rethrow. */
  readonly onError?: (error: unknown) => void
}

interface ArmedTimer extends Due {
  readonly fn: () => void
}

export type WorldClock = ReturnType<typeof createWorldClock>

/** The world clock, independent of the wall clock (A43, A54). It goes back only by `moveTo`, and by `set` to manual while the world lags. */
export function createWorldClock(options: WorldClockOptions) {
  const { base, settle = () => undefined, stopAt = (at) => at, onError = rethrow } = options
  const timers: ArmedTimer[] = []
  let armed = 0
  let { mode, startAt: anchor } = options
  let speed = speedOf(mode, options.speed)
  let anchorBase = base.now()
  let last = { base: anchorBase, at: anchor }
  let baseTimer: ReturnType<Clock['after']> | undefined
  let advancing: Promise<void> = Promise.resolve()
  let epoch = 0

  const now = () => {
    const baseNow = base.now()
    // If the wall clock is set back, world time continues from its last value.
    if (baseNow < last.base) anchorTo(last.at)
    last = { base: baseNow, at: Math.floor(anchor + (baseNow - anchorBase) * speed) }
    return last.at
  }

  function anchorTo(at: number): void {
    anchor = at
    anchorBase = base.now()
    last = { base: anchorBase, at }
  }

  const nextDueAt = () => {
    return timers[0]?.at ?? null
  }

  /** Fires due timers in order, including timers armed in the meantime. */
  const fireDue = () => {
    const until = now()
    try {
      for (let timer = takeDue(timers, until); timer; timer = takeDue(timers, Math.min(until, now()))) fire(timer)
    } finally {
      arm()
    }
  }

  const fire = (timer: ArmedTimer) => {
    try {
      timer.fn()
    } catch (error) {
      onError(error)
    }
  }

  const arm = () => {
    baseTimer?.cancel()
    const dueAt = nextDueAt()
    baseTimer = dueAt === null || speed === 0 ? undefined : base.after(Math.max(0, (dueAt - now()) / speed), fireDue)
  }

  async function advanceBy(ms: number, begunIn: number): Promise<void> {
    expectEpoch(begunIn)
    if (mode !== 'manual') {
      throw new InboxError(
        'bad_request',
        `advance needs a manual clock (mode is ${mode}); start the emulator with --manual-clock, or set the mode to manual`,
      )
    }
    const until = anchor + ms
    await settle()
    expectEpoch(begunIn)
    for (let dueAt = nextDueAt(); dueAt !== null && dueAt <= until; dueAt = nextDueAt()) {
      anchorTo(Math.max(anchor, dueAt))
      takeDue(timers, dueAt)?.fn()
      const settled = settle()
      if (settled !== undefined) await settled
      expectEpoch(begunIn)
    }
    anchorTo(Math.max(anchor, until))
  }

  function expectEpoch(begunIn: number): void {
    if (epoch !== begunIn) throw advanceEnded()
  }

  return {
    now,
    after(ms: number, fn: () => void): Timer {
      const timer = { at: Math.ceil(now() + Math.max(0, ms)), priority: 0, order: armed++, fn }
      addDue(timers, timer)
      if (timers[0] === timer) arm()
      return {
        cancel() {
          const index = timers.indexOf(timer)
          if (index >= 0) timers.splice(index, 1)
          if (index === 0) arm()
        },
      }
    },
    random: () => base.random(),
    /** `speed`: 1 in mode `real`, 0 in mode `manual`. `now`: milliseconds since 1970 of world time. */
    state: () => ({ mode, speed, now: now() }),
    /** Increases when the clock is set or moved. Callers compare it to detect that their work is stale. */
    epoch: () => epoch,
    /** Sets mode and speed from now on. `speed` is required for mode `scaled` only. */
    set(newMode: ClockMode, newSpeed?: number): void {
      const at = now()
      const stoppedAt = newMode === 'manual' ? Math.min(at, stopAt(at)) : at
      epoch++
      anchorTo(stoppedAt)
      mode = newMode
      speed = speedOf(newMode, newSpeed)
      arm()
    },
    /**
     * Advances a manual clock by `ms`: fires due timers in order and waits for the work they start. Calls are queued.
     * Throws `bad_request` in another mode, or if the clock is set or moved during the call.
     */
    advance(ms: number): Promise<void> {
      const begunIn = epoch
      const advanced = advancing.then(() => advanceBy(ms, begunIn))
      advancing = advanced.catch(() => {})
      return advanced
    },
    /** Jumps to a moment, even an earlier one. Armed timers keep their due times. */
    moveTo(at: number): void {
      epoch++
      anchorTo(at)
      arm()
    },
  }
}

/** Error of an advance that a `set`, restore or stop interrupts. */
export function advanceEnded(): InboxError {
  return new InboxError(
    'bad_request',
    'the clock was set, or the world restored or stopped, during the advance; read the clock and advance again',
  )
}

function rethrow(error: unknown): never {
  throw error
}

function speedOf(mode: ClockMode, speed = 1): number {
  if (mode === 'scaled') return speed
  return mode === 'real' ? 1 : 0
}
