import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { Accounts, Alert } from './accounts/port.ts'
import type { DeliveryEngine } from './deliveries/deliveries.ts'
import type { Endpoint } from './deliveries/port.ts'
import type { Begun } from './emulator-state.ts'
import type { PlainEvent } from './overrides.ts'
import { serialize, type SerializerProfile } from './serialize.ts'
import type { World, WorldEvent } from './world/port.ts'

interface EventSenderOptions {
  readonly world: World
  readonly accounts: Accounts
  readonly deliveries: DeliveryEngine
  readonly profile: SerializerProfile
  /** Whether an alert that has fired is completed (A17). */
  readonly isOneShot: boolean
  /** After so many events no more are sent. */
  readonly count: number
  /** Called with each event as it is sent. */
  readonly onEvent: (event: PlainEvent) => void
  readonly log: Logger
}

/** What becomes of the events of the world: bytes, and those who get them. */
interface EventSender {
  send(arisen: WorldEvent): void
  /** Sends an event that did not arise in the world, to all who are subscribed to its type. */
  sendRaw(event: PlainEvent): void
  /**
   * Sends what arose before a process ended that could not send it any more. What is history, since nobody was there, is sent
   * to nobody.
   */
  resume(begun: Begun): void
  /** The world was put back: what it has told by now is told. */
  restart(): void
  isComplete(): boolean
  /** Resolves when no more events are sent. */
  readonly completed: Promise<void>
  end(): void
}

/** Whom an event is for, and its number in the world; null for one of its own. */
type Routing = Pick<WorldEvent, 'alertIds' | 'audience'> & { readonly seq: number | null }

export function createEventSender(options: EventSenderOptions): EventSender {
  const { world, accounts, deliveries, profile, isOneShot, count, onEvent, log } = options
  const completed = Promise.withResolvers<void>()
  let sent = 0

  const isComplete = () => sent >= count

  function deliver(event: PlainEvent, { seq, alertIds, audience }: Routing): void {
    sent++
    const body = serialize(event, profile)
    deliveries.send(
      { id: event.id, type: event.type, body },
      recipientsOf({ event, alertIds, audience }, accounts),
      seq,
    )
    runCallback(event, () => {
      if (isOneShot) for (const alertId of alertIds) accounts.setAlertTriggered(alertId)
    })
    runCallback(event, () => onEvent(event))
    if (isComplete()) completed.resolve()
  }

  /** Whatever fails here cannot harm the world, in the midst of whose doings an event is told. */
  function runCallback(event: PlainEvent, fn: () => void): void {
    try {
      fn()
    } catch (error) {
      log.error({ eventId: event.id, error: messageOf(error) }, 'what was to be done with an event failed')
    }
  }

  function send(arisen: WorldEvent): void {
    if (!isComplete()) deliver(arisen.event, arisen)
  }

  return {
    send,
    sendRaw(event) {
      if (!isComplete()) deliver(event, { seq: null, alertIds: [], audience: 'all' })
    },
    resume({ isNew, reachedAt, takenUpAt }) {
      const last = world.lastEvent()
      const from = isNew ? last : (deliveries.worldSeq() ?? last)
      for (const arisen of world.eventsAfter(from, last - from)) {
        const at = Date.parse(arisen.event.created_at)
        if (at <= reachedAt || at > takenUpAt) send(arisen)
      }
      deliveries.sawWorldEvent(last)
    },
    restart: () => deliveries.sawWorldEvent(world.lastEvent()),
    isComplete,
    completed: completed.promise,
    end: () => completed.resolve(),
  }
}

/**
 * The endpoints that get an event: webhooks subscribed to its type (R62, R78, R91), and the URLs of the alerts that it answers
 * (R42, A41). An alert whose URL is that of a webhook of its account that gets the event anyway is answered by that.
 */
export function recipientsOf(
  {
    event,
    alertIds,
    audience,
  }: Pick<WorldEvent, 'alertIds' | 'audience'> & { readonly event: { readonly type: string } },
  accounts: Accounts,
): readonly Endpoint[] {
  const alerts = alertIds.flatMap((alertId) => accounts.anyAlert(alertId) ?? [])
  const owners = new Set(alerts.map(({ accountId }) => accountId))
  const webhooks = accounts
    .allWebhooks()
    .filter(({ accountId }) => audience === 'all' || (audience === 'owners' && owners.has(accountId)))
    .filter(({ events }) => events.includes('*') || events.includes(event.type))
  const isAnswered = ({ accountId, webhookUrl }: Alert) =>
    webhooks.some((webhook) => webhook.accountId === accountId && webhook.url === webhookUrl)
  const own = alerts.filter((alert) => !isAnswered(alert))
  const ids = [...webhooks.map(({ webhookId }) => webhookId), ...own.map(({ alertId }) => alertId)]
  return ids.flatMap((id) => accounts.endpoint(id) ?? [])
}
