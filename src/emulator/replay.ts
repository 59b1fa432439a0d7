import { WorldRefusal, type World, type WorldAct } from './world/port.ts'

/** How far a world has come that is being made or caught up with, in world time. */
export type OnProgress = (at: number, until: number) => void

const stepsPerTurn = 200

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
    if (steps % stepsPerTurn > 0) continue
    onProgress?.(world.now(), at)
    await new Promise((resolve) => setImmediate(resolve))
  }
  world.advanceTo(at)
}
