import type { EventType } from '../../schema/index.ts'
import type { PlainEvent } from './overriding.ts'
import type { RandomBytes } from './random.ts'
import { toEventId } from './world/event-id.ts'
import { WorldRefusal, type World } from './world/port.ts'

/** A world to play stories in that nobody else sees. */
interface Scratch {
  /** Triggers an event in it, as of a moment; the event always arises. Throws `WorldRefusal`. */
  trigger(type: EventType, at: number): Told & { readonly event: PlainEvent }
}

/** A listing is told up to five seconds later. */
const longestWaitMs = 6_000
/** Alerts are set on so many of the largest tokens in turn. */
const alertedTokens = 10
const alertDistance = 0.02

/** Takes over a world: from now on it is the scratch's own. */
export function createScratch(world: World): Scratch {
  let alerts = 0

  function trigger(type: EventType): Told {
    return triggerIn(world, type, () => world.advanceTo(world.now() + longestWaitMs))
  }

  /** A line near the present price of a token is crossed; up and down in turn, so that prices stay what they are. */
  function triggerWithAlert(): Told {
    const { views } = world
    const tokens = views
      .tokens()
      .map((ref) => views.token(ref))
      .toSorted((a, b) => b.liquidity_usd - a.liquidity_usd)
      .slice(0, alertedTokens)
    const token = tokens[Math.floor(alerts / 2) % Math.max(1, tokens.length)]
    if (token === undefined) throw new WorldRefusal('there is no token to set an alert on')
    const isAbove = alerts % 2 === 0
    const alertId = `alrt_scratch${alerts++}`
    const threshold = Number((token.price_usd * (isAbove ? 1 + alertDistance : 1 - alertDistance)).toPrecision(6))
    const { network, address } = token
    world.acts.apply({
      kind: 'add-alert',
      alertId,
      type: isAbove ? 'price_above' : 'price_below',
      network,
      address,
      threshold,
    })
    try {
      return trigger('token.price_alert')
    } finally {
      world.acts.apply({ kind: 'remove-alert', alertId })
    }
  }

  return {
    trigger(type, at) {
      world.advanceTo(at)
      const { who, event } = type === 'token.price_alert' ? triggerWithAlert() : trigger(type)
      if (event === null) throw new WorldRefusal(`no ${type} arose from its story; try again later`)
      return { who, event }
    },
  }
}

/** Gives events an id and a time of their own, which no event of a world has. */
export function createStamp(randomBytes: RandomBytes): (event: PlainEvent, at: number) => PlainEvent {
  let stamped = 0
  return ({ type, data }, at) => ({
    id: toEventId(at, ++stamped, Buffer.from(randomBytes(8))),
    type,
    created_at: new Date(at).toISOString(),
    data,
  })
}

/** What became of a trigger: who it is about, and the event of the asked type if it has arisen. */
interface Told {
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
