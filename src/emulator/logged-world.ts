import { type World, type WorldCommand, WorldRefusal } from './world/port.ts'
import type { AccountsState, AccountsChange } from './accounts/port.ts'
import type { Clock, Timer } from '../base/clock.ts'

/** Durable log of commands and of the moments that readers may have seen. */
export interface WorldLog {
  /** Makes a command durable together with the accounts; returns its number. */
  append(at: number, command: WorldCommand, accounts?: AccountsState): number
  /** Removes a command that the world refused. */
  drop(id: number, accounts?: AccountsState): void
  /** Records that readers may have seen the world as of `at`. */
  reach(at: number): void
}

export interface LoggedWorldOptions {
  readonly world: World
  /** Default: nothing is logged. */
  readonly log?: WorldLog
  /** The moment at which commands are applied. */
  readonly now: () => number
  /** Called after commands and restores: either may change when the next task is due. */
  readonly onChange?: () => void
}

export interface LoggedWorld extends World {
  /**
   * Applies a command and makes it durable with its change of accounts. Throws `WorldRefusal`; then nothing has
   * changed.
   */
  execute(command: WorldCommand, change?: AccountsChange): Readonly<Record<string, unknown>>
  /** Runs at most `steps` tasks that are due up to `at`. False if more are due. */
  step(at: number, steps: number): boolean
}

/** Tasks that a request may run before it reads: about 10 ms of work. */
const stepsPerRead = 200

/**
 * A world whose commands are logged before they are applied, so that a killed process loses nothing it has confirmed:
 * the same commands at the same moments give the same world. `advanceTo` is bounded: readers of a world that lags far
 * behind its clock see the moment it has reached.
 */
export function createLoggedWorld({ world, log, now, onChange = () => {} }: LoggedWorldOptions): LoggedWorld {
  let isBusy = false

  /** Listeners of an event may call back into the world: no further step starts until the present one is done. */
  function alone<T>(fn: () => T): T {
    isBusy = true
    try {
      return fn()
    } finally {
      isBusy = false
    }
  }

  /** Records each moment before anyone can see it, and none far ahead of it. */
  function reach(at: number): void {
    log?.reach(at)
    alone(() => world.advanceTo(at))
  }

  function step(at: number, steps: number): boolean {
    if (isBusy) return false
    for (let left = steps; left > 0; left--) {
      const nextAt = world.nextAt()
      if (nextAt === null || nextAt > at) {
        reach(at)
        return true
      }
      reach(nextAt)
    }
    return false
  }

  function execute(command: WorldCommand, change?: AccountsChange): Readonly<Record<string, unknown>> {
    step(now(), stepsPerRead)
    const id = log?.append(world.now(), command, change?.after)
    try {
      return isBusy ? world.acts.apply(command) : alone(() => world.acts.apply(command))
    } catch (error) {
      if (id !== undefined && error instanceof WorldRefusal) log?.drop(id, change?.before)
      throw error
    } finally {
      onChange()
    }
  }

  return {
    ...world,
    advanceTo: (at) => void step(at, stepsPerRead),
    acts: { apply: (command) => execute(command) },
    restore(snapshot) {
      world.restore(snapshot)
      onChange()
    },
    execute,
    step,
  }
}

/** Tasks per turn of the event loop: about 10 ms of work. */
const stepsPerTurn = 200
/** Delay after a failed turn, for example with a full disk. */
const retryMs = 5_000

interface WorldDriver {
  /** Starts running tasks as the clock reaches them. */
  start(): void
  /** Call it when a task may be due earlier than before. */
  changed(): void
  /** Brings the world to the present of its clock and yields to the event loop in between. */
  catchUp(onProgress?: OnProgress): Promise<void>
  /** Idempotent. */
  stop(): void
}

interface WorldDriverOptions {
  readonly world: Pick<LoggedWorld, 'now' | 'nextAt' | 'step'>
  readonly clock: Clock
  /** Times the retry after a failed turn. */
  readonly wall: Clock
}

/**
 * Runs the world's tasks when they are due on its clock, with one timer. An error is thrown to the clock, and the turn
 * is retried.
 */
export function createWorldDriver({ world, clock, wall }: WorldDriverOptions): WorldDriver {
  let isRunning = false
  let timer: Timer | undefined
  let retry: Timer | undefined
  let timerAt: number | null = null

  function turn(): void {
    timerAt = null
    try {
      world.step(clock.now(), stepsPerTurn)
    } catch (error) {
      retry?.cancel()
      retry = wall.after(retryMs, arm)
      throw error
    }
    arm()
  }

  function arm(): void {
    const nextAt = isRunning ? world.nextAt() : null
    if (nextAt !== null && nextAt === timerAt) return
    timer?.cancel()
    timerAt = nextAt
    timer = nextAt === null ? undefined : clock.after(Math.max(0, nextAt - clock.now()), turn)
  }

  return {
    start() {
      isRunning = true
      arm()
    },
    changed: arm,
    async catchUp(onProgress) {
      await bringTo(world, () => clock.now(), onProgress)
      arm()
    },
    stop() {
      isRunning = false
      retry?.cancel()
      arm()
    },
  }
}

/** Progress of creating or catching up a world, in world time. */
export type OnProgress = (at: number, until: number) => void

/** Applies logged commands again at their moments; yields to the event loop in between. */
export async function replayCommands(
  world: Pick<LoggedWorld, 'step' | 'now'>,
  commands: readonly { readonly at: number; readonly command: WorldCommand }[],
  apply: (command: WorldCommand) => void,
  onProgress?: OnProgress,
): Promise<void> {
  for (const { at, command } of commands) {
    await bringTo(world, () => at, onProgress)
    try {
      apply(command)
    } catch (error) {
      // The world refused it the first time too, and the process died before it could remove it.
      if (!(error instanceof WorldRefusal)) throw error
    }
  }
}

/** Runs tasks until a moment, which may move; yields to the event loop in between. */
async function bringTo(
  world: Pick<LoggedWorld, 'step' | 'now'>,
  until: () => number,
  onProgress?: OnProgress,
): Promise<void> {
  while (!world.step(until(), stepsPerTurn)) {
    onProgress?.(world.now(), until())
    await new Promise((resolve) => setImmediate(resolve))
  }
}
