import type { EventType } from '../../schema/index.ts'
import type { Clock } from '../clock.ts'
import { InboxError } from '../errors.ts'
import type { RandomBytes } from './accounts/ids.ts'
import { withOverrides, type Overrides, type PlainEvent } from './overriding.ts'
import { createScratch, createStamp } from './scratch.ts'
import { WorldRefusal } from './world/port.ts'
import { createWorld } from './world/world.ts'

export interface LoneEventsOptions {
  /** The same seed gives the same names and addresses. */
  readonly seed: string
  readonly clock: Pick<Clock, 'now'>
  readonly randomBytes: RandomBytes
}

const historyMs = 3_600_000

/**
 * Gives what makes events of any type without an emulator, in a small world of its own, each with an id of its own and the
 * present time. That throws `bad_request` where the world cannot follow, and `usage` for members that cannot be set.
 */
export function createLoneEvents({ seed, clock, randomBytes }: LoneEventsOptions) {
  const scratch = createScratch(createWorld({ seed, startAt: clock.now() - historyMs }))
  const stamp = createStamp(randomBytes)
  return (type: EventType, set: Overrides = {}): PlainEvent => {
    const now = clock.now()
    try {
      return withOverrides(stamp(scratch.trigger(type, now).event, now), set)
    } catch (error) {
      if (!(error instanceof WorldRefusal)) throw error
      throw new InboxError('bad_request', `${error.message} (another seed is another world)`, { cause: error })
    }
  }
}
