import { type EventType, eventTypes } from '../../schema/index.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { Accounts } from './accounts/accounts.ts'
import { type Overrides, type PlainEvent, toRawEvent } from './overrides.ts'
import { setAlertToTrigger } from './price-alerts.ts'
import { type RandomBytes, createRandomStream } from './random.ts'
import { WorldRefusal } from './world/port.ts'
import type { World } from './world/world.ts'

interface TriggeringOptions {
  readonly world: Pick<World, 'commands' | 'views' | 'onEvent'>
  readonly sendRaw: (event: PlainEvent) => void
  readonly accounts: Accounts
  /** The world clock. */
  readonly clock: Clock
  /** Seed of all random choices except ids of raw events. */
  readonly seed: string
  readonly randomBytes: RandomBytes
  /** Events per second of world time. */
  readonly rate: number
  /** True once enough events were sent. */
  readonly isComplete: () => boolean
  readonly log: Logger
}

/** A triggered event, with the addresses it is about unless it is raw. */
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

/** Events per turn of the event loop. */
const triggersPerTurn = 20
/** A type that is nearly always possible. */
const fallbackType = 'contract.ownership_changed'

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
const typesByWeight = eventTypes.flatMap((type) => Array.from({ length: weights[type] }, () => type))

export type Triggering = ReturnType<typeof createTriggering>

/** Triggers events on request, and at the configured rate: of all types, frequent ones more often. */
export function createTriggering(options: TriggeringOptions) {
  const { world, sendRaw, accounts, clock, seed, randomBytes, rate, isComplete, log } = options
  /** Rates in progress, each with its timer. */
  const paces = new Set<{ timer?: Timer }>()
  const streamOf = (name: string) => createRandomStream(seed, name)
  let alertStream = streamOf('triggered-alerts')
  let epoch = 0

  function trigger(type: EventType): Triggered {
    const { who, event } = orIfRefused(
      () => triggerIn(world, type),
      (refusal) => {
        const lacksAlert = type === 'token.price_alert'
        if (!lacksAlert || !setAlertToTrigger({ accounts, world, stream: alertStream })) throw refusal
        return triggerIn(world, type)
      },
    )
    return { ...who, eventId: event?.id ?? null, isRaw: false }
  }

  function triggerRaw(type: EventType, set: Overrides): Triggered {
    const event = toRawEvent(type, clock.now(), randomBytes, set)
    sendRaw(event)
    return { eventId: event.id, isRaw: true }
  }

  /** Calls `trigger` at a rate in world time, `count` times at most. A repeated failure is logged once. */
  function startPace(perSecond: number, firstInMs: number, count: number, trigger: () => void): void {
    const pace: { timer?: Timer } = {}
    let dueAt = clock.now() + firstInMs
    let remaining = count
    let isFailing = false
    const schedule = (): void => {
      if (remaining > 0 && !isComplete()) pace.timer = clock.after(dueAt - clock.now(), tick)
      else paces.delete(pace)
    }
    const tick = (): void => {
      try {
        for (let turn = triggersPerTurn; turn > 0 && remaining > 0 && !isComplete() && dueAt <= clock.now(); turn--) {
          dueAt += 1000 / perSecond
          remaining--
          trigger()
          isFailing = false
        }
      } catch (error) {
        if (!isFailing) log.error({ error: messageOf(error) }, 'event trigger failed')
        isFailing = true
      }
      schedule()
    }
    paces.add(pace)
    schedule()
  }

  function stop(): void {
    epoch++
    for (const { timer } of paces) timer?.cancel()
    paces.clear()
  }

  return {
    /**
     * Runs the shortest story that leads to an event of this type. For `token.price_alert`, creates an alert first if
     * there is none. Throws `WorldRefusal`.
     */
    trigger,
    /**
     * Triggers `count` events and yields to the event loop in between. With a rate, returns the first; the others follow.
     * With `set`, no story runs: the events are the documented example with these members.
     *
     * @throws WorldRefusal, InboxError `usage` for an invalid override, `bad_request` if the world is restored during the call
     */
    async many({ type, count, rate: perSecond, set }: TriggerRequest): Promise<readonly Triggered[]> {
      const startEpoch = epoch
      const triggerNext = () => (set === undefined ? trigger(type) : triggerRaw(type, set))
      const triggered = [triggerNext()]
      if (perSecond !== undefined) {
        startPace(perSecond, 1000 / perSecond, count - 1, triggerNext)
        return triggered
      }
      while (triggered.length < count) {
        if (triggered.length % triggersPerTurn === 0) await new Promise((resolve) => setImmediate(resolve))
        if (epoch !== startEpoch) {
          const message = `the world was restored after ${triggered.length} of ${count} events were triggered`
          throw new InboxError('bad_request', message)
        }
        triggered.push(triggerNext())
      }
      return triggered
    },
    /** Starts triggering at the configured rate from now on, and stops other rates. May be called again. */
    begin(): void {
      stop()
      alertStream = streamOf('triggered-alerts')
      const types = streamOf('triggered-types')
      const triggerNext = () =>
        orIfRefused(
          () => trigger(types.pick(typesByWeight)),
          () => trigger(fallbackType),
        )
      if (rate > 0) startPace(rate, 0, Infinity, triggerNext)
    },
    /** Idempotent. */
    stop,
  }
}

function orIfRefused<T>(run: () => T, otherwise: (refusal: WorldRefusal) => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof WorldRefusal) return otherwise(error)
    throw error
  }
}

/**
 * Triggers an event in a world and finds it among the events that arise; null for a listing, which arises up to five
 * seconds later. Throws `WorldRefusal`.
 */
function triggerIn(world: Pick<World, 'commands' | 'onEvent'>, type: EventType) {
  const arisen: PlainEvent[] = []
  const stop = world.onEvent(({ event }) => {
    if (event.type === type) arisen.push(event)
  })
  try {
    const who = world.commands.apply({ kind: 'trigger', type })
    const isAbout = ({ data }: PlainEvent) =>
      [who['token'], who['wallet']].every((address) => address === undefined || Object.values(data).includes(address))
    // The last match: a world that lags behind its clock catches up first.
    return { who, event: arisen.findLast(isAbout) ?? null }
  } finally {
    stop()
  }
}
