import type { Accounts, Alert } from '../accounts/port.ts'
import type { WorldEvent } from '../world/port.ts'
import type { Endpoint } from './port.ts'

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
