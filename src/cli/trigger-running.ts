import { setTimeout as wait } from 'node:timers/promises'
import type { EventType } from '../../schema/index.ts'
import { InboxError } from '../errors.ts'
import type { ControlClient } from './control-client.ts'
import type { DeliveryJson } from './control-json.ts'
import { followDeliveries, printDelivery } from './follow-deliveries.ts'
import { printResult } from './output.ts'
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
  const events: Followed[] = []
  for await (const wanted of portions(client, options)) {
    const { events: triggered, isRaw } = await client.trigger({
      type,
      count: wanted,
      ...(options.set !== undefined && { set: options.set }),
    })
    for (const { eventId, token = null } of triggered) {
      events.push({ eventId, token })
      printResult({ msg: 'event', eventId, type, isRaw }, options, () => triggeredLine(type, eventId, isRaw))
    }
  }
  return options.timeout === 0 ? 0 : follow(client, type, events, options)
}

function triggeredLine(type: EventType, eventId: string | null, isRaw: boolean): string {
  const id = eventId ?? 'told within five seconds of world time'
  return `${type.padEnd(27)}  ${id}  triggered${isRaw ? ', raw: the world does not know of it' : ''}`
}

/** How many to trigger next: all there are, or as many as are due by the clock of the emulator. */
async function* portions(client: ControlClient, { count, rate }: TriggerOptions): AsyncGenerator<number, void> {
  const startedAt = rate === undefined ? 0 : Date.parse((await client.clock()).now)
  for (let sent = 0; sent < count;) {
    const due = rate === undefined ? count : await dueBy(client, startedAt, rate)
    const wanted = Math.min(due, count) - sent
    if (wanted > 0) {
      const some = Math.min(wanted, mostPerRequest)
      yield some
      sent += some
    } else await wait(lookMs)
  }
}

async function dueBy(client: ControlClient, startedAt: number, rate: number): Promise<number> {
  const { now } = await client.clock()
  const passedMs = Date.parse(now) - startedAt
  if (passedMs < 0) throw new InboxError('bad_request', 'the clock of the emulator was put back: no more is triggered')
  return 1 + Math.floor((passedMs / 1_000) * rate)
}

async function follow(
  client: ControlClient,
  type: EventType,
  events: readonly Followed[],
  options: TriggerOptions,
): Promise<0 | 1> {
  const startedAt = performance.now()
  await findListings(client, type, events, options.timeout)
  const timeoutMs = Math.max(0, options.timeout * 1_000 - (performance.now() - startedAt))
  const counts = { acknowledged: 0, notAcknowledged: 0, nobody: 0, untold: 0 }
  await followDeliveries({
    items: events,
    deliveriesOf: async ({ eventId }) => (eventId === null ? [] : client.deliveriesOf(eventId)),
    timeoutMs,
    onEnd({ eventId }, deliveries) {
      for (const delivery of deliveries) printDelivery(delivery, options)
      counts[eventId === null ? 'untold' : verdictOf(deliveries)]++
    },
  })
  printResult({ msg: 'finished', events: events.length, ...counts }, options, (result) => {
    const { acknowledged, notAcknowledged, nobody, untold } = result
    return [
      `${acknowledged} acknowledged, ${notAcknowledged} not`,
      ...(nobody === 0 ? [] : [`${nobody} sent to nobody: no webhook of the emulator takes ${type}`]),
      ...(untold === 0 ? [] : [`${untold} not told yet: its clock must move on by five seconds`]),
    ].join(', ')
  })
  return counts.acknowledged === events.length ? 0 : 1
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
    const idByToken = new Map(told.map(({ event }) => [event.data['token_address'], event.id]))
    for (const event of missing()) event.eventId = idByToken.get(event.token) ?? null
  }
}
