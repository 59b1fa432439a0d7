import { newAlert } from '../../../schema/rest/alert.ts'
import { newWebhook } from '../../../schema/rest/webhook.ts'
import { z } from 'zod'
import type { Accounts, Alert, Webhook } from '../accounts/port.ts'
import { ControlError } from './answers.ts'
import { canonical } from './bodies.ts'
import { route, type Route } from './route.ts'
import { findAccount, toTime } from './shown.ts'
import { drawSecret } from '../random.ts'

// The schemas of the REST service, so that both ways in refuse the same.

const accountProblem = 'expected the id or the name of an account'
/** Without it the first account is meant. */
const account = z.exactOptional(z.string({ error: accountProblem }).min(1, accountProblem))

const { url, events, secret } = newWebhook.shape

const webhookBody = z.strictObject({ account, url, events, secret })

const webhookChangeBody = z
  .strictObject({ url: url.optional(), events: events.optional(), secret })
  .refine((change) => Object.keys(change).length > 0, 'expected at least one of url, events and secret')

const { type, network, threshold, webhook_url: webhookUrl, label } = newAlert.shape

const alertBody = z
  .strictObject({ account, type, address: z.string(), network, threshold, webhookUrl, label })
  .transform(canonical('address'))

const accountChoiceBody = z.strictObject({ account })

/** Where deliveries go: webhooks and alerts of all accounts (R60–R63, R76, R77, A22–A26). A secret is shown once, if drawn. */
export const endpointRoutes: readonly Route[] = [
  route('GET', '/webhooks', { answer: ({ keeper: { accounts } }) => accounts.allWebhooks().map(toWebhook) }),
  route('POST', '/webhooks', {
    body: webhookBody,
    status: 201,
    answer({ keeper: { accounts } }, { body: { account, url, events, secret } }) {
      const { accountId } = findAccount(accounts, account)
      const given = { url, events, ...(secret !== undefined && { secret }) }
      const { webhook, isGenerated } = accounts.addWebhook(accountId, given)
      return { ...toWebhook(webhook), ...(isGenerated && { secret: webhook.secret }) }
    },
  }),
  route('PATCH', '/webhooks/:id', {
    body: webhookChangeBody,
    answer({ keeper: { accounts } }, { id, body: { url, events, secret } }) {
      const changed = accounts.updateWebhook(findWebhook(accounts, id).accountId, id, {
        ...(url !== undefined && { url }),
        ...(events !== undefined && { events }),
        ...(secret !== undefined && { secret }),
      })
      return changed && toWebhook(changed)
    },
  }),
  route('DELETE', '/webhooks/:id', {
    answer({ keeper: { accounts } }, { id }) {
      accounts.removeWebhook(findWebhook(accounts, id).accountId, id)
      return { webhookId: id, deleted: true }
    },
  }),

  route('GET', '/alerts', {
    answer: ({ keeper: { accounts } }) =>
      accounts
        .accounts()
        .flatMap(({ accountId }) => accounts.alerts(accountId))
        .map(toAlert),
  }),
  route('POST', '/alerts', {
    body: alertBody,
    status: 201,
    answer({ keeper: { accounts } }, { body: { account, label = null, ...watched } }) {
      const { accountId } = findAccount(accounts, account)
      return toAlert(accounts.addAlert(accountId, { ...watched, label }))
    },
  }),
  route('DELETE', '/alerts/:id', {
    answer({ keeper }, { id }) {
      const { accounts } = keeper
      accounts.removeAlert(findAlert(accounts, id).accountId, id)
      return { alertId: id, deleted: true }
    },
  }),
  route('POST', '/alert-secret', {
    body: accountChoiceBody,
    status: 201,
    answer({ keeper: { accounts }, randomBytes }, { body: { account } }) {
      const alertSecret = drawSecret('whsec', randomBytes)
      accounts.setAlertSecret(findAccount(accounts, account).accountId, alertSecret)
      return { alertSecret }
    },
  }),
]

function findWebhook(accounts: Accounts, id: string): Webhook {
  const webhook = accounts.allWebhooks().find(({ webhookId }) => webhookId === id)
  if (webhook !== undefined) return webhook
  throw new ControlError(404, 'not_found', `there is no webhook ${id}; GET /_emulator/webhooks lists them`)
}

function findAlert(accounts: Accounts, id: string): Alert {
  const alert = accounts.anyAlert(id)
  if (alert !== null) return alert
  throw new ControlError(404, 'not_found', `there is no alert ${id}; GET /_emulator/alerts lists them`)
}

export type ShownWebhook = ReturnType<typeof toWebhook>
export type ShownAlert = ReturnType<typeof toAlert>

/** A webhook without its secret (R76). */
function toWebhook({ webhookId, accountId, url, events, createdAt }: Webhook) {
  return { webhookId, accountId, url, events, createdAt: toTime(createdAt) }
}

function toAlert({ accountId: _of, createdAt, ...alert }: Alert) {
  return { ...alert, createdAt: toTime(createdAt) }
}

// What is asked of webhooks and alerts: by the schemas of the REST service, so that both ways in refuse the same.
