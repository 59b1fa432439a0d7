import { eventTypes, type EventType } from '../../schema/index.ts'
import { systemClock, type Clock, type Timer } from '../clock.ts'
import { silentLogger, type Logger } from '../log.ts'
import { createDeliveries, type AttemptReport, type Deliveries, type Endpoint } from './deliveries.ts'
import { createEventSource, type EmittedEvent } from './events.ts'
import { serialize } from './serialize.ts'

export type { AttemptReport, Deliveries, EmittedEvent, Endpoint }

export interface EmulatorOptions {
  /** The same seed gives the same events. */
  readonly seed: string
  /** The world clock: timestamps, the pace of events, the retry ladder. Default: the system's. */
  readonly clock?: Clock
  /** The clock the 5 s to answer are measured on. Default: the system's. */
  readonly wall?: Clock
  readonly endpoints: readonly Endpoint[]
  /** Events per second of world time; 0 = only those asked for with `emit`. Default 1. */
  readonly rate?: number
  /** Share of acknowledged events that are delivered a second time, 0 to 1 (R88). Default 0. */
  readonly duplicateRate?: number
  readonly log?: Logger
  /** Called after each attempt of a delivery. */
  readonly onAttempt?: (report: AttemptReport) => void
}

export interface Emulator extends AsyncDisposable {
  /** Emits at `rate` until `stop`, or until `count` events came out. */
  start(count?: number): void
  /** Stops emitting, cancels retries and cuts what is being sent. Idempotent. */
  stop(): Promise<void>
  /** Emits one event now, of a type drawn by how often each happens if none is given. */
  emit(type?: EventType): EmittedEvent
  /** Emits one event of each of the ten types now, in the order of the spec. */
  tour(): EmittedEvent[]
  /** Resolves when all `count` events of `start` are emitted and everything emitted is acknowledged or undelivered. */
  finished(): Promise<void>
  readonly deliveries: Deliveries
}

/**
 * The sender of on-chain events: makes plausible events from a seed and delivers them as the service does, signed,
 * with its retry ladder (R71–R92).
 *
 * @example
 * await using emulator = createEmulator({ seed: 'demo', endpoints: [{ url, secret }] })
 * emulator.emit('wallet.large_trade')
 * await emulator.deliveries.idle()
 */
export function createEmulator(options: EmulatorOptions): Emulator {
  const { seed, clock = systemClock, wall = systemClock, endpoints, rate = 1, duplicateRate = 0 } = options
  const { log = silentLogger, onAttempt } = options
  const source = createEventSource({ seed, clock })
  const deliveries = createDeliveries({
    clock,
    wall,
    endpoints,
    duplicateRate,
    log,
    ...(onAttempt && { onAttempt }),
  })
  const emissionDone = Promise.withResolvers<void>()
  let timer: Timer | undefined
  let isStopped = false

  const emit = (type?: EventType) => {
    const event = source.next(type)
    deliveries.send({ id: event.id, type: event.type, body: serialize(event) })
    return event
  }

  const stop = () => {
    isStopped = true
    timer?.cancel()
    deliveries.close()
    emissionDone.resolve()
    return Promise.resolve()
  }

  return {
    start(count = Infinity) {
      if (rate <= 0 || isStopped || timer) return
      let left = count
      let dueAt = clock.now()
      const tick = () => {
        for (; left > 0 && dueAt <= clock.now(); left--) {
          emit()
          dueAt += 1000 / rate
        }
        if (left > 0) timer = clock.after(dueAt - clock.now(), tick)
        else emissionDone.resolve()
      }
      tick()
    },
    stop,
    emit,
    tour: () => eventTypes.map((type) => emit(type)),
    async finished() {
      await emissionDone.promise
      await deliveries.settled()
    },
    deliveries,
    [Symbol.asyncDispose]: stop,
  }
}
