import { setTimeout as wait } from 'node:timers/promises'
import type { EventType } from '../../schema/index.ts'
import type { ControlClient } from './control-client.ts'
import type { DeliveryJson } from './control-json.ts'
import { followDeliveries, lookAtEach, printDelivery } from './follow-deliveries.ts'
import { printResult } from './output.ts'
import { triggerPaced, type Paced } from './trigger-paced.ts'
import type { TriggerOptions } from './trigger.ts'

interface Followed {
  /** Null until a listing is told. */
  eventId: string | null
  readonly token: string | null
}

/** So many ids are listed in an answer. */
const mostPerRequest = 100
const lookMs = 50
const listingsLookedAt = 1_000

/** Triggers events in a running emulator, and follows their deliveries. Exit code 0 = every event is acknowledged by all. */
export async function triggerRunning(client: ControlClient, type: EventType, options: TriggerOptions): Promise<0 | 1> {
  const { rate, timeout } = options
  const tell = (eventId: string | null, isRaw: boolean) =>
    printResult({ msg: 'event', eventId, type, isRaw }, options, () => triggeredLine(type, eventId, isRaw))
  if (rate === undefined) {
    const events = await triggerAll(client, type, options, tell)
    return timeout === 0 ? 0 : follow(client, type, events, options)
  }
  const { eventIds, ...rest } = await triggerPaced(client, type, { ...options, rate, onEvent: tell })
  const events = eventIds.map((eventId) => ({ eventId, token: null }))
  return timeout === 0 ? 0 : follow(client, type, events, options, rest)
}

async function triggerAll(
  client: ControlClient,
  type: EventType,
  { set, count }: TriggerOptions,
  tell: (eventId: string | null, isRaw: boolean) => void,
): Promise<readonly Followed[]> {
  const events: Followed[] = []
  while (events.length < count) {
    const some = Math.min(count - events.length, mostPerRequest)
    const { events: triggered, isRaw } = await client.trigger({ type, count: some, ...(set !== undefined && { set }) })
    for (const { eventId, token } of triggered) {
      events.push({ eventId, token: typeof token === 'string' ? token : null })
      tell(eventId, isRaw)
    }
  }
  return events
}

function triggeredLine(type: EventType, eventId: string | null, isRaw: boolean): string {
  const id = eventId ?? 'told within five seconds of world time'
  return `${type.padEnd(27)}  ${id}  triggered${isRaw ? ', raw: the world does not know of it' : ''}`
}

async function follow(
  client: ControlClient,
  type: EventType,
  events: readonly Followed[],
  options: TriggerOptions,
  { notMade, isStill }: Pick<Paced, 'notMade' | 'isStill'> = { notMade: 0, isStill: false },
): Promise<0 | 1> {
  const startedAt = performance.now()
  await findListings(client, type, events, options.timeout)
  // Where some were waited for in vain, those that were made had their time.
  const timeoutMs = notMade > 0 ? 0 : Math.max(0, options.timeout * 1_000 - (performance.now() - startedAt))
  const counts = { acknowledged: 0, notAcknowledged: 0, nobody: 0, untold: 0 }
  await followDeliveries({
    items: events,
    look: lookAtEach(async ({ eventId }) => (eventId === null ? [] : client.deliveriesOf(eventId))),
    timeoutMs,
    onEnd({ eventId }, deliveries) {
      for (const delivery of deliveries) printDelivery(delivery, options)
      counts[eventId === null ? 'untold' : verdictOf(deliveries)]++
    },
  })
  const wanted = events.length + notMade
  printResult({ msg: 'finished', events: wanted, ...counts, notMade }, options, (result) => {
    const { acknowledged, notAcknowledged, nobody, untold } = result
    return [
      `${acknowledged} acknowledged, ${notAcknowledged} not`,
      ...(nobody === 0 ? [] : [`${nobody} sent to nobody: no webhook of the emulator takes ${type}`]),
      ...(untold === 0 ? [] : [`${untold} not told yet: its clock must move on by five seconds`]),
      ...(notMade === 0 ? [] : [`${notMade} not made yet${isStill ? ': its clock must move on' : ''}`]),
    ].join(', ')
  })
  return counts.acknowledged === wanted ? 0 : 1
}

function verdictOf(deliveries: readonly DeliveryJson[]): 'acknowledged' | 'notAcknowledged' | 'nobody' {
  if (deliveries.length === 0) return 'nobody'
  return deliveries.every(({ state }) => state === 'acknowledged') ? 'acknowledged' : 'notAcknowledged'
}

/** Waits for listings to be told, and fills in their ids. */
async function findListings(
  client: ControlClient,
  type: EventType,
  events: readonly Followed[],
  timeoutS: number,
): Promise<void> {
  const deadline = performance.now() + timeoutS * 1_000
  const missing = () => events.filter(({ eventId }) => eventId === null)
  while (missing().length > 0 && performance.now() < deadline) {
    await wait(lookMs)
    const told = await client.events(type, listingsLookedAt)
    const idByToken = new Map<unknown, string>(
      told.map(({ event }) => ['token_address' in event.data ? event.data.token_address : null, event.id]),
    )
    for (const event of missing()) event.eventId = idByToken.get(event.token) ?? null
  }
}
