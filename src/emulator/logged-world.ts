import { type World, type WorldCommand, WorldRefusal } from './world/port.ts'
import type { AccountsState, AccountsChange } from './accounts/port.ts'
import type { Clock, Timer } from '../base/clock.ts'

/** Where acts and moments are written down before anybody is told of them. */
export interface WorldLog {
  /** Makes an act durable, and with it the accounts; gives its number. */
  append(at: number, command: WorldCommand, accounts?: AccountsState): number
  /** Takes back an act that was refused. */
  drop(id: number, accounts?: AccountsState): void
  /** Notes that the world may have been seen as of `at`. */
  reach(at: number): void
}

export interface LoggedWorldOptions {
  readonly world: World
  /** Default: nothing is written down. */
  readonly log?: WorldLog
  /** The moment at which acts happen. */
  readonly now: () => number
  /** Called after acts and restores, which may have changed when something happens next. */
  readonly onChange?: () => void
}

export interface LoggedWorld extends World {
  /** Does an act, and makes what goes with it durable. Throws `WorldRefusal`, and then nothing has changed. */
  execute(command: WorldCommand, change?: AccountsChange): Readonly<Record<string, unknown>>
  /** Lets at most `steps` things happen that are due up to `at`. False if more are due. */
  step(at: number, steps: number): boolean
}

/** How much a request may make happen before it reads: about 10 ms of work. */
const stepsPerRead = 200

/**
 * A world whose acts are written down before they happen, so that a process that is killed has promised nothing it
 * forgets: the same acts at the same moments give the same world. Its `advanceTo` is bounded: of a world that is far
 * behind its clock a reader sees the moment that it has reached.
 */
export function createLoggedWorld({ world, log, now, onChange = () => {} }: LoggedWorldOptions): LoggedWorld {
  let isBusy = false

  /** Who is told of an event may ask for more to happen: not before what is under way is done. */
  function alone<T>(fn: () => T): T {
    isBusy = true
    try {
      return fn()
    } finally {
      isBusy = false
    }
  }

  /** Of each moment it is noted that it may be seen before anybody can see it, and of none that is far from it. */
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

/** How much happens at a stretch before anything else gets its turn: about 10 ms of work. */
const stepsPerTurn = 200
/** After a turn that failed, as when the disk is full, the next one comes so much later. */
const retryMs = 5_000

interface WorldDriver {
  /** Lets the world go with its clock from now on. */
  start(): void
  /** To be called when something may happen earlier than was known. */
  changed(): void
  /**
   * Brings the world to the present of its clock, giving way to others in between. `onProgress` gets where the world is
   * and where it is going.
   */
  catchUp(onProgress?: OnProgress): Promise<void>
  /** Idempotent. */
  stop(): void
}

interface WorldDriverOptions {
  readonly world: Pick<LoggedWorld, 'now' | 'nextAt' | 'step'>
  readonly clock: Clock
  /** After a turn that failed it is this clock that says when to try again. */
  readonly wall: Clock
}

/**
 * Makes things happen in the world when they are due on its clock, with one timer. What keeps them from happening is thrown to
 * the clock, and tried again.
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

/** How far a world has come that is being made or caught up with, in world time. */
export type OnProgress = (at: number, until: number) => void

/** Does acts again that were done to a world, at their moments; gives way to others in between. */
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
      // It was refused the first time as well, and the process died before it could strike it out.
      if (!(error instanceof WorldRefusal)) throw error
    }
  }
}

/** Lets happen what is due until a moment, which may move on meanwhile; gives way to others in between. */
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
