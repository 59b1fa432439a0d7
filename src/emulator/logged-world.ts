import { WorldRefusal, type World, type WorldAct } from './world/port.ts'
import type { AccountsState, Alongside } from './accounts/port.ts'

/** Where acts and moments are written down before anybody is told of them. */
export interface WorldLog {
  /** Makes an act durable, and with it the accounts; gives its number. */
  append(at: number, act: WorldAct, accounts?: AccountsState): number
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
  act(act: WorldAct, alongside?: Alongside): Readonly<Record<string, unknown>>
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

  function act(given: WorldAct, alongside?: Alongside): Readonly<Record<string, unknown>> {
    step(now(), stepsPerRead)
    const id = log?.append(world.now(), given, alongside?.after)
    try {
      return isBusy ? world.acts.apply(given) : alone(() => world.acts.apply(given))
    } catch (error) {
      if (id !== undefined && error instanceof WorldRefusal) log?.drop(id, alongside?.before)
      throw error
    } finally {
      onChange()
    }
  }

  return {
    now: () => world.now(),
    seq: () => world.seq(),
    nextAt: () => world.nextAt(),
    advanceTo: (at) => void step(at, stepsPerRead),
    onEvent: (fn) => world.onEvent(fn),
    eventsAfter: (after, limit) => world.eventsAfter(after, limit),
    lastEvent: () => world.lastEvent(),
    digest: () => world.digest(),
    views: world.views,
    acts: { apply: (given) => act(given) },
    snapshot: () => world.snapshot(),
    restore(snapshot) {
      world.restore(snapshot)
      onChange()
    },
    act,
    step,
  }
}
