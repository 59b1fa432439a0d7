import type { Accounts, Alert, Webhook } from '../accounts/port.ts'
import type { HandlersOf } from './calls.ts'
import { RestError } from './error.ts'
import { pageOf } from './pages.ts'

type AlertOperation = 'createAlert' | 'listAlerts' | 'getAlert' | 'deleteAlert'

/** The alerts of the caller's account (R30–R37, R57, R58, A22, A26, A27). */
export function createAlertHandlers(accounts: Accounts): HandlersOf<AlertOperation> {
  return {
    createAlert({ caller, body }) {
      const { webhook_url: webhookUrl, label = null, ...watched } = body
      return { data: toAlertData(accounts.addAlert(caller.accountId, { ...watched, webhookUrl, label })), page: null }
    },
    listAlerts({ caller, page }) {
      const found = pageOf(accounts.alerts(caller.accountId), ({ alertId }) => alertId, page)
      return { data: found.items.map(toAlertData), page: found.page }
    },
    getAlert({ caller, params }) {
      const alert = accounts.alert(caller.accountId, params.alert_id)
      if (alert === null) throw noSuchAlert()
      return { data: toAlertData(alert), page: null }
    },
    deleteAlert({ caller, params: { alert_id } }) {
      if (!accounts.removeAlert(caller.accountId, alert_id)) throw noSuchAlert()
      return { data: { alert_id, deleted: true }, page: null }
    },
  }
}

function toAlertData(alert: Alert) {
  const { alertId, type, address, network, threshold, webhookUrl, label, status, createdAt } = alert
  return {
    alert_id: alertId,
    type,
    address,
    network,
    threshold,
    webhook_url: webhookUrl,
    label,
    status,
    created_at: new Date(createdAt).toISOString(),
  }
}

function noSuchAlert(): RestError {
  return new RestError('not_found', 'this account has no alert with this alert_id; GET /v1/alerts lists its alerts')
}

type WebhookOperation = 'createWebhook' | 'listWebhooks' | 'getWebhook' | 'updateWebhook' | 'deleteWebhook'

/** The webhooks of the caller's account (R60, R61, R77, A8, A22–A26). A generated secret is shown once. */
export function createWebhookHandlers(accounts: Accounts): HandlersOf<WebhookOperation> {
  return {
    createWebhook({ caller, body: { url, events, secret } }) {
      const { webhook, isGenerated } = accounts.addWebhook(caller.accountId, { url, events, secret })
      return { data: { ...toWebhookData(webhook), ...(isGenerated && { secret: webhook.secret }) }, page: null }
    },
    listWebhooks({ caller, page }) {
      const found = pageOf(accounts.webhooks(caller.accountId), ({ webhookId }) => webhookId, page)
      return { data: found.items.map(toWebhookData), page: found.page }
    },
    getWebhook({ caller, params }) {
      const webhook = accounts.webhooks(caller.accountId).find(({ webhookId }) => webhookId === params.webhook_id)
      if (webhook === undefined) throw noSuchWebhook()
      return { data: toWebhookData(webhook), page: null }
    },
    updateWebhook({ caller, params, body: { url, events, secret } }) {
      const webhook = accounts.updateWebhook(caller.accountId, params.webhook_id, { url, events, secret })
      if (webhook === null) throw noSuchWebhook()
      return { data: toWebhookData(webhook), page: null }
    },
    deleteWebhook({ caller, params: { webhook_id } }) {
      if (!accounts.removeWebhook(caller.accountId, webhook_id)) throw noSuchWebhook()
      return { data: { webhook_id, deleted: true }, page: null }
    },
  }
}

function toWebhookData({ webhookId, url, events, createdAt }: Webhook) {
  return {
    webhook_id: webhookId,
    url,
    events: [...events],
    status: 'active',
    created_at: new Date(createdAt).toISOString(),
  }
}

function noSuchWebhook(): RestError {
  return new RestError(
    'not_found',
    'this account has no webhook with this webhook_id; GET /v1/webhooks lists its webhooks',
  )
}
