import type { EventType } from '../../schema/index.ts'
import type { Clock, Timer } from '../clock.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Accounts } from './accounts/port.ts'
import { setAlertToTrigger } from './price-alerts.ts'
import { createRandomStream, type RandomStream } from './random.ts'
import { typesByWeight } from './weights.ts'
import { WorldRefusal, type World } from './world/port.ts'

export interface TriggeringOptions {
  readonly world: Pick<World, 'acts' | 'views'>
  readonly accounts: Accounts
  /** Of the world. */
  readonly clock: Clock
  /** What is drawn is drawn from it. */
  readonly seed: string
  /** Events per second of world time. */
  readonly rate: number
  /** Whether no more events are wanted. */
  readonly isOver: () => boolean
  readonly log: Logger
}

/** Events that are made to arise: one when somebody asks for it, and so many per second. */
export interface Triggering {
  /**
   * Makes an event of a type arise, by the shortest story that leads to it; gives who it is about. For `token.price_alert` an
   * alert is set first, if there is none. Throws `WorldRefusal`.
   */
  trigger(type: EventType): Readonly<Record<string, unknown>>
  /** From the present of the clock on, events are triggered at the rate. Called again, it begins anew. */
  begin(): void
  /** Idempotent. */
  stop(): void
}

/** How many events are triggered at a stretch, where the rate asks for more than can be done. */
const triggersPerTurn = 20
/** The type that is nearly always possible. */
const easiest = 'contract.ownership_changed'

/** Triggers events in a world. What is triggered at a rate is of all types, the frequent ones more often. */
export function createTriggering(options: TriggeringOptions): Triggering {
  const { world, accounts, clock, seed, rate, isOver, log } = options
  let draw = drawFrom(seed)
  let timer: Timer | undefined

  function trigger(type: EventType): Readonly<Record<string, unknown>> {
    try {
      return world.acts.apply({ kind: 'trigger', type })
    } catch (error) {
      const lacksAlert = error instanceof WorldRefusal && type === 'token.price_alert'
      if (!lacksAlert || !setAlertToTrigger({ accounts, world, stream: draw.alerts })) throw error
      return world.acts.apply({ kind: 'trigger', type })
    }
  }

  /** Makes some event arise; if the world has nobody left for one of that type, of the easiest. */
  function triggerSome(type: EventType): void {
    try {
      trigger(type)
    } catch (error) {
      if (!(error instanceof WorldRefusal)) throw error
      trigger(easiest)
    }
  }

  function goOn(): void {
    let dueAt = clock.now()
    let isFailing = false

    const tick = () => {
      try {
        for (let left = triggersPerTurn; left > 0 && !isOver() && dueAt <= clock.now(); left--) {
          dueAt += 1000 / rate
          triggerSome(draw.types.pick(typesByWeight))
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
      if (!isOver()) timer = clock.after(dueAt - clock.now(), tick)
    }
    arm()
  }

  return {
    trigger,
    begin() {
      timer?.cancel()
      draw = drawFrom(seed)
      if (rate > 0) goOn()
    },
    stop: () => timer?.cancel(),
  }
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
