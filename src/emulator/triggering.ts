import { type EventType, eventTypes } from '../../schema/index.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { Accounts } from './accounts/port.ts'
import { type Overrides, type PlainEvent, withOverrides } from './overrides.ts'
import { largerTokens, setAlertToTrigger } from './price-alerts.ts'
import { type RandomBytes, createRandomStream } from './random.ts'
import { type World, WorldRefusal } from './world/port.ts'
import { toEventId } from './world/addresses.ts'

interface TriggeringOptions {
  readonly world: Pick<World, 'commands' | 'views' | 'onEvent' | 'rehearse'>
  readonly sendRaw: (event: PlainEvent) => void
  readonly accounts: Accounts
  /** The world clock. */
  readonly clock: Clock
  /** Seed of all random choices except ids of raw events. */
  readonly seed: string
  readonly randomBytes: RandomBytes
  readonly rate: number
  /** True once enough events were sent. */
  readonly isComplete: () => boolean
  readonly log: Logger
}

/** A triggered event, with the addresses it is about. */
export interface Triggered extends Readonly<Record<string, unknown>> {
  /** Null for a listing: it arises up to five seconds of world time later. */
  readonly eventId: string | null
  /** True if members were overridden. The world has no record of a raw event. */
  readonly isRaw: boolean
}

export interface TriggerRequest {
  readonly type: EventType
  readonly count: number
  /** Events per second of world time. Default: all at once. */
  readonly rate?: number
  readonly set?: Overrides
}

/** Triggers events on request and at a rate. */
export interface Triggering {
  /**
   * Runs the shortest story that leads to an event of this type. For `token.price_alert`, creates an alert first if
   * there is none. With `set`, the story is rehearsed only, and its event is sent with these members and a new id and
   * time. Throws `WorldRefusal`, and `usage` for an invalid override.
   */
  trigger(type: EventType, set?: Overrides): Triggered
  /**
   * Triggers `count` events and yields to the event loop in between. With a rate, returns the first; the others follow.
   * Throws like `trigger`, and `bad_request` if the world is restored during the call.
   */
  many(request: TriggerRequest): Promise<readonly Triggered[]>
  /** Starts triggering at the configured rate from now on, and stops other rates. May be called again. */
  begin(): void
  /** Idempotent. */
  stop(): void
}

/** Events per turn of the event loop. */
const triggersPerTurn = 20
/** Fallback: a type that is nearly always possible. */
const easiest = 'contract.ownership_changed'

/** Triggers events in a world. At the configured rate it picks from all types, frequent ones more often. */
export function createTriggering(options: TriggeringOptions): Triggering {
  const { world, sendRaw, accounts, clock, seed, randomBytes, rate, isComplete, log } = options
  const stamp = createStamp(randomBytes)
  const paces = new Set<Timer>()
  let draw = streamsOf(seed)
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

  /** Returns a function that triggers one event per call. */
  function prepare(type: EventType, count: number, set: Overrides | undefined): () => Triggered {
    if (set === undefined) return () => triggerOne(type)
    const next = inTurn(rehearseEvents(world, type, Math.min(count, maxRehearsed)))
    return () => {
      const { who, event } = next()
      const raw = withOverrides(stamp(event, clock.now()), set)
      sendRaw(raw)
      return { ...who, eventId: raw.id, isRaw: true }
    }
  }

  /** Triggers an event of the type, or of the fallback type if the world refuses. */
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
    trigger: (type, set) => prepare(type, 1, set)(),
    async many({ type, count, rate: perSecond, set }) {
      const begunIn = epoch
      const one = prepare(type, count, set)
      const triggered = [one()]
      if (perSecond !== undefined) {
        followAtRate(perSecond, count - 1, one)
        return triggered
      }
      while (triggered.length < count) {
        if (triggered.length % triggersPerTurn === 0) await new Promise((resolve) => setImmediate(resolve))
        if (epoch !== begunIn) {
          const message = `the world was restored after ${triggered.length} of ${count} events were triggered`
          throw new InboxError('bad_request', message)
        }
        triggered.push(one())
      }
      return triggered
    },
    begin() {
      stop()
      draw = streamsOf(seed)
      if (rate === 0) return
      const act = () => triggerSome(draw.types.pick(typesByWeight))
      paces.add(startPace({ clock, rate, firstInMs: 0, act, isComplete, log }))
    },
    stop,
  }
}

function streamsOf(seed: string) {
  return {
    types: createRandomStream(seed, 'triggered-types'),
    alerts: createRandomStream(seed, 'triggered-alerts'),
  }
}

/** Relative frequency of each type. */
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

/** Types repeated by weight, to pick from. */
const typesByWeight: readonly EventType[] = eventTypes.flatMap((type) =>
  Array.from({ length: weights[type] }, () => type),
)

interface PaceOptions {
  readonly clock: Clock
  /** Per second. */
  readonly rate: number
  /** Delay of the first, in milliseconds. */
  readonly firstInMs: number
  readonly act: () => void
  /** True once it should stop. */
  readonly isComplete: () => boolean
  readonly log: Logger
}

/** Limit per turn if the rate is higher than the machine can keep up with. */
const maxPerTurn = 20

/** Calls `act` at a rate until complete or cancelled. A failure is logged once; later calls are still made. */
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
      // Logged once: at a high rate it would fill the log.
      if (!isFailing) log.error({ error: messageOf(error) }, 'event trigger failed')
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

/** A listing arises up to five seconds after its pool. */
const maxListingWaitMs = 6_000
/** Different events per request for raw events; more repeat them with other ids. */
const maxRehearsed = 20
const alertDistance = 0.02

/** Triggers events in the world and undoes everything. Throws `WorldRefusal`. */
function rehearseEvents(real: Pick<World, 'rehearse'>, type: EventType, count: number) {
  return real.rehearse((world) => {
    const tokens = largerTokens(world)
    return Array.from({ length: count }, (_, n) => {
      const token = tokens[n % tokens.length]
      if (type === 'token.price_alert' && token !== undefined) {
        const { address, network, price_usd } = token
        const threshold = price_usd * (1 + alertDistance)
        const alert = { alertId: `alrt_rehearsed${n}`, type: 'price_above', network, address, threshold } as const
        world.commands.apply({ kind: 'add-alert', ...alert })
      }
      const { who, event } = triggerIn(world, type, () => world.advanceTo(world.now() + maxListingWaitMs))
      if (event === null) throw new WorldRefusal(`the story led to no ${type}; retry later`)
      return { who, event }
    })
  })
}

/** Returns a function that returns the items one after the other, over and over. */
function inTurn<T>(items: readonly T[]): () => T {
  let index = 0
  return () => {
    const item = items[index++ % items.length]
    if (item === undefined) throw new RangeError('expected at least one item')
    return item
  }
}

/** Returns a function that gives events a new id and time. */
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
 * Triggers an event in a world and finds it among the events that arise. A listing arises up to five seconds later:
 * `wait` may let that time pass; otherwise `event` is null. Throws `WorldRefusal`.
 */
function triggerIn(world: Pick<World, 'commands' | 'onEvent'>, type: EventType, wait: () => void = () => {}) {
  const arisen: PlainEvent[] = []
  const stop = world.onEvent(({ event }) => {
    if (event.type === type) arisen.push(event)
  })
  try {
    const who: Readonly<Record<string, unknown>> = world.commands.apply({ kind: 'trigger', type })
    // The last match: a world that lags behind its clock catches up first.
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
