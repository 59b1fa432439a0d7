import type { operations as generated, paths } from './generated.ts'

/** What the client can ask: the operations of the OpenAPI document, by their ids. */
export type OperationId = keyof generated

type Method = 'get' | 'post' | 'patch' | 'delete'

export interface Operation {
  readonly method: Method
  /** Below the prefix of the version, parameters in braces. */
  readonly path: string
  /** What `data` is. A list that is paged has a `next_cursor` in its `meta`. */
  readonly data: 'object' | 'list'
}

/** Method and path of an operation as the document has them. */
type Place<Id extends OperationId> = {
  [P in keyof paths]: {
    [M in Method]: paths[P][M] extends generated[Id]
      ? generated[Id] extends paths[P][M]
        ? { method: M; path: P }
        : never
      : never
  }[Method]
}[keyof paths]

/** How each operation is asked. That method and path are those of the document is checked when this is compiled. */
export const operations = {
  getWallet: { method: 'get', path: '/wallets/{address}', data: 'object' },
  getWalletPortfolio: { method: 'get', path: '/wallets/{address}/portfolio', data: 'list' },
  getWalletPnl: { method: 'get', path: '/wallets/{address}/pnl', data: 'object' },
  listWalletTrades: { method: 'get', path: '/wallets/{address}/trades', data: 'list' },
  getToken: { method: 'get', path: '/tokens/{address}', data: 'object' },
  searchTokens: { method: 'get', path: '/tokens/search', data: 'list' },
  createAlert: { method: 'post', path: '/alerts', data: 'object' },
  listAlerts: { method: 'get', path: '/alerts', data: 'list' },
  getAlert: { method: 'get', path: '/alerts/{alert_id}', data: 'object' },
  deleteAlert: { method: 'delete', path: '/alerts/{alert_id}', data: 'object' },
  listNetworks: { method: 'get', path: '/networks', data: 'list' },
  createWebhook: { method: 'post', path: '/webhooks', data: 'object' },
  listWebhooks: { method: 'get', path: '/webhooks', data: 'list' },
  getWebhook: { method: 'get', path: '/webhooks/{webhook_id}', data: 'object' },
  updateWebhook: { method: 'patch', path: '/webhooks/{webhook_id}', data: 'object' },
  deleteWebhook: { method: 'delete', path: '/webhooks/{webhook_id}', data: 'object' },
} as const satisfies { readonly [Id in OperationId]: Operation & Place<Id> }
