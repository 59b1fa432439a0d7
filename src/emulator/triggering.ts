import { type EventType, eventTypes } from '../../schema/index.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { Accounts } from './accounts/port.ts'
import { type Overrides, type PlainEvent, withOverrides } from './overrides.ts'
import { setAlertToTrigger } from './price-alerts.ts'
import { type RandomBytes, type RandomStream, createRandomStream } from './random.ts'
import { type World, WorldRefusal } from './world/port.ts'
import { toEventId } from './world/addresses.ts'

interface TriggeringOptions {
  readonly world: Pick<World, 'acts' | 'views' | 'onEvent'>
  /** Gives a world of the same options in the same state, which nobody else sees. */
  readonly copyWorld: () => World
  /** Sends an event that did not arise in the world. */
  readonly sendRaw: (event: PlainEvent) => void
  readonly accounts: Accounts
  /** Of the world. */
  readonly clock: Clock
  /** What is drawn is drawn from it, but for ids of events that did not arise in the world. */
  readonly seed: string
  readonly randomBytes: RandomBytes
  /** Events per second of world time. */
  readonly rate: number
  /** Whether no more events are wanted. */
  readonly isComplete: () => boolean
  readonly log: Logger
}

/** An event that was triggered, with who it is about. */
export interface Triggered extends Readonly<Record<string, unknown>> {
  /** Null for a listing, which is told within five seconds of world time. */
  readonly eventId: string | null
  /** Whether members of it were set: the world does not know of it. */
  readonly isRaw: boolean
}

export interface TriggerRequest {
  readonly type: EventType
  readonly count: number
  /** Per second of world time. Default: all at once. */
  readonly rate?: number
  readonly set?: Overrides
}

/** Events that are made to arise: one when somebody asks for it, and so many per second. */
export interface Triggering {
  /**
   * Makes an event of a type arise, by the shortest story that leads to it. For `token.price_alert` an alert is set first, if
   * there is none. With `set` the story happens in a copy of the world, and its event is sent with these members, an id and a
   * time of its own. Throws `WorldRefusal`, and `usage` for what cannot be set.
   */
  trigger(type: EventType, set?: Overrides): Triggered
  /**
   * The same so many times; gives way to others in between. With a rate it gives the first, and the others follow. Throws as
   * `trigger`, and `bad_request` if the world is put elsewhere before it is done.
   */
  many(request: TriggerRequest): Promise<readonly Triggered[]>
  /** From the present of the clock on, events are triggered at the rate, and at no other. Called again, it begins anew. */
  begin(): void
  /** Idempotent. */
  stop(): void
}

/** How many events are triggered before others get their turn. */
const triggersPerTurn = 20
/** The type that is nearly always possible. */
const easiest = 'contract.ownership_changed'

/** Triggers events in a world. What is triggered at a rate is of all types, the frequent ones more often. */
export function createTriggering(options: TriggeringOptions): Triggering {
  const { world, copyWorld, sendRaw, accounts, clock, seed, randomBytes, rate, isComplete, log } = options
  const stamp = createStamp(randomBytes)
  const paces = new Set<Timer>()
  let draw = drawFrom(seed)
  let epoch = 0

  function triggerInWorld(type: EventType): Triggered {
    const { who, event } = triggerIn(world, type)
    return { ...who, eventId: event?.id ?? null, isRaw: false }
  }

  function triggerOne(type: EventType): Triggered {
    try {
      return triggerInWorld(type)
    } catch (error) {
      const lacksAlert = error instanceof WorldRefusal && type === 'token.price_alert'
      if (!lacksAlert || !setAlertToTrigger({ accounts, world, stream: draw.alerts })) throw error
      return triggerInWorld(type)
    }
  }

  /** Gives what triggers one after the other. A copy of the world costs about a tenth of a second: one is enough for all. */
  function prepare(type: EventType, set: Overrides | undefined): () => Triggered {
    if (set === undefined) return () => triggerOne(type)
    const sandbox = createSandboxWorld(copyWorld())
    return () => {
      const now = clock.now()
      const { who, event } = sandbox(type, now)
      const raw = withOverrides(stamp(event, now), set)
      sendRaw(raw)
      return { ...who, eventId: raw.id, isRaw: true }
    }
  }

  /** Makes some event arise; if the world has nobody left for one of that type, of the easiest. */
  function triggerSome(type: EventType): void {
    try {
      triggerOne(type)
    } catch (error) {
      if (!(error instanceof WorldRefusal)) throw error
      triggerOne(easiest)
    }
  }

  function followAtRate(perSecond: number, wanted: number, one: () => Triggered): void {
    let left = wanted
    const act = () => {
      if (--left === 0) paces.delete(pace)
      one()
    }
    const isDone = () => left <= 0 || isComplete()
    const pace = startPace({ clock, rate: perSecond, firstInMs: 1000 / perSecond, act, isComplete: isDone, log })
    if (left > 0) paces.add(pace)
  }

  function stop(): void {
    epoch++
    for (const pace of paces) pace.cancel()
    paces.clear()
  }

  return {
    trigger: (type, set) => prepare(type, set)(),
    async many({ type, count, rate: perSecond, set }) {
      const begunIn = epoch
      const one = prepare(type, set)
      const triggered = [one()]
      if (perSecond !== undefined) {
        followAtRate(perSecond, count - 1, one)
        return triggered
      }
      while (triggered.length < count) {
        if (triggered.length % triggersPerTurn === 0) await new Promise((resolve) => setImmediate(resolve))
        if (epoch !== begunIn) throw wasPutElsewhere(triggered.length, count)
        triggered.push(one())
      }
      return triggered
    },
    begin() {
      stop()
      draw = drawFrom(seed)
      if (rate === 0) return
      const act = () => triggerSome(draw.types.pick(typesByWeight))
      paces.add(startPace({ clock, rate, firstInMs: 0, act, isComplete, log }))
    },
    stop,
  }
}

function wasPutElsewhere(done: number, wanted: number): InboxError {
  return new InboxError('bad_request', `the world was put elsewhere when ${done} of ${wanted} events were triggered`)
}

interface Draw {
  readonly types: RandomStream
  readonly alerts: RandomStream
}

function drawFrom(seed: string): Draw {
  return {
    types: createRandomStream(seed, 'triggered-types'),
    alerts: createRandomStream(seed, 'triggered-alerts'),
  }
}

/** How often each type happens, relative to the others. */
const weights: Readonly<Record<EventType, number>> = {
  'wallet.new_position': 25,
  'token.price_alert': 20,
  'wallet.large_trade': 20,
  'token.new_listing': 12,
  'token.risk_change': 8,
  'pump.graduation': 5,
  'wallet.pnl_milestone': 4,
  'contract.ownership_changed': 3,
  'contract.honeypot_detected': 2,
  'contract.liquidity_removed': 1,
}

/** Types to pick from: each as often as it happens. */
const typesByWeight: readonly EventType[] = eventTypes.flatMap((type) =>
  Array.from({ length: weights[type] }, () => type),
)

interface PaceOptions {
  readonly clock: Clock
  /** How often per second. */
  readonly rate: number
  /** When the first is due, from now on. */
  readonly firstInMs: number
  readonly act: () => void
  /** Whether no more is wanted. */
  readonly isComplete: () => boolean
  readonly log: Logger
}

/** How many are done at a stretch, where the rate asks for more than can be done. */
const maxPerTurn = 20

/** Triggers at a rate until it is over or cancelled. One that fails is told once, and more are tried. */
function startPace(options: PaceOptions): Timer {
  const { clock, rate, firstInMs, act, isComplete, log } = options
  let dueAt = clock.now() + firstInMs
  let isFailing = false
  let timer: Timer | undefined

  const tick = () => {
    try {
      for (let left = maxPerTurn; left > 0 && !isComplete() && dueAt <= clock.now(); left--) {
        dueAt += 1000 / rate
        act()
        isFailing = false
      }
    } catch (error) {
      // Told once: at a high rate it would fill the log.
      if (!isFailing) log.error({ error: messageOf(error) }, 'no event could be triggered; more are tried')
      isFailing = true
    }
    arm()
  }
  const arm = () => {
    if (!isComplete()) timer = clock.after(dueAt - clock.now(), tick)
  }
  arm()
  return { cancel: () => timer?.cancel() }
}

/** A listing is told up to five seconds later. */
const maxListingWaitMs = 6_000
/** Alerts are set on so many of the largest tokens in turn. */
const alertedTokens = 10
const alertDistance = 0.02

/** Takes over a world: gives what triggers an event in it, as of a moment; the event always arises. Throws `WorldRefusal`. */
function createSandboxWorld(world: World) {
  let alerts = 0

  /** A line near the present price of a token; above and below it in turn, so that prices stay what they are. */
  function setAlert(): string {
    const tokens = world.views
      .tokens()
      .map((ref) => world.views.token(ref))
      .toSorted((a, b) => b.liquidity_usd - a.liquidity_usd)
      .slice(0, alertedTokens)
    const token = tokens[Math.floor(alerts / 2) % Math.max(1, tokens.length)]
    if (token === undefined) throw new WorldRefusal('there is no token to set an alert on')
    const isAbove = alerts % 2 === 0
    const alertId = `alrt_scratch${alerts++}`
    const threshold = Number((token.price_usd * (isAbove ? 1 + alertDistance : 1 - alertDistance)).toPrecision(6))
    const { network, address } = token
    const type = isAbove ? 'price_above' : 'price_below'
    world.acts.apply({ kind: 'add-alert', alertId, type, network, address, threshold })
    return alertId
  }

  return (type: EventType, at: number) => {
    world.advanceTo(at)
    const alertId = type === 'token.price_alert' ? setAlert() : null
    try {
      const { who, event } = triggerIn(world, type, () => world.advanceTo(world.now() + maxListingWaitMs))
      if (event === null) throw new WorldRefusal(`no ${type} arose from its story; try again later`)
      return { who, event }
    } finally {
      if (alertId !== null) world.acts.apply({ kind: 'remove-alert', alertId })
    }
  }
}

/** Gives events an id and a time of their own, which no event of a world has. */
function createStamp(randomBytes: RandomBytes): (event: PlainEvent, at: number) => PlainEvent {
  let stamped = 0
  return ({ type, data }, at) => ({
    id: toEventId(at, ++stamped, Buffer.from(randomBytes(8))),
    type,
    created_at: new Date(at).toISOString(),
    data,
  })
}

/**
 * Triggers an event in a world and finds the one that arose from it among those that arise with it. A listing is told up to
 * five seconds later: `wait` may let that time pass, otherwise there is no event yet. Throws `WorldRefusal`.
 */
function triggerIn(world: Pick<World, 'acts' | 'onEvent'>, type: EventType, wait: () => void = () => {}) {
  const arisen: PlainEvent[] = []
  const stop = world.onEvent(({ event }) => {
    if (event.type === type) arisen.push(event)
  })
  try {
    const who: Readonly<Record<string, unknown>> = world.acts.apply({ kind: 'trigger', type })
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
