import type { z } from 'zod'
import { type NetworkId, networkIds } from '../../../schema/index.ts'
import { networkFeatures } from '../../../schema/rest/network.ts'
import type { OperationById } from '../../../schema/rest/operations.ts'
import type { OperationId } from '../../../schema/rest/routes.ts'
import type { Accounts, Alert, Caller, Webhook } from '../accounts/accounts.ts'
import { networkFacts } from '../world/networks.ts'
import type { Page, PageRequest } from '../world/port.ts'
import type { World } from '../world/world.ts'
import { RestError } from './error.ts'
import type { RestSettings } from './input.ts'

/** Lists of the world have numeric keys, lists of an account have text keys. */
type KeyedPageRequest = Omit<PageRequest, 'after'> & { readonly after: number | string | null }

type Output<S> = S extends z.ZodType ? Readonly<z.output<S>> : null
/** True for operations that return pages. */
type IsPaged<Id extends OperationId> = OperationById<Id>['meta'] extends 'page' ? true : false

/** A validated request of one operation. */
interface Call<Id extends OperationId> {
  readonly caller: Caller
  readonly params: Output<OperationById<Id>['params']>
  readonly query: Output<OperationById<Id>['query']>
  readonly body: Output<OperationById<Id>['body']>
  /** Null for operations that don't return pages. */
  readonly page: IsPaged<Id> extends true ? KeyedPageRequest : null
}

/** The data of a response, or a page of a list. */
type Result<Id extends OperationId> =
  IsPaged<Id> extends true
    ? Omit<Page<unknown>, 'items' | 'lastKey'> & {
        readonly items: Output<OperationById<Id>['data']>
        readonly lastKey: number | string | null
      }
    : Output<OperationById<Id>['data']>

/** Implementations of the operations. They throw `RestError`, `LimitReached` or `WorldRefusal`. */
export type Handlers = { readonly [Id in OperationId]: (call: Call<Id>) => Result<Id> }

interface HandlersOptions {
  readonly world: Pick<World, 'views'>
  readonly accounts: Accounts
  readonly settings: Pick<RestSettings, 'tradesOrder'>
}

export function createHandlers({ world: { views }, accounts, settings }: HandlersOptions): Handlers {
  const findWallet = (address: string, network: NetworkId) => {
    const wallet = views.findWallet(network, address)
    if (wallet !== null) return wallet
    const message = `wallet ${address} was never seen on ${network}; wallets appear with their first trade`
    throw new RestError('wallet_not_found', message)
  }
  const expectOwned = <T extends { readonly accountId: string }>(
    kind: 'alert' | 'webhook',
    item: T | undefined,
    { accountId }: Caller,
  ): T => {
    if (item?.accountId === accountId) return item
    const message = `this account has no ${kind} with this ${kind}_id; GET /v1/${kind}s lists its ${kind}s`
    throw new RestError('not_found', message)
  }

  return {
    // R38–R40, R59, A6
    listNetworks: () =>
      networkIds.map((id) => ({
        id,
        name: networkFacts[id].name,
        chain_id: networkFacts[id].chainId,
        native_currency: networkFacts[id].coin,
        status: views.networkStatus(id),
        features: [...networkFeatures],
      })),

    // R16–R29, R51–R56
    getWallet: ({ params, query }) => views.overview(findWallet(params.address, query.network)),
    getWalletPortfolio: ({ params, query, page }) =>
      views.portfolio(findWallet(params.address, query.network), toWorldPage(page)),
    getWalletPnl: ({ params, query }) => views.pnl(findWallet(params.address, query.network), query.timeframe),
    listWalletTrades({ params, query, page }) {
      const trades = views.trades(findWallet(params.address, query.network), toWorldPage(page), query.token ?? null)
      if (settings.tradesOrder === 'newest') return trades
      // An order unrelated to time, but stable (A21).
      return { ...trades, items: trades.items.toSorted((a, b) => (a.tx_hash < b.tx_hash ? -1 : 1)) }
    },

    // R64, R65, A7, A20
    getToken({ params: { address }, query: { network } }) {
      const token = views.findToken(network, address)
      if (token !== null) return views.token(token)
      throw new RestError('not_found', `there is no token ${address} on ${network}; GET /v1/tokens/search finds tokens`)
    },
    searchTokens: ({ query: { q, network = null }, page }) => views.searchTokens(q, network, toWorldPage(page)),

    // R30–R37, R57, R58, A22, A26, A27
    createAlert({ caller, body: { webhook_url: webhookUrl, label = null, ...watched } }) {
      return toAlertData(accounts.addAlert(caller.accountId, { ...watched, webhookUrl, label }))
    },
    listAlerts: ({ caller, page }) =>
      pageOf(accounts.alerts(caller.accountId), ({ alertId }) => alertId, toAlertData, page),
    getAlert: ({ caller, params }) => toAlertData(expectOwned('alert', accounts.alert(params.alert_id), caller)),
    deleteAlert({ caller, params: { alert_id } }) {
      accounts.removeAlert(expectOwned('alert', accounts.alert(alert_id), caller))
      return { alert_id, deleted: true }
    },

    // R60, R61, R77, A8, A22–A26: a generated secret is shown once.
    createWebhook({ caller, body: { url, events, secret } }) {
      const { webhook, isGenerated } = accounts.addWebhook(caller.accountId, { url, events, secret })
      return { ...toWebhookData(webhook), ...(isGenerated && { secret: webhook.secret }) }
    },
    listWebhooks: ({ caller, page }) =>
      pageOf(accounts.webhooks(caller.accountId), ({ webhookId }) => webhookId, toWebhookData, page),
    getWebhook: ({ caller, params }) =>
      toWebhookData(expectOwned('webhook', accounts.webhook(params.webhook_id), caller)),
    updateWebhook({ caller, params, body }) {
      const webhook = expectOwned('webhook', accounts.webhook(params.webhook_id), caller)
      return toWebhookData(accounts.updateWebhook(webhook, body))
    },
    deleteWebhook({ caller, params: { webhook_id } }) {
      accounts.removeWebhook(expectOwned('webhook', accounts.webhook(webhook_id), caller))
      return { webhook_id, deleted: true }
    },
  }
}

/** Lists of the world have numeric keys. */
function toWorldPage({ after, ...page }: KeyedPageRequest): PageRequest {
  return { ...page, after: after === null ? null : Number(after) }
}

/** A page of an account's items, oldest first. The next page starts after the last item of this one, even if items are deleted (R122). */
function pageOf<T extends { readonly createdAt: number }, D>(
  items: readonly T[],
  idOf: (item: T) => string,
  toData: (item: T) => D,
  { limit, after }: KeyedPageRequest,
) {
  const keyOf = (item: T) => `${String(item.createdAt).padStart(16, '0')} ${idOf(item)}`
  const keyed = items.map((item) => ({ key: keyOf(item), item })).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const rest = after === null ? keyed : keyed.filter(({ key }) => key > String(after))
  const shown = rest.slice(0, limit)
  const lastKey = rest.length > limit ? (shown.at(-1)?.key ?? null) : null
  return { items: shown.map(({ item }) => toData(item)), lastKey, total: items.length }
}

function toAlertData({ alertId, type, address, network, threshold, webhookUrl, label, status, createdAt }: Alert) {
  const created_at = new Date(createdAt).toISOString()
  return { alert_id: alertId, type, address, network, threshold, webhook_url: webhookUrl, label, status, created_at }
}

function toWebhookData({ webhookId, url, events, createdAt }: Webhook) {
  const created_at = new Date(createdAt).toISOString()
  return { webhook_id: webhookId, url, events: [...events], status: 'active', created_at }
}
