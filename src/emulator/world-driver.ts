import type { Clock, Timer } from '../base/clock.ts'
import type { LoggedWorld } from './logged-world.ts'
import { WorldRefusal, type World, type WorldAct } from './world/port.ts'

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
  catchUp(onProgress?: (at: number, until: number) => void): Promise<void>
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
    async catchUp(onProgress = () => {}) {
      while (!world.step(clock.now(), stepsPerTurn)) {
        onProgress(world.now(), clock.now())
        await new Promise((resolve) => setImmediate(resolve))
      }
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

const replayedPerTurn = 200

/** Does acts again that were done to a world, at their moments; gives way to others in between. */
export async function replayActs(
  world: World,
  acts: readonly { readonly at: number; readonly act: WorldAct }[],
  onProgress?: OnProgress,
): Promise<void> {
  for (const { at, act } of acts) {
    await replayTo(world, at, onProgress)
    try {
      world.acts.apply(act)
    } catch (error) {
      // It was refused the first time as well, and the process died before it could strike it out.
      if (!(error instanceof WorldRefusal)) throw error
    }
  }
}

async function replayTo(world: World, at: number, onProgress?: OnProgress): Promise<void> {
  for (let steps = 1; ; steps++) {
    const nextAt = world.nextAt()
    if (nextAt === null || nextAt > at) break
    world.advanceTo(nextAt)
    if (steps % replayedPerTurn > 0) continue
    onProgress?.(world.now(), at)
    await new Promise((resolve) => setImmediate(resolve))
  }
  world.advanceTo(at)
}
