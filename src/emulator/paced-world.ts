import type { Clock, Timer } from '../base/clock.ts'
import type { World } from './world/world.ts'

/** Progress of creating or catching up a world, in world time. */
export type OnProgress = (at: number, until: number) => void

/** Tasks that run at once, before a read or a turn of the event loop: about 10 ms of work. */
const stepsAtOnce = 200

/**
 * A world that follows a clock: commands are applied at its present, and tasks run when they are due on it. `advanceTo`
 * is bounded: readers of a world that lags far behind its clock see the moment it has reached.
 */
export function createPacedWorld(world: World, clock: Clock) {
  let isBusy = false
  let isRunning = false
  let timer: Timer | undefined

  /** Listeners of an event may call back into the world: no further step starts until the present one is done. */
  function exclusively<T>(fn: () => T): T {
    const wasBusy = isBusy
    isBusy = true
    try {
      return fn()
    } finally {
      isBusy = wasBusy
    }
  }

  /** Runs some of the tasks that are due up to `at`. False if more are due. */
  function step(at: number): boolean {
    if (isBusy) return false
    for (let remaining = stepsAtOnce; remaining > 0; remaining--) {
      const nextAt = world.nextAt() ?? Infinity
      exclusively(() => world.advanceTo(Math.min(nextAt, at)))
      if (nextAt > at) return true
    }
    return false
  }

  /** Sets the timer for the next task. */
  function setTimer(): void {
    timer?.cancel()
    const nextAt = isRunning ? world.nextAt() : null
    timer = nextAt === null ? undefined : clock.after(Math.max(0, nextAt - clock.now()), onTimer)
  }

  function onTimer(): void {
    try {
      step(clock.now())
    } finally {
      setTimer()
    }
  }

  const paced: World = {
    ...world,
    advanceTo: (at) => void step(at),
    commands: {
      apply(command) {
        step(clock.now())
        try {
          return exclusively(() => world.commands.apply(command))
        } finally {
          setTimer()
        }
      },
    },
    restore(snapshot) {
      world.restore(snapshot)
      setTimer()
    },
  }
  return {
    ...paced,
    /** Brings the world to the present of its clock, which may move. Yields to the event loop. */
    async catchUp(onProgress?: OnProgress): Promise<void> {
      while (!step(clock.now())) {
        onProgress?.(world.now(), clock.now())
        await new Promise((resolve) => setImmediate(resolve))
      }
      setTimer()
    },
    /** Starts running tasks as the clock reaches them. Errors are thrown to the clock. */
    start() {
      isRunning = true
      setTimer()
    },
    /** Idempotent. */
    stop() {
      isRunning = false
      setTimer()
    },
  }
}
