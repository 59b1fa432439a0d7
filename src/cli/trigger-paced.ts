import type { EventType } from '../../schema/index.ts'
import { InboxError } from '../errors.ts'
import type { ControlClient } from './control-client.ts'
import type { AttemptJson, ClockJson, EventJson } from './control-json.ts'
import { readEventStream } from './event-stream.ts'
import type { TriggerOptions } from './trigger.ts'

/** What has become of events at a rate. */
export interface Paced {
  readonly eventIds: readonly string[]
  readonly isRaw: boolean
  /** Those that were waited for in vain. */
  readonly notMade: number
  /** Whether the clock stands still unless it is advanced. */
  readonly isStill: boolean
}

export interface PacedOptions extends Pick<TriggerOptions, 'set' | 'count' | 'timeout'> {
  /** Per second of world time. */
  readonly rate: number
  /** Called for each event once it is seen. */
  readonly onEvent: (eventId: string, isRaw: boolean) => void
}

/** A listing is told so much later at most, in world time. */
const longestUntoldMs = 5_000
/** What the emulator may take to answer before anything is waited for. */
const longestBeginningMs = 60_000
const longestTimerMs = 2 ** 31 - 1

/**
 * Has an emulator trigger events at a rate of its clock, and watches its stream until all were seen, or nothing new came for
 * `timeout` seconds beyond what a clock that runs by itself takes to the next one. An answer names the first only. Of the others
 * those of the log are told by their time: each is the first of the type at or after the moment it was due. Raw ones are told
 * by their first attempt.
 *
 * @throws InboxError `bad_request` if the clock is put back, `emulator_unreachable` if the emulator ends meanwhile
 */
export async function triggerPaced(client: ControlClient, type: EventType, options: PacedOptions): Promise<Paced> {
  const { set, count, rate, timeout, onEvent } = options
  using patience = createPatience()
  patience.rearm(longestBeginningMs)
  const { body } = await client.stream(['event', 'attempt', 'clock'], patience.signal)
  let clock = await client.clock()
  const startedAt = Date.parse(clock.now)
  const { events, isRaw } = await client.trigger({ type, count, rate, ...(set !== undefined && { set }) })
  const made = new Set<string>()
  const ofWorld = new Set<string>()
  const dueAt = (number: number) => Math.floor(startedAt + (number * 1_000) / rate)
  const result = () => ({
    eventIds: [...made],
    isRaw,
    notMade: count - made.size,
    isStill: clock.mode === 'manual',
  })

  const found = (eventId: string) => {
    if (made.has(eventId)) return
    made.add(eventId)
    onEvent(eventId, isRaw)
    rearm()
  }
  const rearm = () => {
    const untilNextMs = clock.mode === 'manual' ? 0 : (1_000 / rate + longestUntoldMs) / clock.speed
    patience.rearm(timeout * 1_000 + untilNextMs)
  }
  const onClock = (next: ClockJson) => {
    const [before, now] = [Date.parse(clock.now), Date.parse(next.now)]
    if (now < startedAt) {
      throw new InboxError('bad_request', 'the clock of the emulator was put back: no more is triggered')
    }
    const isNew = now > before || next.mode !== clock.mode || next.speed !== clock.speed
    clock = next
    // Once all are due nothing more comes of a clock that moves on.
    if (isNew && before <= dueAt(count) + longestUntoldMs) rearm()
  }
  const onMessage = (name: string, data: string) => {
    // The other side is the same program: what it gives is not checked again.
    if (name === 'clock') onClock(JSON.parse(data) as ClockJson)
    else if (name === 'event') {
      const { event } = JSON.parse(data) as EventJson
      ofWorld.add(event.id)
      if (!isRaw && event.type === type && Date.parse(event.created_at) >= dueAt(made.size)) found(event.id)
    } else if (name === 'attempt' && isRaw) {
      const { eventId, eventType, attempt, isExtra } = JSON.parse(data) as AttemptJson
      if (eventType === type && attempt === 1 && !isExtra && !ofWorld.has(eventId)) found(eventId)
    }
  }

  rearm()
  for (const { eventId } of events) if (eventId !== null) found(eventId)
  if (body === null || timeout === 0 || made.size === count) return result()
  const [first = ''] = made
  if (isRaw && (await client.deliveriesOf(first)).length === 0) {
    // Nobody gets them, so nothing can be seen of them: what is true of the first is true of all.
    return { ...result(), eventIds: Array.from({ length: count }, () => first), notMade: 0 }
  }
  for await (const { name, data } of readEventStream(body, () => {})) {
    onMessage(name, data)
    if (made.size === count) return result()
  }
  if (patience.signal.aborted) return result()
  throw new InboxError('emulator_unreachable', `${client.origin} has gone before all events were triggered`)
}

/** Aborts when it has not been rearmed for so long, and when it is disposed of. */
function createPatience() {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  return {
    signal: controller.signal,
    rearm(ms: number) {
      clearTimeout(timer)
      timer = setTimeout(() => controller.abort(), Math.min(ms, longestTimerMs))
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      controller.abort()
    },
  }
}
