import { type CommandResult, type WorldCommand, WorldRefusal } from './world/port.ts'
import type { World } from './world/world.ts'
import type { AccountsState } from './accounts/accounts.ts'
import type { Clock, Timer } from '../base/clock.ts'

/** Durable log of commands and of the moments that readers may have seen. */
export interface WorldLog {
  /** Makes a command durable together with the accounts. */
  append(at: number, command: WorldCommand, accounts?: AccountsState): void
  /** Records that readers may have seen the world as of `at`. */
  reach(at: number): void
}

export interface LoggedWorldOptions {
  readonly world: World
  readonly log: WorldLog
  /** The world clock: commands are applied at its present, and tasks run when they are due on it. */
  readonly clock: Clock
  /** Times the retry after a failure. */
  readonly wall: Clock
}

/** Progress of creating or catching up a world, in world time. */
export type OnProgress = (at: number, until: number) => void

/** Tasks that run at once, before a read or a turn of the event loop: about 10 ms of work. */
const stepsAtOnce = 200
/** Delay after a failure, for example with a full disk. */
const retryMs = 5_000

/**
 * A world whose commands are logged before they are applied, so that a killed process loses nothing it has confirmed:
 * the same commands at the same moments give the same world. `advanceTo` is bounded: readers of a world that lags far
 * behind its clock see the moment it has reached.
 */
export function createLoggedWorld({ world, log, clock, wall }: LoggedWorldOptions) {
  let isBusy = false
  let isRunning = false
  let timer: Timer | undefined
  let retry: Timer | undefined

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

  /** Records a moment, then advances the world to it: readers never see an unrecorded moment. */
  function reach(at: number): void {
    log.reach(at)
    exclusively(() => world.advanceTo(at))
  }

  /** Runs some of the tasks that are due up to `at`. False if more are due. */
  function step(at: number): boolean {
    if (isBusy) return false
    for (let remaining = stepsAtOnce; remaining > 0; remaining--) {
      const nextAt = world.nextAt()
      if (nextAt === null || nextAt > at) {
        reach(at)
        return true
      }
      reach(nextAt)
    }
    return false
  }

  function execute(command: WorldCommand, accounts?: AccountsState): CommandResult {
    step(clock.now())
    log.append(world.now(), command, accounts)
    try {
      return exclusively(() => world.commands.apply(command))
    } finally {
      setTimer()
    }
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
    } catch (error) {
      retry?.cancel()
      retry = wall.after(retryMs, setTimer)
      throw error
    }
    setTimer()
  }

  /** Runs tasks until a moment, which may move. */
  async function advanceInSteps(until: () => number, onProgress?: OnProgress): Promise<void> {
    while (!step(until())) {
      onProgress?.(world.now(), until())
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  const logged: World = {
    ...world,
    advanceTo: (at) => void step(at),
    commands: { apply: (command) => execute(command) },
    restore(snapshot) {
      world.restore(snapshot)
      setTimer()
    },
  }
  return {
    ...logged,
    /** Makes a command durable together with the accounts, and applies it. Throws `WorldRefusal`; the world hasn't changed then. */
    execute,
    /** Applies commands of the log again at their moments, without logging them. Yields to the event loop. */
    async replay(
      commands: readonly { readonly at: number; readonly command: WorldCommand }[],
      onProgress?: OnProgress,
    ): Promise<void> {
      for (const { at, command } of commands) {
        await advanceInSteps(() => at, onProgress)
        try {
          world.commands.apply(command)
        } catch (error) {
          // The world refused it the first time too.
          if (!(error instanceof WorldRefusal)) throw error
        }
      }
    },
    /** Brings the world to the present of its clock. Yields to the event loop. */
    async catchUp(onProgress?: OnProgress): Promise<void> {
      await advanceInSteps(() => clock.now(), onProgress)
      setTimer()
    },
    /** Starts running tasks as the clock reaches them. Errors are thrown to the clock, and the tasks are retried. */
    start() {
      isRunning = true
      setTimer()
    },
    /** Idempotent. */
    stop() {
      isRunning = false
      retry?.cancel()
      setTimer()
    },
  }
}
