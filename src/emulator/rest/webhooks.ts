import type { Accounts, Webhook } from '../accounts/port.ts'
import { pageOf } from './account-page.ts'
import type { HandlersOf } from './calls.ts'
import { RestError } from './error.ts'

type WebhookOperation = 'createWebhook' | 'listWebhooks' | 'getWebhook' | 'updateWebhook' | 'deleteWebhook'

/** The webhooks of the caller's account (R60, R61, R77, A8, A22–A26). A secret is shown once, if it was made here. */
export function createWebhookHandlers(accounts: Accounts): HandlersOf<WebhookOperation> {
  return {
    createWebhook({ caller, body: { url, events, secret } }) {
      const { webhook, isGenerated } = accounts.addWebhook(caller.accountId, {
        url,
        events,
        ...(secret !== undefined && { secret }),
      })
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
      const webhook = accounts.updateWebhook(caller.accountId, params.webhook_id, {
        ...(url !== undefined && { url }),
        ...(events !== undefined && { events }),
        ...(secret !== undefined && { secret }),
      })
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
    'this account has no webhook of this webhook_id; GET /v1/webhooks lists those it has',
  )
}
