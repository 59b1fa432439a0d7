import type { EventType } from '../../schema/index.ts'
import type { PlainEvent } from './overriding.ts'
import type { World } from './world/port.ts'

/** What became of a trigger: who it is about, and the event of the asked type if it has arisen. */
export interface Told {
  readonly who: Readonly<Record<string, unknown>>
  readonly event: PlainEvent | null
}

/**
 * Triggers an event in a world and finds the one that arose from it among those that arise with it. A listing is told up to
 * five seconds later: `wait` may let that time pass, otherwise there is no event yet. Throws `WorldRefusal`.
 */
export function triggerIn(world: Pick<World, 'acts' | 'onEvent'>, type: EventType, wait: () => void = () => {}): Told {
  const arisen: PlainEvent[] = []
  const stop = world.onEvent(({ event }) => {
    if (event.type === type) arisen.push(event)
  })
  try {
    const who = world.acts.apply({ kind: 'trigger', type })
    // The last one: a world that is behind its clock comes to the present first.
    const find = () => arisen.findLast((event) => isAbout(event, who)) ?? null
    if (find() === null) wait()
    return { who, event: find() }
  } finally {
    stop()
  }
}

function isAbout({ data }: PlainEvent, who: Readonly<Record<string, unknown>>): boolean {
  const values = Object.values(data)
  return [who['token'], who['wallet']].every((address) => address === undefined || values.includes(address))
}
