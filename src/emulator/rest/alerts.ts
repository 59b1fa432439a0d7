import type { Accounts, Alert } from '../accounts/port.ts'
import { pageOf } from './account-page.ts'
import type { HandlersOf } from './calls.ts'
import { RestError } from './error.ts'

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
  return new RestError('not_found', 'this account has no alert of this alert_id; GET /v1/alerts lists those it has')
}
