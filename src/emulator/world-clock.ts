import type { Clock } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { addDue, takeDue, type Due } from './sorted-list.ts'

export const clockModes = ['real', 'scaled', 'manual'] as const
/** `real`: as fast as the wall clock. `scaled`: `speed` times as fast. `manual`: stands still until it is advanced. */
export type ClockMode = (typeof clockModes)[number]

export interface ClockState {
  readonly mode: ClockMode
  /** 1 in mode `real`, 0 in mode `manual`. */
  readonly speed: number
  /** Milliseconds since 1970 of world time. */
  readonly now: number
}

export interface WorldClockOptions {
  /** What drives it in the modes `real` and `scaled`. */
  readonly base: Clock
  readonly mode: ClockMode
  /** Of mode `scaled`. Default 1. */
  readonly speed?: number
  /** The moment it begins at. */
  readonly startAt: number
  /** Awaited before time moves on while the clock is advanced; undefined = nothing to wait for. */
  readonly settle?: () => Promise<void> | undefined
  /** Where a clock stands that is made manual at `at`: there, or earlier if the world could not keep up. Default: there. */
  readonly standAt?: (at: number) => number
  /** Gets what a timer threw, unless the clock was advanced: then whoever advances it gets it. Default: it is thrown. */
  readonly onError?: (error: unknown) => void
}

/**
 * The clock of the world, apart from the wall clock (A43, A54). It never goes back, but by `moveTo`, and by `set` to where a
 * world is that could not keep up.
 */
export interface WorldClock extends Clock {
  state(): ClockState
  /** Changes whenever the clock is set or moved: what was begun before belongs to another course of time. */
  epoch(): number
  /** Changes mode and speed from the present moment on. `speed` is needed in mode `scaled` only. */
  set(mode: ClockMode, speed?: number): void
  /**
   * Moves a manual clock on by `ms`, firing due timers in order, and waits for what they began. Calls follow one another.
   * Throws `bad_request` in any other mode, and as soon as the clock is set or moved meanwhile.
   */
  advance(ms: number): Promise<void>
  /** Begins anew at another moment, be it an earlier one. Timers that are armed stay due when they were. */
  moveTo(at: number): void
}

interface ArmedTimer extends Due {
  readonly fn: () => void
}

export function createWorldClock(options: WorldClockOptions): WorldClock {
  const { base, settle = () => undefined, standAt = (at) => at, onError = rethrow } = options
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
    // A wall clock that was set back does not take the world back with it.
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

  /** Fires what is due, each timer that it arms anew in its turn. */
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
    refuseOther(begunIn)
    if (mode !== 'manual') {
      throw new InboxError('bad_request', `the clock is ${mode}; make it manual to advance it`)
    }
    const until = anchor + ms
    await settle()
    refuseOther(begunIn)
    for (let dueAt = nextDueAt(); dueAt !== null && dueAt <= until; dueAt = nextDueAt()) {
      anchorTo(Math.max(anchor, dueAt))
      takeDue(timers, dueAt)?.fn()
      const settled = settle()
      if (settled !== undefined) await settled
      refuseOther(begunIn)
    }
    anchorTo(Math.max(anchor, until))
  }

  function refuseOther(begunIn: number): void {
    if (epoch !== begunIn) throw advanceEnded()
  }

  return {
    now,
    after(ms, fn) {
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
    state: () => ({ mode, speed, now: now() }),
    epoch: () => epoch,
    set(newMode, newSpeed) {
      const at = now()
      const standsAt = newMode === 'manual' ? Math.min(at, standAt(at)) : at
      epoch++
      anchorTo(standsAt)
      mode = newMode
      speed = speedOf(newMode, newSpeed)
      arm()
    },
    advance(ms) {
      const begunIn = epoch
      const advanced = advancing.then(() => advanceBy(ms, begunIn))
      advancing = advanced.catch(() => {})
      return advanced
    },
    moveTo(at) {
      epoch++
      anchorTo(at)
      arm()
    },
  }
}

/** What an advance is ended with when somebody sets the clock, or puts the world back, before it is done. */
export function advanceEnded(): InboxError {
  return new InboxError(
    'bad_request',
    'the clock was set, or the world put back or stopped, before the advance was done; ask where it is, and advance it anew',
  )
}

function rethrow(error: unknown): never {
  throw error
}

function speedOf(mode: ClockMode, speed = 1): number {
  if (mode === 'scaled') return speed
  return mode === 'real' ? 1 : 0
}
