import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { Accounts, Alert, Endpoint } from './accounts/accounts.ts'
import type { DeliveryEngine } from './deliveries/deliveries.ts'
import type { PlainEvent } from './overrides.ts'
import { serialize, type SerializerProfile } from './serialize.ts'
import type { WorldEvent } from './world/port.ts'

interface EventSenderOptions {
  readonly accounts: Accounts
  readonly deliveries: DeliveryEngine
  readonly profile: SerializerProfile
  /** True if an alert fires only once (A17). */
  readonly isOneShot: boolean
  /** Number of events to send. */
  readonly count: number
  readonly onEvent: (event: PlainEvent) => void
  readonly log: Logger
}

type Routing = Pick<WorldEvent, 'alertIds' | 'audience'>

/** Serializes the world's events and sends them to their recipients. */
export function createEventSender(options: EventSenderOptions) {
  const { accounts, deliveries, profile, isOneShot, count, onEvent, log } = options
  const completed = Promise.withResolvers<void>()
  let sent = 0

  const isComplete = () => sent >= count

  function deliver(event: PlainEvent, { alertIds, audience }: Routing): void {
    if (isComplete()) return
    sent++
    const { id, type } = event
    const recipients = recipientsOf({ type, alertIds, audience }, accounts)
    deliveries.send({ id, type, body: serialize(event, profile) }, recipients)
    try {
      if (isOneShot) for (const alertId of alertIds) accounts.setAlertTriggered(alertId)
      onEvent(event)
    } catch (error) {
      // Events arise in the middle of a world task, so a failing callback must not throw into it.
      log.error({ eventId: id, error: messageOf(error) }, 'event callback failed')
    }
    if (isComplete()) completed.resolve()
  }

  return {
    send: (worldEvent: WorldEvent) => deliver(worldEvent.event, worldEvent),
    /** Sends an event that did not arise in the world, to all subscribers of its type. */
    sendRaw: (event: PlainEvent) => deliver(event, { alertIds: [], audience: 'all' }),
    isComplete,
    completed: completed.promise,
    end: () => completed.resolve(),
  }
}

/**
 * Recipients of an event: webhooks subscribed to its type (R62, R78, R91), and URLs of the alerts that fired it (R42,
 * A41). An alert URL that equals the URL of such a webhook of the same account gets no second delivery.
 */
export function recipientsOf(
  { type, alertIds, audience }: Routing & { readonly type: string },
  accounts: Accounts,
): readonly Endpoint[] {
  const alerts = alertIds.flatMap((alertId) => accounts.alert(alertId) ?? [])
  const owners = new Set(alerts.map(({ accountId }) => accountId))
  const webhooks = accounts
    .webhooks()
    .filter(({ accountId }) => audience === 'all' || (audience === 'owners' && owners.has(accountId)))
    .filter(({ events }) => events.includes('*') || events.includes(type))
  const isCovered = ({ accountId, webhookUrl }: Alert) =>
    webhooks.some((webhook) => webhook.accountId === accountId && webhook.url === webhookUrl)
  const uncovered = alerts.filter((alert) => !isCovered(alert))
  const ids = [...webhooks.map(({ webhookId }) => webhookId), ...uncovered.map(({ alertId }) => alertId)]
  return ids.flatMap((id) => accounts.endpoint(id) ?? [])
}
